"""Gates over what the program was fed: the same batches, or at least the same samples with the same values."""

import itertools
import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from pitstop.messages import say
from pitstop.records import Gate
from pitstop.tune.gates_material import EquivalenceRun, LoaderSeen, Moments

__all__ = ["batches_equal", "sample_multiset", "sample_values", "statistics"]

STATISTICS_ALPHA = 1e-3  # over all features together (Bonferroni)
FEWEST_BATCHES = 8
FEWEST_ORDERED = 32  # samples, to speak of an order
ORDER_TOLERANCE = 0.25
CONTENT_REPEATS = 0.02  # of the samples: alike ones that happen to meet in one part of an epoch and not in another


def _loader_pairs(treated: EquivalenceRun, original: EquivalenceRun) -> list[tuple[LoaderSeen, LoaderSeen]] | None:
    """Return the training loaders of both, paired in order; None where their numbers differ."""
    ours, theirs = treated.training_loaders(), original.training_loaders()
    return list(zip(ours, theirs, strict=True)) if len(ours) == len(theirs) else None


def _without_loader(name: str, treated: EquivalenceRun, original: EquivalenceRun) -> Gate:
    if not original.training_loaders():
        return Gate(name=name, passed=None, detail=say("gates.reason.no_loader"))
    if not treated.complete:  # what a loader delivered is written down when recording ends
        return Gate(name=name, passed=None, detail=say("gates.reason.incomplete", faults=treated.trouble()))
    numbers = (len(treated.training_loaders()), len(original.training_loaders()))
    return Gate(name=name, passed=False, detail=say("gates.detail.loaders", ours=numbers[0], theirs=numbers[1]))


def batches_equal(treated: EquivalenceRun, *, original: EquivalenceRun) -> Gate:
    """Each batch is bit for bit the one that the original gets with the same seed."""
    name = "batches"
    pairs = _loader_pairs(treated, original)
    if not pairs:
        return _without_loader(name, treated, original)
    both = [(a, b) for ours, theirs in pairs for a, b in zip(ours.batches, theirs.batches, strict=False)]
    different = sum(a != b for a, b in both)
    return Gate(
        name=name,
        passed=different == 0 and bool(both),
        measured=float(different),
        limit=0.0,
        detail=say("gates.detail.batches", different=different, batches=len(both)),
        power=say("gates.power.batches", batches=len(both)),
    )


def sample_multiset(treated: Sequence[EquivalenceRun], *, baseline: Sequence[EquivalenceRun]) -> Gate:
    """Check that an epoch has the same samples as often as the original's: as planned by the sampler, and as delivered."""
    name = "sample-multiset"
    pairs = _loader_pairs(treated[0], baseline[0])
    if not pairs:
        return _without_loader(name, treated[0], baseline[0])
    seeds = [run.training_loaders() for run in baseline]
    checked = [
        _delivered(ours, theirs, seeds=[loaders[number] for loaders in seeds if number < len(loaders)])
        for number, (ours, theirs) in enumerate(pairs)
    ]
    known = any(found is not None for found in checked)
    wrong = [fault for found in checked for fault in found or ()]
    if not known:
        return Gate(name=name, passed=None, detail=say("gates.reason.no_ids"))
    return Gate(
        name=name,
        passed=not wrong,
        measured=float(len(wrong)),
        limit=0.0,
        detail="; ".join(wrong) or say("gates.detail.multiset", samples=pairs[0][1].plan_samples or "-"),
        power=say("gates.power.multiset"),
    )


def _delivered(ours: LoaderSeen, theirs: LoaderSeen, *, seeds: Sequence[LoaderSeen]) -> list[str] | None:
    """Return what is wrong with the edited program's loader, or None where nothing could be compared.

    `seeds` are the original's loader under each seed: a sampler that draws with replacement has other samples each time.
    """
    wrong: list[str] = []
    repeats, were_repeats = _repeats(ours), _repeats(theirs)
    if theirs.plan_samples is None and were_repeats is None:
        return None
    fixed = len({one.plan_ids for one in seeds}) == 1
    if ours.plan_samples != theirs.plan_samples or (fixed and ours.plan_ids != theirs.plan_ids):
        wrong.append(say("gates.detail.plan", ours=ours.plan_samples, theirs=theirs.plan_samples))
    elif ours.plan_batches != theirs.plan_batches:
        wrong.append(say("gates.detail.plan_batches", ours=ours.plan_batches, theirs=theirs.plan_batches))
    if repeats is not None and were_repeats is not None and repeats > _allowed_repeats(were_repeats, theirs):
        wrong.append(say("gates.detail.repeats", ours=repeats, theirs=were_repeats))
    ordered, was_ordered = _in_order(ours), _in_order(theirs)
    if ordered is not None and was_ordered is not None and abs(ordered - was_ordered) > ORDER_TOLERANCE:
        wrong.append(say("gates.detail.order", ours=f"{ordered:.0%}", theirs=f"{was_ordered:.0%}"))
    whole = [one for loader in seeds for one in _whole_epochs(loader)]
    if whole and all(one == whole[0] for one in whole):
        other = next((one for one in _whole_epochs(ours) if one != whole[0]), None)
        wrong += [] if other is None else [say("gates.detail.epoch", ours=other.total(), theirs=whole[0].total())]
    return wrong


def _identities(loader: LoaderSeen) -> list[Counter[str]]:
    """Return, per epoch seen, how often each sample came: by id, or by the hash of its first leaf where there are no ids."""
    if all(epoch.ids for epoch in loader.epochs if epoch.samples):
        return [Counter(epoch.ids) for epoch in loader.epochs]
    found, start = [], 0
    for epoch in loader.epochs:
        found.append(Counter(loader.rows[0][start : start + epoch.samples] if loader.rows else ()))
        start += epoch.samples
    return found


def _repeats(loader: LoaderSeen) -> int | None:
    """Return how many deliveries repeat a sample of the same epoch."""
    return sum(one.total() - len(one) for one in _identities(loader)) if loader.epochs else None


def _in_order(loader: LoaderSeen) -> float | None:
    """Return how many samples follow their neighbour in the data set, as a share: 1 without shuffling, about 0 with it."""
    ids = [one for epoch in loader.epochs for one in epoch.ids]
    if len(ids) < FEWEST_ORDERED or not all(one.isdigit() for one in ids):
        return None
    return sum(int(b) == int(a) + 1 for a, b in itertools.pairwise(ids)) / (len(ids) - 1)


def _allowed_repeats(were: int, loader: LoaderSeen) -> float:
    """Return how many repeats chance explains: none of ids drawn without replacement, some where the original has some."""
    by_content = not any(epoch.ids for epoch in loader.epochs)
    delivered = sum(epoch.samples for epoch in loader.epochs)
    return were + 4 * math.sqrt(were) + (CONTENT_REPEATS * delivered if by_content else 0)


def _whole_epochs(loader: LoaderSeen) -> list[Counter[str]]:
    return [one for one, epoch in zip(_identities(loader), loader.epochs, strict=True) if epoch.complete]


def sample_values(treated: Sequence[EquivalenceRun], *, baseline: Sequence[EquivalenceRun]) -> Gate:
    """Check that a sample has the same values as in the original, wherever its transforms draw no random numbers."""
    name = "sample-values"
    different = shared = 0
    random_leaves = False
    for ours_run, theirs_run in zip(treated, baseline, strict=False):
        for ours, theirs in _loader_pairs(ours_run, theirs_run) or []:
            for position, mapping in _values(theirs).items():
                if theirs.deterministic is None or not (
                    position < len(theirs.deterministic) and theirs.deterministic[position]
                ):
                    random_leaves = True
                    continue
                mine = _values(ours).get(position, {})
                both = mapping.keys() & mine.keys()
                shared += len(both)
                different += sum(mapping[key] != mine[key] for key in both)
    if not shared:
        return Gate(
            name=name, passed=None, detail=say("gates.reason.random_values" if random_leaves else "gates.reason.no_ids")
        )
    return Gate(
        name=name,
        passed=different == 0,
        measured=different / shared,
        limit=0.0,
        detail=say("gates.detail.values", different=different, shared=shared),
        power=say("gates.power.values", shared=shared),
    )


def _values(loader: LoaderSeen) -> dict[int, dict[str, str]]:
    """Return, per leaf with one row per sample, sample id -> hash of its values."""
    ids = [one for epoch in loader.epochs for one in epoch.ids]
    return {
        position: dict(zip(ids, rows, strict=True))
        for position, rows in enumerate(loader.rows)
        if ids and len(rows) == len(ids)
    }


def statistics(treated: Sequence[EquivalenceRun], *, baseline: Sequence[EquivalenceRun]) -> Gate:
    """Means and standard deviations per channel differ no more than batches of the original differ among themselves."""
    name = "batch-statistics"
    scores: list[float] = []
    widths: list[float] = []
    pairs = _loader_pairs(treated[0], baseline[0])
    if not pairs:
        return _without_loader(name, treated[0], baseline[0])
    for number in range(len(pairs)):
        ours = [run.training_loaders()[number].moments for run in treated if len(run.training_loaders()) > number]
        theirs = [run.training_loaders()[number].moments for run in baseline if len(run.training_loaders()) > number]
        for leaf in range(min(map(len, [*ours, *theirs]), default=0)):
            score, width = _scores([one[leaf] for one in ours], [one[leaf] for one in theirs])
            scores += score
            widths += width
    if not scores:
        return Gate(name=name, passed=None, detail=say("gates.reason.few_batches", least=FEWEST_BATCHES))
    limit = float(ndtri(1 - STATISTICS_ALPHA / 2 / len(scores)))
    worst = max(scores)
    return Gate(
        name=name,
        passed=worst <= limit,
        measured=worst,
        limit=limit,
        detail=say("gates.detail.statistics", worst=f"{worst:.1f}", limit=f"{limit:.1f}", features=len(scores)),
        power=say("gates.power.statistics", shift=f"{float(np.median(widths)) * limit:.2g}"),
    )


def _scores(ours: Sequence[Moments], theirs: Sequence[Moments]) -> tuple[list[float], list[float]]:
    """Return |z| of each feature, and each standard error as a share of the feature's standard deviation between batches."""
    if (
        min(sum(m.n for m in ours), sum(m.n for m in theirs)) < FEWEST_BATCHES
        or len({len(m.sum) for m in [*ours, *theirs]}) != 1
    ):
        return [], []
    (mean, variance, n), (mean_b, variance_b, n_b) = _pooled(ours), _pooled(theirs)
    tiny = 1e-9 * (np.abs(mean_b) + 1e-12)  # a constant column
    error = np.sqrt(variance / n + variance_b / n_b) + tiny
    scale = np.sqrt(variance_b) + tiny
    return (np.abs(mean - mean_b) / error).tolist(), (error / scale).tolist()


def _pooled(moments: Sequence[Moments]) -> tuple[np.ndarray, np.ndarray, int]:
    n = sum(one.n for one in moments)
    mean = np.sum([one.sum for one in moments], axis=0) / n
    return mean, np.maximum(np.sum([one.squares for one in moments], axis=0) / n - mean**2, 0.0), n
