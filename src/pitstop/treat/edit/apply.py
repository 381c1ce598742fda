"""Writing a draft: one pass from the leaves up, so that an edit of a call and one of the block around it meet."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import libcst as cst

from pitstop.treat.edit.arguments import ArgumentEdit, edited_call, keyword_argument
from pitstop.treat.edit.blocks import Entry, arranged, function_node, guarded, moved_range, wrapped
from pitstop.treat.edit.dicts import edited_dict
from pitstop.treat.edit.file import BlockEdits, FileDraft, MovedFunction, Rank
from pitstop.treat.edit.imports import end_of_imports, import_place
from pitstop.treat.edit.parsed import Block

__all__ = ["new_text"]


def new_text(draft: FileDraft) -> str:
    """Return the whole text of the file with all edits made; without edits, the original to the byte."""
    return draft.parsed.written(draft.parsed.module.visit(_Writer(draft)).code)


@dataclass(kw_only=True)
class _Made:
    """A function whose body is ready, waiting for the module."""

    function: MovedFunction
    node: cst.FunctionDef


class _Writer(cst.CSTTransformer):
    def __init__(self, draft: FileDraft) -> None:
        super().__init__()
        self.draft = draft
        self.made: list[_Made] = []

    def on_leave(  # type: ignore[override]
        self, original_node: cst.CSTNode, updated_node: cst.CSTNode
    ) -> cst.CSTNode:
        draft, updated = self.draft, updated_node
        if isinstance(original_node, cst.Call) and original_node in draft.arguments:
            edits = sorted(draft.arguments[original_node], key=lambda edit: (_ORDER.get(edit.keyword, 9), edit.keyword))
            column = self._wrap_column(original_node, edits)
            updated = edited_call(original_node, cast("cst.Call", updated), edits, wrap_column=column)
        if isinstance(original_node, cst.Dict) and original_node in draft.dict_entries:
            updated = edited_dict(cast("cst.Dict", updated), draft.dict_entries[original_node], style=draft.style)
        if isinstance(original_node, cst.BaseExpression) and original_node in draft.expressions:
            updated = cst.parse_expression(draft.expressions[original_node])
        if isinstance(original_node, cst.BaseExpression) and original_node in draft.merged:
            code = draft.parsed.module.code_for_node(updated)
            entries = "".join(
                f", {draft.style.string(key)}: {value}" for key, value in draft.merged[original_node].items()
            )
            updated = cst.parse_expression(f"{{**{code}{entries}}}")
        if isinstance(original_node, Block):
            updated = self._block(original_node, cast("Block", updated))
        return updated

    def _block(self, original: Block, updated: Block) -> Block:
        edits = self.draft.blocks.get(original)
        is_module = isinstance(original, cst.Module)
        split = any(line in original.body for line in self.draft.splits) if self.draft.splits else False
        removed = any(self._removed_from(line) for line in original.body) if self.draft.removed else False
        if edits is None and not split and not removed and not (is_module and self._module_changes()):
            return updated
        edits = edits or BlockEdits()
        entries = self._entries(original, updated, edits)
        for range_, header in sorted(edits.wraps, key=lambda wrap: wrap[0].first):
            entries = wrapped(entries, range_, header, module=self.draft.parsed.module, outer=updated)
        for function in [item for item in self.draft.functions if item.block is original]:
            call = next(code for range_, code in edits.replaced if range_ == function.range)
            content, entries = moved_range(entries, function.range, call, module=self.draft.parsed.module)
            self.made.append(
                _Made(
                    function=function,
                    node=function_node(function.head, content, function.tail, module=self.draft.parsed.module),
                )
            )
        if isinstance(original, cst.Module):
            entries += self._functions(original)
        body = arranged(entries)
        if is_module and self.draft.guard is not None:
            body = guarded(entries, self.draft.guard, quote=self.draft.style.quote, module=self.draft.parsed.module)
        return updated.with_changes(body=body)

    def _module_changes(self) -> bool:
        return bool(self.draft.imported or self.draft.after_imports or self.made or self.draft.guard is not None)

    def _entries(self, original: Block, updated: Block, edits: BlockEdits) -> list[Entry]:
        """Return the statements as they are now, and those to insert."""
        entries: list[Entry] = []
        config = self.draft.parsed.module.config_for_parsing
        gone = [
            isinstance(old, cst.SimpleStatementLine) and len(self._removed_from(old)) == len(old.body)
            for old in original.body
        ]
        for index, (old, new) in enumerate(zip(original.body, updated.body, strict=True)):
            if old in self.draft.splits:
                first, second = _split(
                    cast("cst.SimpleStatementLine", new), self.draft.splits[cast("cst.SimpleStatementLine", old)]
                )
                entries += [Entry(key=2 * index, node=first), Entry(key=2 * index + 1, node=second)]
            elif gone[index]:
                if all(gone):  # a block needs a statement
                    entries.append(Entry(key=2 * index, node=cst.parse_statement("pass", config)))
                    gone[index] = False
            elif removed := self._removed_from(old):
                entries.append(Entry(key=2 * index, node=_without(cast("cst.SimpleStatementLine", new), removed)))
            else:
                entries.append(Entry(key=2 * index, node=new))
        for items, offset in ((edits.before, -0.5), (edits.after, 1.5)):
            for index, lines in items.items():
                for rank, code in lines:
                    node = cst.parse_statement(code, config)
                    entries.append(Entry(key=2 * index + offset, rank=rank, text=code, node=node, inserted=offset < 0))
        return [*entries, *(self._head_lines() if isinstance(original, cst.Module) else ())]

    def _removed_from(self, line: cst.CSTNode) -> frozenset[int]:
        """Return which of the small statements of a line are taken out, by index."""
        if not self.draft.removed or not isinstance(line, cst.SimpleStatementLine):
            return frozenset()
        return frozenset(
            index
            for index, part in enumerate(line.body)
            if isinstance(part, cst.Expr) and any(part.value is call for call in self.draft.removed)
        )

    def _head_lines(self) -> list[Entry]:
        """Return the imports and settings that the head of the file gains."""
        parsed = self.draft.parsed
        lines = [(import_place(parsed, name), Rank.IMPORT, f"import {name}") for name in sorted(self.draft.imported)]
        lines += [(end_of_imports(parsed), rank, code) for rank, code in sorted(self.draft.after_imports)]
        entries = []
        for place, rank, code in lines:
            node = cst.parse_statement(code, parsed.module.config_for_parsing)
            if rank is Rank.SETTING and place.after:
                node = node.with_changes(leading_lines=[cst.EmptyLine(indent=False)])
            key = 2 * place.index + (1.5 if place.after else -0.5)
            before = not place.after
            entries.append(Entry(key=key, rank=rank, text=code, node=node, inserted=before, takes_comments=before))
        return entries

    def _functions(self, module: cst.Module) -> list[Entry]:
        made = []
        for item in self.made:
            index = next(index for index, at in enumerate(module.body) if at is item.function.anchor)
            made.append(
                Entry(
                    key=2 * index - 0.5,
                    rank=Rank.FUNCTION,
                    text=f"{item.function.line:09}",
                    node=item.node,
                    inserted=True,
                    apart=True,
                )
            )
        return made

    def _wrap_column(self, call: cst.Call, edits: Sequence[ArgumentEdit]) -> int | None:
        """Where added arguments go on a new line, aligned with the first, because the last line would be too long."""
        parsed, span = self.draft.parsed, self.draft.parsed.position(call)
        if not call.args or _one_per_line(call):
            return None
        line = parsed.lines[span.end.line - 1].rstrip("\r")
        added = [
            edit
            for edit in edits
            if keyword_argument(call, edit.instead_of or edit.keyword, position=edit.position) is None
        ]
        growth = sum(len(f", {edit.keyword}={edit.code}") for edit in added)
        indent = parsed.position(parsed.line_owner(call)).start.column
        if len(line) + growth <= self.draft.style.longest_line or "\t" in line[: len(line) - len(line.lstrip())]:
            return None
        return max(parsed.position(call.args[0]).start.column - indent, 0)


def _one_per_line(call: cst.Call) -> bool:
    """Say whether the last two arguments stand on lines of their own, so that one more line is what the layout asks for."""
    commas = [arg.comma for arg in call.args[:-1]]
    return (
        bool(commas)
        and isinstance(commas[-1], cst.Comma)
        and isinstance(commas[-1].whitespace_after, cst.ParenthesizedWhitespace)
    )


# Where several are added to one call, in the order in which people write them.
_ORDER = {"num_workers": 0, "pin_memory": 1, "persistent_workers": 2, "prefetch_factor": 3}


def _without(line: cst.SimpleStatementLine, removed: frozenset[int]) -> cst.SimpleStatementLine:
    """Return `a(); b()  # why` without one of the two."""
    kept = [part for index, part in enumerate(line.body) if index not in removed]
    kept[-1] = kept[-1].with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
    return line.with_changes(body=kept)


def _split(line: cst.SimpleStatementLine, name: str) -> tuple[cst.SimpleStatementLine, cst.SimpleStatementLine]:
    """`f(x).backward()  # why` -> `name = f(x)` and `name.backward()  # why`."""
    expression = cast("cst.Expr", line.body[0])
    call = cast("cst.Call", expression.value)
    method = cast("cst.Attribute", call.func)
    assign = cst.Assign(targets=[cst.AssignTarget(target=cst.Name(name))], value=method.value)
    first = cst.SimpleStatementLine(body=[assign], leading_lines=line.leading_lines)
    short = call.with_changes(func=method.with_changes(value=cst.Name(name)))
    return first, line.with_changes(body=[expression.with_changes(value=short)], leading_lines=())
