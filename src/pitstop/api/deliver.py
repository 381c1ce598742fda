"""Handing over: the patch as a file, the launch line, break-even, and every report of one tune."""

import msgspec

from pitstop.api.interventions import intervention_results, with_measured_ceilings
from pitstop.api.setup import Setup
from pitstop.measure.sandbox import describe, remove_tree
from pitstop.messages import language
from pitstop.records import Change, Trial, Verdict
from pitstop.records.results import (
    SCHEMA,
    ConfirmResult,
    NotMeasured,
    Patched,
    PrescriptionResult,
    TuneResult,
    VerdictResult,
)
from pitstop.report.html import tune_html
from pitstop.report.json import to_json
from pitstop.report.markdown import tune_markdown
from pitstop.treat import TREATMENTS, launch_line, unified_diff
from pitstop.tune.break_even import break_even_steps
from pitstop.tune.search_actions import Finish, Intervention, Observation

__all__ = ["deliver"]


def deliver(
    setup: Setup,
    *,
    finish: Finish,
    change: Change,
    patched: Patched | None,
    confirmed: ConfirmResult | None,
    not_measured: tuple[NotMeasured, ...],
    wall_s: float,
    margin: float,
) -> TuneResult:
    """Write patch and reports into the run folder and return the result. `finish.chosen` empty is the honest zero."""
    seen = [one for one in setup.journal.observations(Observation) if isinstance(one, Intervention)]
    interventions = intervention_results(setup, seen)
    findings = with_measured_ceilings(setup.profile.findings, interventions)
    result = TuneResult(
        schema=SCHEMA,
        baseline=msgspec.structs.replace(setup.profile, findings=findings),
        verdicts=tuple(_verdict(verdict) for verdict in finish.verdicts),
        prescription=_prescription(setup, finish=finish, change=change, patched=patched),
        wall_s=wall_s,
        trials=finish.trials,
        cannot_apply={refused.treatment: refused.reason for refused in setup.cannot_apply},
        sandbox=describe(setup.plan),
        confirm=confirmed,
        run_folder=str(setup.folder.path),
        not_measured=not_measured,
        invalid_trials=finish.invalid_trials,
        margin=margin,
        reason=finish.reason,
        tolerate_load=setup.tolerate_load,
        interventions=interventions,
    )
    setup.folder.write("report.html", tune_html(result))
    setup.folder.write("report.md", tune_markdown(result))
    setup.folder.write("tune.json", to_json(result))
    for name in ("scratch", "compile-cache"):  # only trials to come would have needed them
        remove_tree(setup.folder.path / name)
    return result


def _prescription(setup: Setup, *, finish: Finish, change: Change, patched: Patched | None) -> PrescriptionResult:
    command, env = launch_line(setup.program, change)
    diff = unified_diff(change, setup.sources, root=str(setup.root)) if change.files else ""
    patch = None
    if diff:
        patch = str(setup.folder.write("patch.diff", diff.encode("utf-8", errors="surrogateescape")))
    chosen = setup.chosen(finish.chosen)
    words = {treatment.name: treatment for treatment in TREATMENTS}
    trials = [seen for seen in setup.journal.observations(Observation) if isinstance(seen, Trial)]
    return PrescriptionResult(
        treatments=finish.chosen,
        speedup=finish.speedup,
        ci=finish.ci,
        equivalence=finish.gates,
        patch=patch,
        patched=patched,
        break_even_steps=break_even_steps(trials, chosen=finish.chosen, warm_steps=setup.baseline.window.first),
        diff=diff,
        command=command,
        env=env,
        numerics=finish.numerics.value,
        steady_only=not setup.baseline.window.whole_epochs,
        explanations={proposal.name: words[proposal.treatment].explanation.say(lang=language()) for proposal in chosen},
    )


def _verdict(verdict: Verdict) -> VerdictResult:
    return VerdictResult(
        **{
            **{field: getattr(verdict, field) for field in msgspec.structs.asdict(verdict)},
            "numerics": verdict.numerics.value,
            "verdict": verdict.verdict.value,
        }
    )
