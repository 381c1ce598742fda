"""A source file as a tree with positions and parents. libcst is imported here, and this module only when an edit is made."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from typing import TypeVar, cast

import libcst as cst
from libcst.metadata import (
    CodeRange,
    ExpressionContext,
    ExpressionContextProvider,
    MetadataWrapper,
    ParentNodeProvider,
    PositionProvider,
)

from pitstop.treat.contract import CannotEdit

__all__ = ["BOM", "Block", "ParsedSource", "Scope", "Statement", "parse_source"]

BOM = "\ufeff"
Block = cst.Module | cst.IndentedBlock
Scope = cst.Module | cst.FunctionDef
Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement
NodeT = TypeVar("NodeT", bound=cst.CSTNode)


class ParsedSource:
    """One unedited file. Nodes are compared by identity; every position is that of the original text."""

    def __init__(self, path: str, text: str) -> None:
        """Parse `text`; raises CannotEdit where it is no Python that libcst reads."""
        self.path = path
        self.bom = BOM if text.startswith(BOM) else ""
        body = text.removeprefix(BOM)
        self.lines = body.split("\n")
        module = _parsed(body, path)
        # libcst drops some empty lines that hold blanks (before a comment at the end of a block); then it reads them without.
        self._read = self.lines if module.code == body else [_plain(line) for line in self.lines]
        if self._read is not self.lines:
            module = _parsed("\n".join(self._read), path)
        if module.code != "\n".join(self._read):
            raise CannotEdit("unreadable_source", path=path)
        self.module = module
        self._children: dict[cst.CSTNode, Sequence[cst.CSTNode]] = {}
        self._wrapper = MetadataWrapper(module, unsafe_skip_copy=True)

    @cached_property
    def _positions(self) -> Mapping[cst.CSTNode, CodeRange]:
        return self._wrapper.resolve(PositionProvider)

    @cached_property
    def _parents(self) -> Mapping[cst.CSTNode, cst.CSTNode]:
        return self._wrapper.resolve(ParentNodeProvider)

    @cached_property
    def _contexts(self) -> Mapping[cst.CSTNode, ExpressionContext | None]:
        return self._wrapper.resolve(ExpressionContextProvider)

    def written(self, code: str) -> str:
        """Return the text for `code`, which was made from this tree.

        Lines that no edit touched are those of the original, also where empty ones were read without their blanks.
        """
        if self._read is self.lines:
            return self.bom + code
        new = code.split("\n")
        lines: list[str] = []
        for tag, from_old, to_old, from_new, to_new in SequenceMatcher(
            None, self._read, new, autojunk=False
        ).get_opcodes():
            lines += self.lines[from_old:to_old] if tag == "equal" else new[from_new:to_new]
        return self.bom + "\n".join(lines)

    def position(self, node: cst.CSTNode) -> CodeRange:
        """Return the lines (from 1) and columns (characters from 0) of `node`, without its own parentheses."""
        return self._positions[node]

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """Return the node that holds `node`; None for the module."""
        return self._parents.get(node)

    def context(self, node: cst.CSTNode) -> ExpressionContext | None:
        """Return whether a name, attribute or subscript is loaded, stored or deleted; None where it is none of these."""
        return self._contexts.get(node)

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield `node` and what holds it, up to the module."""
        at: cst.CSTNode | None = node
        while at is not None:
            yield at
            at = self._parents.get(at)

    def nodes(self, kind: type[NodeT], *, inside: cst.CSTNode | None = None) -> Iterator[NodeT]:
        """Yield the nodes of one kind in source order, all of the file's or those in `inside`."""
        for node in self.all_nodes(inside or self.module):
            if isinstance(node, kind):
                yield node

    def all_nodes(self, inside: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield `inside` and every node in it in source order."""
        stack = [inside]
        while stack:
            node = stack.pop()
            yield node
            if node not in self._children:
                self._children[node] = node.children  # libcst finds them by a visit, each time anew
            stack.extend(reversed(self._children[node]))

    def statement(self, node: cst.CSTNode) -> Statement:
        """Return the innermost statement around `node` that stands in a block of its own lines; raises CannotEdit."""
        for at in self.ancestors(node):
            if isinstance(self.parent(at), Block):
                return cast("Statement", at)
            if isinstance(at, cst.SimpleStatementSuite):
                break
        raise CannotEdit("one_line_block", line=self.position(node).start.line)

    def line_owner(self, node: cst.CSTNode) -> cst.CSTNode:
        """Return the innermost statement around `node`, whose column is the indentation of its lines."""
        return next(at for at in self.ancestors(node) if isinstance(at, Statement | cst.Module))

    def block(self, statement: cst.CSTNode) -> Block:
        """Return the block whose body lists `statement`."""
        return cast("Block", self.parent(statement))

    def scope(self, node: cst.CSTNode) -> Scope:
        """Return the function that `node` runs in, else the module. A class body raises CannotEdit."""
        for at in self.ancestors(node):
            if at is not node and isinstance(at, Scope):
                return at
            if at is not node and isinstance(at, cst.ClassDef):
                raise CannotEdit("class_body", line=self.position(node).start.line)
        return self.module

    def scope_or_class(self, node: cst.CSTNode) -> Scope | cst.ClassDef:
        """Return the function, class or module whose body holds `node`."""
        for at in self.ancestors(node):
            if at is not node and isinstance(at, Scope | cst.ClassDef):
                return at
        return self.module

    def top_level(self, node: cst.CSTNode) -> Statement:
        """Return the statement of the module's own body that holds `node`."""
        for at in self.ancestors(node):
            if self.parent(at) is self.module:
                return cast("Statement", at)
        raise AssertionError("the module is in no statement")

    def code(self, node: cst.CSTNode) -> str:
        """Return the text of `node`."""
        return self.module.code_for_node(node)


def _parsed(text: str, path: str) -> cst.Module:
    try:
        return cst.parse_module(text)
    except (cst.ParserSyntaxError, RecursionError) as error:
        raise CannotEdit("unreadable_source", path=path) from error


def _plain(line: str) -> str:
    """Return a line without its blanks where it has nothing else."""
    return line if line.strip(" \t\f\r") else line.lstrip(" \t\f")


@lru_cache(maxsize=64)
def parse_source(path: str, text: str) -> ParsedSource:
    """Return `text` parsed; the same text is parsed once, because a tune edits it many times."""
    return ParsedSource(path, text)
