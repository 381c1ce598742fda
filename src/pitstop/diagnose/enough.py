"""Whether a run is long enough to say what share of its time something takes."""

from pitstop.records import Ledger

__all__ = ["LEAST_STEPS", "LEAST_WALL_NS", "is_enough"]

# Where another program gets the processor for one slice (up to 4 ms: one tick of a kernel with 250 Hz), that slice must not be what a rule
# fires on. The smallest share that any does is 5 %; 4 ms are 4 % of 100 ms.
LEAST_WALL_NS = 100_000_000
# Among five steps two may be unusual, and the others still are most of them.
LEAST_STEPS = 5


def is_enough(ledger: Ledger) -> bool:
    """Tell whether shares of the steady time in `ledger` can be relied on."""
    return ledger.wall_ns >= LEAST_WALL_NS and ledger.steps >= LEAST_STEPS
