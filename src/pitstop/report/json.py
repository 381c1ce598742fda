"""Results as JSON and back: the promise behind `--json` and behind stored runs (DESIGN.md, Result files)."""

import math
from typing import Any, TypeVar

import msgspec

from pitstop.errors import WrongUse
from pitstop.records.results import SCHEMA, FitResult, GateResult, ProfileResult, TuneResult
from pitstop.report.plain import plain

Result = TypeVar("Result", ProfileResult, TuneResult, FitResult, GateResult)


# Nesting without end is the one way in which small JSON breaks a reader.
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class _Numbered(msgspec.Struct):
    schema: int


def to_json(result: msgspec.Struct) -> bytes:
    """Return `result` as indented UTF-8 JSON ending in a newline.

    What JSON cannot hold is written so that every reader can go on: infinities and NaN as null, bytes of undecodable
    file names spelled out as backslash escapes.
    """
    try:
        encoded = msgspec.json.encode(result)
    except UnicodeEncodeError:
        encoded = msgspec.json.encode(_encodable(msgspec.to_builtins(result)))
    return msgspec.json.format(encoded, indent=2) + b"\n"


def from_json(data: bytes, *, kind: type[Result]) -> Result:
    """Return the result of type `kind` that `to_json` wrote; keys that this version does not know are ignored.

    Raises WrongUse where the data is no such JSON or carries another schema number.
    """
    try:
        found = msgspec.json.decode(data, type=_Numbered).schema
    except _UNREADABLE as error:
        raise WrongUse("report.json.unreadable", error=plain(str(error))) from error
    if found != SCHEMA:
        raise WrongUse("report.json.schema", found=found, known=SCHEMA)
    try:
        return msgspec.convert(_unbounded(msgspec.json.decode(data)), type=kind)
    except _UNREADABLE as error:
        raise WrongUse("report.json.unreadable", error=plain(str(error))) from error


def _unbounded(value: Any) -> Any:
    """Return decoded JSON with the one number that may be infinite, a finding's ceiling, put back where null stands for it."""
    if isinstance(value, list):
        return [_unbounded(item) for item in value]
    if not isinstance(value, dict):
        return value
    found = {name: _unbounded(item) for name, item in value.items()}
    if found.get("ceiling_speedup", 0.0) is None:
        found["ceiling_speedup"] = math.inf
    return found


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, list | tuple):
        return [_encodable(item) for item in value]
    if isinstance(value, dict):
        return {_encodable(name): _encodable(item) for name, item in value.items()}
    return value
