"""What the rules about loading share: which part of it the time goes to, by stack samples. No rule itself."""

from pitstop.diagnose.load_stages import Loading, Stage, loading_samples
from pitstop.diagnose.rules.contract import Facts
from pitstop.records import LoaderSighting

__all__ = ["MIN_WAIT", "dominant", "training_loader"]

MIN_WAIT = 0.05  # of the step, as for the other loader rules: less could not be confirmed at the margin of a verdict
# Stack samples in loading. With 50 a share of 0.5 is known to within 0.14 (95 % of cases, binomial).
_FEWEST_SAMPLES = 50
# More than everything else of loading together.
_MIN_PART = 0.5


def training_loader(facts: Facts) -> LoaderSighting | None:
    """Return the loader that feeds training; None where there is none, or several of unlike ways of working."""
    loaders = [loader for loader in facts.evidence.loaders if loader.id in facts.train_loaders]
    in_workers = {loader.num_workers > 0 for loader in loaders}
    return loaders[0] if len(in_workers) == 1 else None


def dominant(facts: Facts, stage: Stage) -> tuple[Loading, float, float] | None:
    """Return the samples of loading, the part of it that `stage` is, and the share of the step that it makes wait.

    None where the step hardly waits for data, the samples are few, or something else takes more of the loading.
    """
    loader = training_loader(facts)
    wait = facts.share("data_wait")
    if loader is None or wait < MIN_WAIT:
        return None
    loading = loading_samples(facts.stack_samples, in_workers=loader.num_workers > 0)
    part = loading.share(stage)
    if loading.total < _FEWEST_SAMPLES or part < _MIN_PART:
        return None
    return loading, part, wait * part
