"""How long a timing trial runs: from which step to which, so that periodic costs are in it and prefetch does not flatter.

Whole epochs where they fit (then validation, checkpoints and worker start-up are paid in the window as often as in
reality); else the steady part only, and the verdict says so.
"""

import msgspec

__all__ = ["MIN_STEPS", "Window", "plan_window"]

# A window is long enough against what workers had ready at its start (traps.md, "Prefetch flatters short windows").
_WINDOW_PER_DISCARDED = 10
_MIN_STEADY_STEPS = 30
_MIN_DISCARD = 8
# Slow steps: the window is not made longer than this for the sake of its number of steps, and has at least so many. What workers
# have ready then flatters by up to its share of the window; the end-to-end measurement is there to tell.
_LONGEST = 3.0
_LONGEST_NS = 10e9
_FEWEST_SLOW_STEPS = 12
_FEWEST_WHOLE_STEPS = 3  # of epochs that are one step or two
# Fewer steps than this say nothing about the program's speed.
MIN_STEPS = 8
# Epochs longer than this multiple of the wanted window are not run whole.
_LONGEST_EPOCH = 2.0
_INSIDE_EPOCH = 2


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """Measure the wall time from the end of step `first` - 1 to the end of step `first + steps - 1`."""

    first: int
    steps: int
    whole_epochs: bool

    @property
    def stop_after(self) -> int:
        """Steps that a trial runs."""
        return self.first + self.steps


def plan_window(
    *,
    step_ns: float,
    steps_per_epoch: int | None,
    available_steps: int | None,
    wanted_ns: float,
    prefetched_steps: int = _MIN_DISCARD,
) -> Window | None:
    """Return the window for timing trials, or None where the program ends after too few steps to tell anything.

    `step_ns`: mean wall time of a steady step; `available_steps`: the program's own end if it is known to be near;
    `wanted_ns`: how long the window should about be; `prefetched_steps`: the most batches that workers can have ready.
    """
    if available_steps is not None and available_steps < MIN_STEPS:
        return None
    limit = available_steps if available_steps is not None else 1 << 62
    if steps_per_epoch and step_ns * steps_per_epoch <= _LONGEST_EPOCH * wanted_ns:
        # Slow steps need few to warm up, and a few in the window however short it was wanted.
        affordable = max(_FEWEST_WHOLE_STEPS, round(wanted_ns / step_ns))
        epochs = max(1, round(wanted_ns / (step_ns * steps_per_epoch)), -(-_FEWEST_WHOLE_STEPS // steps_per_epoch))
        # The warm-up is whole epochs too, long enough for what compiles in the first training and evaluation passes.
        warm = max(1, -(-min(MIN_STEPS, affordable) // steps_per_epoch))
        # The window starts a little inside an epoch: the first evaluation and what it compiles stay in the warm-up.
        inside = min(_INSIDE_EPOCH, steps_per_epoch - 1)
        epochs = min(epochs, (limit - inside) // steps_per_epoch - warm)
        if epochs >= 1:
            return Window(first=warm * steps_per_epoch + inside, steps=epochs * steps_per_epoch, whole_epochs=True)
    wanted = max(_MIN_STEADY_STEPS, round(wanted_ns / step_ns), _WINDOW_PER_DISCARDED * prefetched_steps)
    affordable = max(_FEWEST_SLOW_STEPS, round(max(_LONGEST * wanted_ns, _LONGEST_NS) / step_ns))
    discard = max(_MIN_DISCARD, prefetched_steps)
    if affordable < wanted:
        wanted, discard = affordable, min(discard, affordable // 3)
    if discard + wanted > limit:
        discard = min(discard, limit // 4)
        wanted = limit - discard
    return Window(first=discard, steps=wanted, whole_epochs=False)
