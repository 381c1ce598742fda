"""How many operations a loss was computed with, from autograd's graph: one node for each differentiable operation."""

MAX_NODES = 20_000  # a walk takes about 1 us per node; it is done once per place that calls backward


def graph_size(loss):
    """Return (operations, parameter tensors) that lie behind `loss`; (None, None) for what has no graph or one too large."""
    root = getattr(loss, "grad_fn", None)
    if root is None:
        return None, None
    seen, waiting, leaves = {root}, [root], 0
    while waiting:
        node = waiting.pop()
        if type(node).__name__ == "AccumulateGrad":
            leaves += 1
        for following, _number in node.next_functions:
            if following is not None and following not in seen:
                if len(seen) >= MAX_NODES:
                    return None, None
                seen.add(following)
                waiting.append(following)
    return len(seen) - leaves, leaves
