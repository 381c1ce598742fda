"""What the source says about messages: keys that are used, values that are given, texts that live beside the code."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parents[2] / "src" / "pitstop"
ERRORS = {"PitstopError", "CheckFailed", "WrongUse", "ProgramFailed", "CouldNotMeasure"}
TEMPLATE_SAY = re.compile(r"""say\(\s*'([\w.-]+)'\s*(~)?((?:[^()]|\([^()]*\))*)\)""")
KEYWORD = re.compile(r"(\w+)=")


class Use(NamedTuple):
    """One literal key in the source. `values` is None where they cannot be known (`**values`)."""

    where: str
    key: str
    values: frozenset[str] | None


class Pair(NamedTuple):
    """One `Text(en=..., zh=...)` in the source."""

    where: str
    en: str
    zh: str


def said_keys() -> Iterator[Use]:
    """Every literal first argument of `say` and of our errors, in Python and in templates."""
    for path, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and node.args and _name(node.func) in {"say", *ERRORS}:
                key = node.args[0]
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield Use(_where(path, node), key.value, _values(node))
    for path in sorted(SOURCE.rglob("*.j2")):
        for match in TEMPLATE_SAY.finditer(path.read_text("utf-8")):
            if not match[2]:
                yield Use(path.name, match[1], frozenset(KEYWORD.findall(match[3])))


def mentioned() -> tuple[set[str], set[str]]:
    """All text constants of the source, and the constant beginnings of all texts that are put together (f-strings, `~`, `label`)."""
    constants: set[str] = set()
    beginnings: set[str] = set()
    for _path, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                constants.add(node.value)
            elif isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
                beginnings.add(str(node.values[0].value))
            elif isinstance(node, ast.Call) and _name(node.func) == "label" and isinstance(node.args[0], ast.Constant):
                beginnings.add(f"report.{node.args[0].value}.")
    for path in sorted(SOURCE.rglob("*.j2")):
        for match in TEMPLATE_SAY.finditer(path.read_text("utf-8")):
            (beginnings if match[2] else constants).add(match[1])
    return constants, beginnings


def texts_beside_code() -> Iterator[Pair]:
    """Every `Text` that is written with two literals."""
    for path, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and _name(node.func) == "Text":
                words = {keyword.arg: keyword.value for keyword in node.keywords}
                words |= dict(zip(("en", "zh"), node.args, strict=False))
                en, zh = words.get("en"), words.get("zh")
                if isinstance(en, ast.Constant) and isinstance(zh, ast.Constant):
                    yield Pair(_where(path, node), str(en.value), str(zh.value))


def trees() -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield path, ast.parse(path.read_text("utf-8"), str(path))


def _name(function: ast.expr) -> str:
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def _values(call: ast.Call) -> frozenset[str] | None:
    names = [keyword.arg for keyword in call.keywords]
    return None if None in names else frozenset(name for name in names if name and name != "lang")


def _where(path: Path, node: ast.AST) -> str:
    return f"{path.relative_to(SOURCE)}:{getattr(node, 'lineno', 0)}"
