"""How the numbers of a tune were obtained: trials, time, what protected the user's files, what the brackets mean."""

from pitstop.messages import say
from pitstop.records.results import ConfirmResult, InterventionResult, TuneResult
from pitstop.report import numbers
from pitstop.report.content.facts import Fact
from pitstop.report.plain import plain


def account_facts(result: TuneResult) -> tuple[Fact, ...]:
    """Return the facts in reading order; what does not apply is left out."""
    key = "report.account.trials_invalid" if result.invalid_trials else "report.account.trials"
    trials = say(
        key,
        trials=numbers.count(result.trials),
        time=numbers.duration(result.wall_s * 1e9),
        invalid=numbers.count(result.invalid_trials),
    )
    facts = [Fact(name=say("report.account.trials_name"), value=trials)]
    facts += [fact for one in result.interventions if (fact := _intervention(one)) is not None]
    if result.sandbox:
        facts.append(Fact(name=say("report.account.sandbox_name"), value=plain(result.sandbox)))
    facts.append(
        Fact(
            name=say("report.account.speed_name"),
            value=say("report.account.speed", margin=numbers.share(result.margin)),
        )
    )
    if result.run_folder:
        facts.append(Fact(name=say("report.account.folder_name"), value=plain(result.run_folder)))
    return tuple(facts)


def _intervention(seen: InterventionResult) -> Fact | None:
    """Say what a step is without its input, or the input without the rest; None where the run came to nothing."""
    if seen.speedup is None:
        return None
    name = say(f"report.account.{seen.what}_name")
    return Fact(name=name, value=say(f"report.account.{seen.what}", ratio=numbers.ratio(seen.speedup)))


def confirm_facts(confirm: ConfirmResult | None) -> tuple[Fact, ...]:
    """Return the end-to-end comparison of `tune --confirm`; () where it was not asked for."""
    if confirm is None:
        return ()
    facts = [
        Fact(
            name=say("report.confirm.speed_name"),
            value=say("report.confirm.speed", ratio=numbers.ratio(confirm.speedup, confirm.ci), pairs=confirm.pairs),
        )
    ]
    if confirm.metric_name:
        name = plain(confirm.metric_name)
        for key, values in (
            ("report.confirm.original", confirm.metric_original),
            ("report.confirm.patched", confirm.metric_patched),
        ):
            facts.append(Fact(name=say(key, metric=name), value=", ".join(f"{value:.4g}" for value in values)))
    return tuple(facts)
