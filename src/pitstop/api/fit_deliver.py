"""Handing over a fit: the patch, the launch line, what was measured and what was not, and every report."""

import math

from pitstop.api.fit_setup import FitSetup
from pitstop.measure.sandbox import describe, remove_tree
from pitstop.messages import say
from pitstop.records import Change, Gate, Numerics
from pitstop.records.results import SCHEMA, FitResult, FitSize, NotMeasured, ProgramResult
from pitstop.report.html import fit_html
from pitstop.report.json import to_json
from pitstop.report.markdown_fit import fit_markdown
from pitstop.treat import launch_line, unified_diff
from pitstop.treat.accumulate import Accumulated
from pitstop.tune.fit_search import Done, Fit, Tried

__all__ = ["deliver_fit"]

_BY_HAND = """\
for index, (inputs, targets) in enumerate(loader):  # batches of {batch}
    loss = criterion(model(inputs), targets) / {factor}
    loss.backward()
    if (index + 1) % {factor} == 0 or index + 1 == len(loader):
        optimizer.step()
        optimizer.zero_grad()
"""


def deliver_fit(
    setup: FitSetup,
    *,
    done: Done,
    tried: tuple[Tried, ...],
    edit: Accumulated,
    cannot: str,
    check: Gate | None,
    to_the_end: bool | None,
    wall_s: float,
) -> FitResult:
    """Write patch and reports into the run folder and return the result."""
    stored, own = setup.stored, setup.options.own
    change = edit.change
    command, env = launch_line(setup.program, change)
    diff = unified_diff(change, stored.sources, root=stored.root) if change.files else ""
    patch = None
    if diff:
        patch = str(setup.folder.write("patch.diff", diff.encode("utf-8", errors="surrogateescape")))
    factor = own // done.batch if done.batch is not None and done.batch < own else 1
    numerics, why = _numerics(edit, check)
    first = stored.first
    result = FitResult(
        schema=SCHEMA,
        program=ProgramResult(
            command=setup.program.argv,
            cwd=setup.program.cwd,
            exit_code=1 if first.outcome is Fit.OUT_OF_MEMORY else 0,
            python=stored.python,
            torch=stored.torch,
            error=first.detail or None,
            out_of_memory=first.outcome is Fit.OUT_OF_MEMORY,
        ),
        own_batch=own,
        own_fits=first.outcome is Fit.FITS,
        batch=done.batch,
        accumulate=factor,
        limit=setup.limit.kind,
        limit_bytes=setup.limit.num_bytes,
        sizes=_sizes(tried, own),
        numerics=numerics.value,
        numerics_reason=why,
        check=check,
        speedup=done.against_own.speedup if done.against_own else None,
        ci=done.against_own.ci if done.against_own else None,
        own_lifted=done.own_lifted,
        rival=done.rival,
        rival_verdict=done.decision.kind.value if done.decision else None,
        rival_speedup=done.decision.speedup if done.decision else None,
        rival_ci=done.decision.ci if done.decision else None,
        to_the_end=to_the_end,
        reason=_reason(done, cannot),
        diff=diff,
        patch=patch,
        command=command if change != Change() else (),
        env=env,
        suggestion=_BY_HAND.format(batch=done.batch, factor=factor) if cannot and factor > 1 else "",
        not_measured=_not_measured(setup, done, check, to_the_end, change),
        wall_s=wall_s,
        trials=len(tried),
        sandbox=describe(stored.plan),
        run_folder=str(setup.folder.path),
    )
    setup.folder.write("report.html", fit_html(result))
    setup.folder.write("report.md", fit_markdown(result))
    setup.folder.write("fit.json", to_json(result))
    for name in ("scratch", "compile-cache"):
        remove_tree(setup.folder.path / name)
    return result


def _numerics(edit: Accumulated, check: Gate | None) -> tuple[Numerics, str]:
    """Return the class: "same math" only where the comparison of losses was made and held."""
    if edit.numerics is not Numerics.SAME_MATH or check is None:
        return edit.numerics, edit.reason
    if check.passed:
        return edit.numerics, ""
    return Numerics.TRAINING, say("fit.check_failed" if check.passed is False else "fit.check_not_made")


def _sizes(tried: tuple[Tried, ...], own: int) -> tuple[FitSize, ...]:
    found = []
    for batch, lifted in sorted({(one.batch, one.lifted) for one in tried}, reverse=True):
        mine = [one for one in tried if (one.batch, one.lifted) == (batch, lifted)]
        bad = [one for one in mine if one.outcome is not Fit.FITS]
        timed = [one.ns_per_sample for one in mine if one.phase != "finding" and one.ns_per_sample is not None]
        peaks = [one.peak_bytes for one in mine if one.peak_bytes is not None]
        device = [one.peak_device_bytes for one in mine if one.peak_device_bytes is not None]
        found.append(
            FitSize(
                batch=batch,
                accumulate=max(1, own // batch),
                outcome=(bad[0] if bad else mine[0]).outcome.value,
                peak_bytes=max(peaks, default=None),
                peak_device_bytes=max(device, default=None),
                ns_per_sample=math.exp(math.fsum(map(math.log, timed)) / len(timed)) if timed else None,
                runs=len(timed),
                lifted=lifted,
                detail=bad[0].detail if bad else "",
            )
        )
    return tuple(found)


def _reason(done: Done, cannot: str) -> str:
    reasons = []
    if done.out_of_budget:
        reasons.append(say("fit.out_of_budget"))
    if done.tight:
        reasons.append(say("fit.only_tight"))
    if cannot:
        reasons.append(say("fit.cannot_accumulate", why=cannot))
    return " ".join(reasons)


def _not_measured(
    setup: FitSetup, done: Done, check: Gate | None, to_the_end: bool | None, change: Change
) -> tuple[NotMeasured, ...]:
    found = []
    if done.batch is not None and done.batch != setup.options.own and done.against_own is None:
        why = "fit.why_no_lifting" if done.own_lifted and not setup.limit.ours else "fit.why_no_own"
        found.append(NotMeasured(what=say("fit.what_own"), why=say(why)))
    if check is not None and check.passed is None:
        why = say("fit.why_other_samples" if check.detail == "samples" else "fit.why_no_losses")
        found.append(NotMeasured(what=say("fit.what_check"), why=why))
    if change != Change() and to_the_end is None:
        found.append(NotMeasured(what=say("fit.what_end"), why=say("fit.why_no_time")))
    return tuple(found)
