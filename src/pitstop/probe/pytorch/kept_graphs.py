"""Whether results of earlier steps stay alive with the graphs that computed them: `losses.append(loss)`, `total += loss`.

At first only objects are looked at that the garbage collector has not seen grow old, which are few; what is kept now is among them.
Only where these grow from step to step are all objects counted, three times, some 20 ms each: three points tell growth per step
from a list that is filled and emptied again.
"""

import gc

FIRST_STEP, EVERY, TIMES = 40, 4, 4
CONFIRMED_AFTER = (16, 48, 112)  # steps
MAX_CHAIN = 1024
_ADDITION = "AddBackward0"
_LEAST_GROWTH = 0.9  # per step


def install(hooked):
    """Look at the young objects after some steps."""
    watch = _Watch(hooked)
    for time in range(TIMES):
        hooked.clock.after(FIRST_STEP + time * EVERY, watch.look)


class _Watch:
    def __init__(self, hooked):
        self._hooked = hooked
        self._seen = []

    def look(self):
        hooked = self._hooked
        if hooked.session.is_worker:
            return
        self._seen.append(count(hooked.torch, young=True))
        if len(self._seen) < TIMES:
            return
        tensors, chains = zip(*self._seen)
        if _grows(tensors) or _grows(chains):
            young = not _grows(tensors)
            for steps in CONFIRMED_AFTER:
                hooked.clock.after(steps, lambda: _write(hooked, young))


def _grows(counts):
    return all(counts[at + 1] - counts[at] >= _LEAST_GROWTH * EVERY for at in range(len(counts) - 1))


def _write(hooked, young):
    tensors, chain = count(hooked.torch, young=young)
    hooked.session.sightings.write("kept_graphs", step=hooked.clock.steps, tensors=tensors, chain=chain)


def count(torch, *, young):
    """Return how many tensors that operations computed are alive with their graphs, and the longest chain of sums behind a scalar.

    `young`: only among objects of the collector's younger generations.
    """
    kind, tensors, longest = torch.Tensor, 0, 0
    things = [*gc.get_objects(generation=0), *gc.get_objects(generation=1)] if young else gc.get_objects()
    for thing in things:
        if type(thing) is kind and thing.requires_grad and not thing.is_leaf:
            tensors += 1
            if thing.dim() == 0:
                longest = max(longest, _chain(thing.grad_fn))
    return tensors, longest


def _chain(node):
    """Return how many sums stand one behind the other at the end of a graph."""
    length = 0
    while node is not None and length < MAX_CHAIN and type(node).__name__ == _ADDITION:
        length += 1
        sums = [following for following, _number in node.next_functions if type(following).__name__ == _ADDITION]
        node = sums[0] if sums else None
    return length
