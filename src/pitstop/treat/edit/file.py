"""The draft of one file: edits recorded on original nodes, applied in one pass."""

from dataclasses import dataclass, field
from enum import IntEnum

import libcst as cst

from pitstop.treat.contract import CannotEdit
from pitstop.treat.edit.arguments import ArgumentEdit
from pitstop.treat.edit.imports import bound_name
from pitstop.treat.edit.parsed import Block, Statement, parse_source
from pitstop.treat.edit.style import Style

__all__ = ["BlockEdits", "FileDraft", "Range", "Rank"]


class Rank(IntEnum):
    """Order of statements that several treatments put at the same place; the number never shows."""

    IMPORT = 0
    SETTING = 1
    FUNCTION = 2
    FORMAT = 3
    COMPILE = 4


@dataclass(frozen=True, kw_only=True)
class Range:
    """Neighbouring statements of one block, by index, both ends included."""

    first: int
    last: int


@dataclass(kw_only=True)
class BlockEdits:
    """What happens to the statements of one block: ranges are wrapped first, then replaced."""

    before: dict[int, list[tuple[Rank, str]]] = field(default_factory=dict)
    after: dict[int, list[tuple[Rank, str]]] = field(default_factory=dict)
    wraps: list[tuple[Range, str]] = field(default_factory=list)
    replaced: list[tuple[Range, str]] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class MovedFunction:
    """A function to be put before a top-level statement, whose body is what a range of statements has become."""

    block: Block
    range: Range
    anchor: Statement
    line: int  # of the range; functions at one anchor keep the order of their bodies
    head: str  # decorators and `def` line
    tail: str  # the return statement, or ""


class FileDraft:
    """Edits of one file. Methods raise CannotEdit where two treatments want different things at one place."""

    def __init__(self, path: str, text: str) -> None:
        """Parse `text`; raises CannotEdit."""
        self.parsed = parse_source(path, text)
        self.style = Style.of(self.parsed)
        self.arguments: dict[cst.Call, list[ArgumentEdit]] = {}
        self.expressions: dict[cst.BaseExpression, str] = {}
        self.dict_entries: dict[cst.Dict, dict[str, str]] = {}
        self.merged: dict[cst.BaseExpression, dict[str, str]] = {}
        self.blocks: dict[Block, BlockEdits] = {}
        self.functions: list[MovedFunction] = []
        self.splits: dict[cst.SimpleStatementLine, str] = {}
        self.removed: set[cst.Call] = set()
        self.imported: set[str] = set()
        self.new_names: set[str] = set()
        self.after_imports: set[tuple[Rank, str]] = set()
        self.guard: int | None = None

    def edit_argument(self, call: cst.Call, edit: ArgumentEdit) -> None:
        """Set, replace or remove one argument of a call."""
        edits = self.arguments.setdefault(call, [])
        same = [other for other in edits if other.keyword == edit.keyword]
        if any(other != edit for other in same):
            raise CannotEdit("conflict", what=edit.keyword)
        if not same:
            edits.append(edit)

    def replace(self, expression: cst.BaseExpression, code: str) -> None:
        """Put `code` in the place of an expression."""
        if self.expressions.setdefault(expression, code) != code:
            raise CannotEdit("conflict", what=self.parsed.code(expression))

    def set_entry(self, literal: cst.Dict, key: str, code: str) -> None:
        """Set the string key `key` of a dict literal."""
        if self.dict_entries.setdefault(literal, {}).setdefault(key, code) != code:
            raise CannotEdit("conflict", what=key)

    def merge_entry(self, mapping: cst.BaseExpression, key: str, code: str) -> None:
        """Make an unpacked mapping `{**mapping, "key": code}`."""
        if self.merged.setdefault(mapping, {}).setdefault(key, code) != code:
            raise CannotEdit("conflict", what=key)

    def insert_before(self, statement: Statement, code: str, *, rank: Rank) -> None:
        """Put one line of code before a statement, above its own comment lines."""
        block, index = self.place(statement)
        self._insert(self._block(block).before, index, (rank, code))

    def insert_after(self, statement: Statement, code: str, *, rank: Rank) -> None:
        """Put one line of code after a statement."""
        block, index = self.place(statement)
        self._insert(self._block(block).after, index, (rank, code))

    def insert_after_imports(self, code: str, *, rank: Rank) -> None:
        """Put one line of code after the imports at the head of the file, those that this draft adds included."""
        self.after_imports.add((rank, code))

    def wrap(self, block: Block, range_: Range, header: str) -> None:
        """Put neighbouring statements under `header` (a `with` or `if` line with its colon)."""
        wraps = self._block(block).wraps
        if (range_, header) in wraps:
            return
        if any(_overlap(range_, other) for other, _ in wraps):
            raise CannotEdit("conflict", what=header)
        wraps.append((range_, header))

    def move_to_function(
        self, block: Block, range_: Range, *, anchor: Statement, head: str, tail: str, call: str
    ) -> None:
        """Move neighbouring statements into a function before `anchor`, and put `call` in their place."""
        replaced = self._block(block).replaced
        if any(_overlap(range_, other) for other, _ in replaced):
            raise CannotEdit("conflict", what=call)
        replaced.append((range_, call))
        line = self.parsed.position(block.body[range_.first]).start.line
        self.functions.append(MovedFunction(block=block, range=range_, anchor=anchor, line=line, head=head, tail=tail))

    def split_receiver(self, line: cst.SimpleStatementLine, name: str) -> None:
        """Make `f(x).backward()` two statements, `name = f(x)` and `name.backward()`."""
        if self.splits.setdefault(line, name) != name:
            raise CannotEdit("conflict", what=name)

    def remove(self, call: cst.Call) -> None:
        """Take a call that is a statement of its own out of its block; raises CannotEdit where its result is used."""
        parent = self.parsed.parent(call)
        line = self.parsed.statement(call)
        if not isinstance(parent, cst.Expr) or self.parsed.parent(parent) is not line:
            raise CannotEdit("result_used", what=self.parsed.code(call), line=self.parsed.position(call).start.line)
        if line in self.splits:
            raise CannotEdit("conflict", what=self.parsed.code(call))
        self.removed.add(call)

    def import_name(self, module: str) -> str:
        """Return the name that `module` has in this file, importing it where it has none."""
        name = bound_name(self.parsed, module)
        if name is None:
            self.imported.add(module)
        return name or module

    def guard_main(self, index: int) -> None:
        """Put the module's statements from `index` on under `if __name__ == "__main__":`."""
        if self.guard not in (None, index):
            raise CannotEdit("conflict", what="__main__")
        self.guard = index

    def place(self, statement: Statement) -> tuple[Block, int]:
        """Return the block of a statement and its index there."""
        block = self.parsed.block(statement)
        return block, next(index for index, at in enumerate(block.body) if at is statement)

    def places(self) -> set[object]:
        """Return the expressions, arguments and dict keys that are set."""
        found: set[object] = set(self.expressions)
        found |= {(call, edit.keyword) for call, edits in self.arguments.items() for edit in edits}
        for entries in (self.dict_entries, self.merged):
            found |= {(holder, key) for holder, keys in entries.items() for key in keys}
        return found

    def text(self) -> str:
        """Return the whole new text."""
        from pitstop.treat.edit.apply import new_text  # noqa: PLC0415  apply needs this module's types

        return new_text(self)

    def _block(self, block: Block) -> BlockEdits:
        return self.blocks.setdefault(block, BlockEdits())

    def _insert(self, into: dict[int, list[tuple[Rank, str]]], index: int, item: tuple[Rank, str]) -> None:
        items = into.setdefault(index, [])
        if item not in items:
            items.append(item)


def _overlap(one: Range, other: Range) -> bool:
    return one.first <= other.last and other.first <= one.last
