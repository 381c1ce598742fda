"""Whether results of earlier steps stay alive with the graphs that computed them: `losses.append(loss)`, `total += loss`.

Counted by walking over Python's objects three times in a run, some 20 ms each: three points tell growth per step from a list that
is filled and emptied again.
"""

import gc

AT_STEPS = (48, 96, 192)
MAX_CHAIN = 1024
_ADDITION = "AddBackward0"


def install(hooked):
    """Count after those steps."""
    for step in AT_STEPS:
        hooked.clock.after(step, lambda: _look(hooked))


def _look(hooked):
    if hooked.session.is_worker:
        return
    tensors, chain = count(hooked.torch)
    hooked.session.sightings.write("kept_graphs", step=hooked.clock.steps, tensors=tensors, chain=chain)


def count(torch):
    """Return how many tensors that operations computed are alive with their graphs, and the longest chain of sums behind a scalar."""
    kind, tensors, longest = torch.Tensor, 0, 0
    for thing in gc.get_objects():
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
        inputs = [following for following, _number in node.next_functions]
        sums = [following for following in inputs if type(following).__name__ == _ADDITION]
        node = sums[0] if sums else None
    return length
