"""What a trial will cost, and what must be kept back so that a finalist can always be checked and confirmed."""

from pitstop.records import Numerics
from pitstop.tune.search_actions import Key
from pitstop.tune.search_confirming import FEWEST_PAIRS
from pitstop.tune.search_facts import Facts, Table, numerics_of
from pitstop.tune.search_gating import gated

__all__ = [
    "affordable_looks",
    "budget_that_would_do_ns",
    "can_screen",
    "check_cost_ns",
    "confirm_cost_ns",
    "too_tight_to_screen",
    "trial_cost_ns",
]

_MORE_SEEDS = 1.5  # three seeds of the edited program instead of one, beside three of the original
_COMPILING = (
    3.0  # a first run that compiles against a baseline's, while none was seen: 3.1 to 3.4 in the demo (docs/demo.md)
)
_EXACT_RUNS = 3  # the original twice and the edited program once, without replays


def trial_cost_ns(key: Key, *, facts: Facts, table: Table, repeat: bool = False) -> float:
    """Return the expected cost of one trial: as seen for this set, else from its largest part that was measured.

    What a member adds beyond the baseline (a compiler, workers to start) is added to that part; of a member that was not measured,
    a relative says it: another setting of the same treatment. With `repeat` as much as it would again, a compiler's cache filled.
    """
    if key in table.wall_ns:
        return table.wall_ns[key]
    baseline = table.wall_ns.get((), 0.0)
    walls = table.wall_ns if repeat else table.first_wall_ns
    treatment = {proposal.name: proposal.treatment for proposal in facts.proposals}
    compiling = {proposal.name for proposal in facts.proposals if proposal.compiles}

    def alone(name: str) -> float:
        if (name,) in walls:
            return walls[name,]
        seen = [
            cost
            for other, cost in walls.items()
            if len(other) == 1 and treatment[other[0]] == treatment[name] and other not in table.failures
        ]
        unknown = _COMPILING * baseline if name in compiling else baseline
        return sum(seen) / len(seen) if seen else unknown

    if len(key) == 1:
        return alone(key[0])
    parts = [other for other in table.estimates if len(other) > 1 and set(other) < set(key)]
    part = max(parts, key=len, default=())
    added = sum(max(0.0, alone(name) - baseline) for name in key if name not in part)
    return table.wall_ns.get(part, baseline) + added


def check_cost_ns(key: Key, *, facts: Facts, table: Table) -> float:
    """Return the expected cost of one numerics check; nothing for what changes the training itself, by consent."""
    if not gated(key, proposals=facts.proposals):
        return 0.0
    if numerics_of(key, proposals=facts.proposals) is Numerics.EXACT:
        return _EXACT_RUNS * table.wall_ns.get((), 0.0)
    seen = [report.wall_ns for report in facts.reports]
    if seen:
        return sum(seen) / len(seen)
    # Equivalence runs compile in a mode of their own, so the first of them finds no cache.
    members = [other for other in table.first_wall_ns if other and set(other) <= set(key)]
    compiling = max((table.first_wall_ns[other] - table.wall_ns[other] for other in members), default=0.0)
    classes = {proposal.numerics for proposal in facts.proposals if proposal.name in key}
    more = _MORE_SEEDS if Numerics.SAME_DISTRIBUTION in classes else 1.0
    return more * facts.options.numerics_runs * table.wall_ns.get((), 0.0) + max(0.0, compiling)


def confirm_cost_ns(keys: tuple[Key, ...], *, pairs: int, facts: Facts, table: Table) -> float:
    """Return the expected cost of that many pairs, one baseline shared by all finalists."""
    costs = (trial_cost_ns(key, facts=facts, table=table, repeat=True) for key in keys)
    half = table.wall_ns.get((), 0.0) + sum(costs)
    return pairs * half


def can_screen(key: Key, *, best: Key, facts: Facts, table: Table, trials: int = 1) -> bool:
    """Whether a trial of `key` (or so many like it), its closing baseline, and then check and least confirmation of the best fit.

    While nothing is known to pay (`best` is empty), also in what is kept for whole programs: these would have nothing to show.
    """
    if facts.options.budget_ns is None:
        return True
    if _never_confirms(facts, table):  # what screening suggests is then all that the budget can bring
        return trials * trial_cost_ns(key, facts=facts, table=table) <= facts.left_ns
    finalist = max((best, key), key=lambda one: trial_cost_ns(one, facts=facts, table=table))
    reserve = confirm_cost_ns((finalist,), pairs=facts.options.looks[0], facts=facts, table=table)
    check = check_cost_ns(finalist, facts=facts, table=table)
    cost = trial_cost_ns(key, facts=facts, table=table) + (table.wall_ns.get((), 0.0) if key else 0.0)
    if trials * cost + check + reserve <= facts.left_ns:
        return True
    pairs = min(FEWEST_PAIRS, facts.options.looks[0])
    least = check + confirm_cost_ns((finalist,), pairs=pairs, facts=facts, table=table)
    return not best and trials * cost + least <= facts.left_to_prove_ns


def budget_that_would_do_ns(facts: Facts, table: Table) -> float:
    """Return about the budget that screens one setting of every treatment, checks and confirms one finalist: a hint, a third too much."""
    baseline = table.wall_ns.get((), 0.0)
    ladders = {proposal.group for proposal in facts.proposals}
    tried = {proposal.group for proposal in facts.proposals if (proposal.name,) in table.runs}
    pairs = 2 * facts.options.looks[0]
    trials = 1.5 * len(ladders - tried) + facts.options.numerics_runs + pairs
    return 4 / 3 * (facts.spent_ns + trials * baseline)


def _never_confirms(facts: Facts, table: Table) -> bool:
    """Whether even a candidate found at once could not be checked and confirmed: trials of this program are too long."""
    baseline = table.wall_ns.get((), 0.0)
    least = 3 + facts.options.numerics_runs + 2 * FEWEST_PAIRS  # two baselines and the candidate first
    return facts.options.budget_ns is not None and least * baseline > facts.options.budget_ns


def too_tight_to_screen(*, candidates: int, facts: Facts, table: Table) -> bool:
    """Whether the budget, less check and confirmation, has not the time of a trial for each candidate."""
    if _never_confirms(facts, table):
        return False
    baseline = table.wall_ns.get((), 0.0)
    reserve = 2 * facts.options.looks[0] * baseline + check_cost_ns(
        (facts.proposals[0].name,), facts=facts, table=table
    )
    return facts.left_ns - reserve < candidates * baseline


def affordable_looks(keys: tuple[Key, ...], *, facts: Facts, table: Table) -> tuple[int, ...]:
    """Return the looks that the rest of the budget pays for: chosen before the first pair, so no level is lost.

    Where not even the first is, one look at as many pairs as there are, at least three; () where that is too dear.
    """
    looks = facts.options.looks
    if facts.options.budget_ns is None:
        return looks
    one = confirm_cost_ns(keys, pairs=1, facts=facts, table=table)
    most = looks[-1] if one <= 0 else int(facts.left_ns / one)
    fitting = tuple(look for look in looks if look <= most)
    if fitting:
        return fitting
    least = min(FEWEST_PAIRS, looks[0])
    if most < least and least * one <= facts.left_to_prove_ns:
        return (least,)
    return (most,) if most >= least else ()
