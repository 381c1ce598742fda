"""Counts steps while the program runs, to say when to stop, when to look closer and when to stop looking.

What ends a step, in falling rank: `pitstop.step()`, the step of the first optimizer that stepped and of those that succeed it, a
backward, a call of `torch.autograd.grad`, an outermost forward, a fetch. `pitstop.diagnose.steps` decides the same from the events
afterwards, knowing the whole run.
"""

import time

from .recorder import BACKWARD, FETCH, FORWARD, OPTIMIZER, STEP

GRADIENT_CALL = (
    256  # of the clock alone: a BACKWARD that gave its gradients to the caller, who may do anything with them
)
_RANK = {STEP: 6, OPTIMIZER: 5, BACKWARD: 4, GRADIENT_CALL: 3, FORWARD: 2, FETCH: 1}
_NEVER = 1 << 62
# A lower clock may end the program only after so many events without a higher one: data statistics, a sanity check of
# the validation loop or gradient accumulation may come before the first optimizer step.
_SETTLED = {STEP: 1, OPTIMIZER: 1, BACKWARD: 16, GRADIENT_CALL: 16, FORWARD: 32, FETCH: 64}
# An optimizer exists but has not stepped in so many events of a lower clock: it is not what paces this program.
_EXPECTED_SETTLED = 256
# Another optimizer leads from here on when it has stepped so often since the leader's last step (a training in phases), or
# once where the leader is gone (one optimizer per fold or restart).
_SUCCEEDS = 16


class StepClock:
    """`tick(kind)` is the hot path: one addition and one comparison, everything else at numbers known beforehand."""

    def __init__(self, *, on_stop, on_fault, stop_after=None, stop_after_ns=None, stop_min_steps=0):
        self._stop_after = stop_after
        self._stop_after_ns = stop_after_ns  # since the first step ended
        self._stop_min_steps = stop_min_steps
        self._on_stop = on_stop
        self._on_fault = on_fault
        self.is_alive = lambda _number: True  # whether the optimizer of this number exists
        self.together = lambda _count, due: due  # (count, own time is over) -> end here; ranks agree on it
        self.reset()

    def reset(self):
        """Begin at zero, as in a forked child."""
        self.leader = None  # optimizer whose steps count
        self._heir = (
            None  # (leader's steps when this optimizer was the first to step after them, its number, its steps since)
        )
        self.leading = None  # the kind that ends steps so far
        self._expects_optimizer = False
        self._counts = dict.fromkeys(_RANK, 0)
        self._watch = dict.fromkeys(_RANK, 1)  # per kind: the count at which to look
        self._due = []  # (step, callback)
        self._first_ns = None  # when the first step ended

    @property
    def steps(self):
        """Steps so far by the leading clock."""
        return self._counts[self.leading] if self.leading is not None else 0

    def expect_optimizer(self):
        """Take in that an optimizer was made: lower clocks do not pace this program, unless it never steps."""
        self._expects_optimizer = True

    def is_outranked(self, kind):
        """Tell whether events of this kind cannot end steps any more, or are not expected to."""
        if self.leading is not None and _RANK[self.leading] > _RANK[kind]:
            return True
        return self._expects_optimizer and _RANK[kind] < _RANK[OPTIMIZER] and self._counts[kind] < _EXPECTED_SETTLED

    def after(self, steps, callback):
        """Call `callback()` once so many further steps have ended."""
        self._due.append((self.steps + steps, callback))
        self._look_again()

    def at_next_step(self, callback, steps=1):
        """Call `callback()` when the next step (the next `steps` ones) has ended; asking twice calls once."""
        if not any(known == callback for _step, known in self._due):
            self.after(steps, callback)

    def tick(self, kind):
        """One event of `kind` has ended."""
        count = self._counts[kind] = self._counts[kind] + 1
        if count >= self._watch[kind]:
            self._reached(kind, count)

    def until_look(self, kind):
        """Return after how many further events of `kind` something is due; at least 1."""
        return max(1, self._watch[kind] - self._counts[kind])

    def skip(self, kind, many):
        """Take in events after none of which something is due."""
        self._counts[kind] += many

    def optimizer(self, number):
        """Optimizer `number` has stepped."""
        if number == self.leader:
            self.tick(OPTIMIZER)
        elif self.leader is None:
            self.leader = number
            self.tick(OPTIMIZER)
        else:
            self._other(number)

    def _other(self, number):
        """Another optimizer than the leader has stepped; its steps since the leader's last count once it succeeds it."""
        count = self._counts[OPTIMIZER]
        since, heir, steps = self._heir or (None, None, 0)
        if since != count:
            heir, steps = number, 0
        elif number != heir:
            return
        steps += 1
        self._heir = (count, heir, steps)
        if steps >= _SUCCEEDS or not self.is_alive(self.leader):
            self.leader, self._heir = number, None
            self.skip(OPTIMIZER, steps - 1)
            self.tick(OPTIMIZER)

    def _reached(self, kind, count):
        if self.leading is None or _RANK[kind] > _RANK[self.leading]:
            if self.leading is not None:
                # What is due after so many further steps is so by the new count too.
                shift = count - self._counts[self.leading]
                self._due[:] = [(step + shift, callback) for step, callback in self._due]
            self.leading = kind
        if kind != self.leading:
            self._watch[kind] = _NEVER
            return
        for item in [item for item in self._due if item[0] <= count]:
            try:
                self._due.remove(item)  # one by one: another thread may be adding
            except ValueError:  # or has just done this one
                continue
            try:
                item[1]()
            except Exception as error:
                self._on_fault("step clock", error)
        if self._is_over(kind, count):
            self._on_stop()
        looks = [step for step, _callback in self._due]
        if self._stop_after is not None:
            looks.append(self._least(kind, self._stop_after))
        if self._stop_after_ns is not None:
            looks.append(self._least(kind, self._stop_min_steps))
        self._watch[kind] = max(count + 1, min(looks, default=_NEVER))

    def _is_over(self, kind, count):
        if self._stop_after is not None and count >= self._least(kind, self._stop_after):
            return True
        if self._stop_after_ns is None:
            return False
        now_ns = time.monotonic_ns()
        if self._first_ns is None:
            self._first_ns = now_ns
        due = now_ns - self._first_ns >= self._stop_after_ns and count >= self._least(kind, self._stop_min_steps)
        return self.together(count, due)

    def _least(self, kind, steps):
        """Return the count of `kind` that stands for so many steps, or for certainty that nothing higher ends steps."""
        settled = _SETTLED[kind]
        if self._expects_optimizer and _RANK[kind] < _RANK[OPTIMIZER]:
            settled = _EXPECTED_SETTLED
        return max(steps, settled)

    def _look_again(self):
        for kind, rank in _RANK.items():
            if self.leading is None or rank >= _RANK[self.leading]:
                self._watch[kind] = min(self._watch[kind], self._counts[kind] + 1)
