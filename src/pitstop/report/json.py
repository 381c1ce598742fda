"""Results as JSON and back: the promise behind `--json` and behind stored runs (DESIGN.md, Result files)."""

from typing import Any, TypeVar

import msgspec

from pitstop.errors import WrongUse
from pitstop.records.results import SCHEMA, ProfileResult, TuneResult
from pitstop.report.plain import plain

Result = TypeVar("Result", ProfileResult, TuneResult)


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
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise WrongUse("report.json.unreadable", error=plain(str(error))) from error
    if found != SCHEMA:
        raise WrongUse("report.json.schema", found=found, known=SCHEMA)
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise WrongUse("report.json.unreadable", error=plain(str(error))) from error


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, list | tuple):
        return [_encodable(item) for item in value]
    if isinstance(value, dict):
        return {_encodable(name): _encodable(item) for name, item in value.items()}
    return value
