"""The statements from a forward to its backward, found from the stacks of both: what autocast goes around and compile takes out.

Forward and backward are followed down to the deepest frame that called both; there they are statements, in the innermost
block that holds both. The region runs from the first forward since the previous backward to the last statement that what is
differentiated depends on, so that logging and `zero_grad` between the loss and its backward stay outside.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import libcst as cst
from libcst.metadata import ExpressionContext

from pitstop.records import BackwardSighting, Evidence, ForwardSighting, Site
from pitstop.treat.contract import CannotEdit
from pitstop.treat.edit.draft import Draft
from pitstop.treat.edit.file import FileDraft, Range
from pitstop.treat.edit.names import bindings
from pitstop.treat.edit.parsed import Block, ParsedSource, Statement
from pitstop.treat.edit.sites import call_at, statement_at
from pitstop.treat.training import training_forwards

__all__ = ["Region", "common_depth", "find_regions"]

_FILLING = {"add", "append", "extend", "insert", "setdefault", "update"}


@dataclass(frozen=True, kw_only=True)
class Region:
    """Neighbouring statements of one block. `split` names the loss where the last statement is `f(x).backward()`."""

    path: str
    block: Block
    range: Range
    backward: Statement
    forwards: tuple[int, ...]  # module ids
    device: str
    split: str | None = None

    def statements(self) -> Sequence[cst.BaseStatement | cst.SimpleStatementLine]:
        """Return the statements of the region."""
        return self.block.body[self.range.first : self.range.last + 1]

    def split_loss(self, file: FileDraft) -> None:
        """Part the loss from its backward, where both are one statement."""
        if self.split is not None:
            file.split_receiver(cast("cst.SimpleStatementLine", self.backward), self.split)


def common_depth(one: Sequence[Site], other: Sequence[Site]) -> int:
    """Return the index of the deepest frame on both stacks, -1 for none.

    The same live frame, or the same function reached through the same calls: a place is seen first in one step, its
    backward perhaps in another.
    """
    depth = -1
    for index, (left, right) in enumerate(zip(one, other, strict=False)):
        same_frame = left.frame == right.frame != 0
        same_way = (left.path, left.function) == (right.path, right.function) and (
            index == 0 or _place(one[index - 1]) == _place(other[index - 1])
        )
        if not same_frame and not same_way:
            break
        depth = index
    return depth


def find_regions(draft: Draft, evidence: Evidence) -> list[Region]:
    """Return the forward-to-backward regions of the training step in source order; raises CannotEdit where there is none."""
    forwards = training_forwards(evidence)
    if not forwards or not evidence.backwards:
        raise CannotEdit("no_training_seen")
    found: dict[tuple[Block, int], Region] = {}
    refused: CannotEdit | None = None
    for backward in evidence.backwards:
        try:
            region = _region(draft, backward, forwards, evidence.backwards)
        except CannotEdit as error:
            refused = error
            continue
        if region is not None:
            key = (region.block, region.range.last)
            known = found.get(key)
            if known is None or region.range.first < known.range.first:
                found[key] = region
    if refused is not None:
        raise refused
    if not found:
        raise CannotEdit("no_region")
    return sorted(found.values(), key=lambda region: (region.path, region.range.first))


def _region(
    draft: Draft, backward: BackwardSighting, forwards: Sequence[ForwardSighting], backwards: Sequence[BackwardSighting]
) -> Region | None:
    depths = [common_depth(forward.stack, backward.stack) for forward in forwards]
    depth = max(depths)
    if depth < 0:
        raise CannotEdit("no_common_caller")
    site = backward.stack[depth]
    file = draft.file(site.path)
    parsed = file.parsed
    end = statement_at(parsed, site)
    starts = [
        (forward, statement_at(parsed, forward.stack[depth]))
        for forward, at in zip(forwards, depths, strict=True)
        if at == depth
    ]
    earlier = _others(parsed, backward, backwards, depth)
    block, candidates = _deepest_block(parsed, end, starts)
    last = _index(parsed, block, end)
    floor = max(
        (at for at in (_index_or_none(parsed, block, other) for other in earlier) if at is not None and at < last),
        default=-1,
    )
    inside = [(forward, at) for forward, at in candidates if floor < at <= last]
    if not inside:
        return None
    first = min(at for _, at in inside)
    ids = tuple(sorted({forward.id for forward, _ in inside}))
    device = inside[0][0].device
    end_statement = cast("Statement", block.body[last])
    if any(at == last for _, at in inside):
        name = _splittable(file, end_statement, site)
        range_ = Range(first=first, last=last)
        return Region(
            path=site.path, block=block, range=range_, backward=end_statement, forwards=ids, device=device, split=name
        )
    forwards_end = max(at for _, at in inside)
    range_ = Range(first=first, last=max(forwards_end, _last_needed(parsed, block, first, last, end)))
    region = Region(path=site.path, block=block, range=range_, backward=end_statement, forwards=ids, device=device)
    _check(parsed, region)
    return region


def _others(
    parsed: ParsedSource, backward: BackwardSighting, backwards: Sequence[BackwardSighting], depth: int
) -> list[Statement]:
    """Statements of the same frame that hold another backward."""
    return [
        statement_at(parsed, other.stack[depth])
        for other in backwards
        if other is not backward and common_depth(other.stack, backward.stack) >= depth
    ]


def _deepest_block(
    parsed: ParsedSource, end: Statement, starts: Sequence[tuple[ForwardSighting, Statement]]
) -> tuple[Block, list[tuple[ForwardSighting, int]]]:
    """Return the innermost block that holds the backward and at least one forward at or before it, and those forwards' indices."""
    for node in parsed.ancestors(end):
        if isinstance(node, Block):
            last = _index(parsed, node, end)
            held = [(forward, _index_or_none(parsed, node, at)) for forward, at in starts]
            before = [(forward, at) for forward, at in held if at is not None and at <= last]
            if before:
                return node, before
        if isinstance(node, cst.FunctionDef):
            break
    raise CannotEdit("no_region")


def _index_or_none(parsed: ParsedSource, block: Block, node: cst.CSTNode) -> int | None:
    """Index of the statement of `block` that is or holds `node`."""
    for at in parsed.ancestors(node):
        if parsed.parent(at) is block:
            return next((index for index, statement in enumerate(block.body) if statement is at), None)
    return None


def _index(parsed: ParsedSource, block: Block, node: cst.CSTNode) -> int:
    return cast("int", _index_or_none(parsed, block, node))


def _last_needed(parsed: ParsedSource, block: Block, first: int, last: int, end: Statement) -> int:
    """Index of the last statement before the backward that binds a name which the backward statement reads."""
    read = _dotted(parsed, end, stored=False)
    for index in range(last - 1, first - 1, -1):
        if read & (_dotted(parsed, block.body[index], stored=True) | _filled(parsed, block.body[index])):
            return index
    return last - 1


def _dotted(parsed: ParsedSource, node: cst.CSTNode, *, stored: bool) -> set[str]:
    """Names and dotted names that are bound (`stored`) or read in a statement; `loss.backward` gives "loss"."""
    found: set[str] = set()
    for name in parsed.nodes(cst.Name, inside=node):
        context = parsed.context(name)
        if context is not None and (context is ExpressionContext.STORE) == stored:
            found.add(name.value)
    for attribute in parsed.nodes(cst.Attribute, inside=node):
        context = parsed.context(attribute)
        if context is not None and (context is ExpressionContext.STORE) == stored:
            found.add(parsed.code(attribute))
    return found


def _filled(parsed: ParsedSource, node: cst.CSTNode) -> set[str]:
    """Names of containers that a statement puts something into: `losses["a"] = x`, `losses.append(x)`."""
    found = set()
    for subscript in parsed.nodes(cst.Subscript, inside=node):
        if parsed.context(subscript) is ExpressionContext.STORE:
            found.add(parsed.code(subscript.value))
    for call in parsed.nodes(cst.Call, inside=node):
        if isinstance(call.func, cst.Attribute) and call.func.attr.value in _FILLING:
            found.add(parsed.code(call.func.value))
    return found


def _splittable(file: FileDraft, statement: Statement, site: Site) -> str:
    """Return the name for the loss of `f(model(x)).backward()`; raises CannotEdit where the statement is another."""
    parsed = file.parsed
    call = call_at(
        parsed, site, likely=lambda call: isinstance(call.func, cst.Attribute) and call.func.attr.value == "backward"
    )
    plain = (
        isinstance(statement, cst.SimpleStatementLine)
        and len(statement.body) == 1
        and isinstance(statement.body[0], cst.Expr)
        and statement.body[0].value is call
        and isinstance(call.func, cst.Attribute)
        and not isinstance(call.func.value, cst.Name)
    )
    if not plain:
        raise CannotEdit("one_statement", path=parsed.path, line=site.line)
    taken = set(bindings(parsed, parsed.scope(statement)))
    return next(name for name in ("loss", "training_loss", "loss_to_minimise") if name not in taken)


def _check(parsed: ParsedSource, region: Region) -> None:
    for node in _all(parsed, region.statements()):
        if isinstance(node, cst.Yield | cst.Await):
            raise CannotEdit("region_yields", path=parsed.path, line=parsed.position(node).start.line)
        if (
            isinstance(node, cst.Call)
            and isinstance(node.func, cst.Attribute)
            and node.func.attr.value == "step"
            and not node.args
        ):
            raise CannotEdit("region_steps", path=parsed.path, line=parsed.position(node).start.line)


def _all(parsed: ParsedSource, nodes: Iterable[cst.CSTNode]) -> Iterable[cst.CSTNode]:
    for node in nodes:
        yield from parsed.all_nodes(node)


def _place(site: Site) -> tuple[str, int, int | None]:
    return site.path, site.line, site.column
