"""From proposals to the change that is tried and handed over."""

from collections.abc import Sequence

from pitstop.records import CannotApply, Change, Proposal
from pitstop.treat.contract import CannotEdit, View
from pitstop.treat.edit import Draft
from pitstop.treat.registry import TREATMENTS, treatment_named

__all__ = ["build_change", "propose_all"]


def build_change(proposals: Sequence[Proposal], view: View) -> Change:
    """Return the edits of all `proposals` together; their order does not show. Raises CannotEdit where one cannot be written."""
    order = {treatment.name: index for index, treatment in enumerate(TREATMENTS)}
    draft = Draft(view.sources)
    for proposal in sorted(proposals, key=lambda proposal: (order[proposal.treatment], proposal.name)):
        treatment_named(proposal.treatment).edit(draft, view, proposal)
    return draft.finish()


def propose_all(view: View) -> tuple[tuple[Proposal, ...], tuple[CannotApply, ...]]:
    """Ask every treatment. Proposals whose edit cannot be written, or changes nothing, are left out.

    A treatment without any proposal left gives its reasons.
    """
    proposals: list[Proposal] = []
    refused: list[CannotApply] = []
    for treatment in TREATMENTS:
        answer = treatment.propose(view)
        if isinstance(answer, CannotApply):
            refused.append(answer)
            continue
        reasons: list[str] = []
        for proposal in answer:
            try:
                change = build_change((proposal,), view)
            except CannotEdit as error:
                reasons.append(error.reason)
                continue
            if change == Change():
                reasons.append(CannotEdit("no_change").reason)
            else:
                proposals.append(proposal)
        if not any(proposal.treatment == treatment.name for proposal in proposals):
            refused += [CannotApply(treatment=treatment.name, reason=reason) for reason in dict.fromkeys(reasons)]
    return tuple(proposals), tuple(refused)
