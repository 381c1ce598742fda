"""The keys of every result, walked from the types: what `docs/result-keys.txt` lists and a test compares."""

from collections.abc import Iterator
from typing import Any

import msgspec

from pitstop.records.results import CompareResult, ErrorResult, FitResult, GateResult, ProfileResult, TuneResult


def result_keys() -> tuple[str, ...]:
    """Return all keys of all results, sorted: "profile.steps.mean_ns", "tune.verdicts[].ci[]", "profile.utilisation{}"."""
    found = {*_walk("profile", msgspec.inspect.type_info(ProfileResult))}
    found |= {*_walk("tune", msgspec.inspect.type_info(TuneResult))}
    found |= {*_walk("error", msgspec.inspect.type_info(ErrorResult))}
    found |= {*_walk("fit", msgspec.inspect.type_info(FitResult))}
    found |= {*_walk("gate", msgspec.inspect.type_info(GateResult))}
    found |= {*_walk("compare", msgspec.inspect.type_info(CompareResult))}
    return tuple(sorted(found))


def _walk(path: str, kind: Any) -> Iterator[str]:
    parts = tuple(_parts(kind))
    if parts:
        for suffix, part in parts:
            yield from _walk(path + suffix, part)
    elif not isinstance(kind, msgspec.inspect.NoneType):
        yield path


def _parts(kind: Any) -> Iterator[tuple[str, Any]]:
    match kind:
        case msgspec.inspect.StructType(fields=fields):
            yield from ((f".{field.encode_name}", field.type) for field in fields)
        case msgspec.inspect.UnionType(types=types):
            yield from (("", part) for part in types)
        case msgspec.inspect.VarTupleType(item_type=item) | msgspec.inspect.ListType(item_type=item):
            yield "[]", item
        case msgspec.inspect.TupleType(item_types=items):
            yield from (("[]", item) for item in items)
        case msgspec.inspect.DictType(key_type=msgspec.inspect.LiteralType(values=names), value_type=value):
            yield from ((f".{name}", value) for name in names)
        case msgspec.inspect.DictType(value_type=value):
            yield "{}", value
