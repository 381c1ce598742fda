"""The numerics gates: from the numbers of equivalence runs to checks that passed, failed or could not be made.

This file chooses the gates of each numerics class and decides; each family of gates has its own file (`gates_*`). Limits and
where they come from: docs/numerics.md.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

from pitstop.records import Gate, Numerics
from pitstop.tune.gates_data import batches_equal, sample_multiset, sample_values, statistics
from pitstop.tune.gates_material import EquivalenceRun
from pitstop.tune.gates_path import bit_equal, finite, rhythm, settings, trajectory_paired, trajectory_unpaired
from pitstop.tune.gates_step import teacher_forced, update

__all__ = ["REQUIRED_IN_STEP", "Decision", "classes_of", "decide", "numerics_gates"]

Decision = Literal["passed", "failed", "could not be made"]

REQUIRED_IN_STEP = frozenset(["finite", "teacher-forced-loss", "teacher-forced-gradient"])
# A class is not shown without these, whatever else passed.
_REQUIRED = {
    Numerics.EXACT: frozenset(["bit-equal"]),
    Numerics.SAME_MATH: REQUIRED_IN_STEP | {"trajectory"},
    Numerics.PRECISION: REQUIRED_IN_STEP | {"trajectory"},
    Numerics.SAME_DISTRIBUTION: REQUIRED_IN_STEP | {"trajectory"},
}


def classes_of(numerics: Numerics | Iterable[Numerics]) -> frozenset[Numerics]:
    """Return the set of classes that a change must be judged by; `exact` adds nothing beside another.

    Raises ValueError for `training`, which changes what is trained and has no gate.
    """
    found = frozenset([numerics]) if isinstance(numerics, Numerics) else frozenset(numerics)
    if Numerics.TRAINING in found:
        raise ValueError("a change of what is trained cannot be shown to compute the same")
    return found - {Numerics.EXACT} or frozenset([Numerics.EXACT])


def numerics_gates(
    treated: Sequence[EquivalenceRun],
    *,
    baseline: Sequence[EquivalenceRun],
    repeated: EquivalenceRun | None,
    numerics: Numerics | Iterable[Numerics],
) -> tuple[Gate, ...]:
    """Judge the edited program's runs against the original's by all the classes in `numerics`.

    `treated[0]` and `baseline[0]` have the same seed, as have later pairs; `baseline[0]` was replayed in every arithmetic and
    `treated[0]` in plain. `repeated` is another run of the original with the first seed, needed for `exact` only.
    """
    classes = classes_of(numerics)
    first, original = treated[0], baseline[0]
    gates = [finite(first, original=original)]
    if Numerics.EXACT in classes:
        gates.append(bit_equal(first, original=original, repeated=repeated))
        return tuple(gates)
    resampled = Numerics.SAME_DISTRIBUTION in classes
    gates += [rhythm(first, original=original), settings(first, original=original)]
    gates += teacher_forced(first, original=original, precision=Numerics.PRECISION in classes)
    gates.append(update(first, original=original))
    if resampled:
        gates += [
            sample_multiset(treated, baseline=baseline),
            sample_values(treated, baseline=baseline),
            statistics(treated, baseline=baseline),
            trajectory_unpaired(treated, baseline=baseline),
        ]
    else:
        gates += [batches_equal(first, original=original), trajectory_paired(first, baseline=baseline)]
    return tuple(gates)


def decide(gates: Sequence[Gate], *, numerics: Numerics | Iterable[Numerics]) -> Decision:
    """Return what the gates together say: one failure fails, and a required gate that was not made leaves it open."""
    if any(gate.passed is False for gate in gates):
        return "failed"
    passed = {gate.name for gate in gates if gate.passed}
    required = {name for one in classes_of(numerics) for name in _REQUIRED[one]}
    return "passed" if required <= passed else "could not be made"
