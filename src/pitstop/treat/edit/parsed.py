"""A source file as a tree with positions and parents. libcst is imported here, and this module only when an edit is made."""

from collections.abc import Iterator
from functools import lru_cache
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
        try:
            module = cst.parse_module(body)
        except (cst.ParserSyntaxError, RecursionError) as error:
            raise CannotEdit("unreadable_source", path=path) from error
        if module.code != body:
            raise CannotEdit("unreadable_source", path=path)
        wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
        self.module = wrapper.module
        self.lines = body.split("\n")
        self._positions = wrapper.resolve(PositionProvider)
        self._parents = wrapper.resolve(ParentNodeProvider)
        self._contexts = wrapper.resolve(ExpressionContextProvider)

    def position(self, node: cst.CSTNode) -> CodeRange:
        """Return the lines (from 1) and columns (characters from 0) of `node`, without its own parentheses."""
        return self._positions[node]

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """Return the node that holds `node`; None for the module."""
        return self._parents.get(node)

    def context(self, node: cst.CSTNode) -> ExpressionContext | None:
        """Return whether a name, attribute or subscript is loaded, stored or deleted; None where it is none of these."""
        found: ExpressionContext | None = self._contexts.get(node)
        return found

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
            stack.extend(reversed(node.children))

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


@lru_cache(maxsize=64)
def parse_source(path: str, text: str) -> ParsedSource:
    """Return `text` parsed; the same text is parsed once, because a tune edits it many times."""
    return ParsedSource(path, text)
