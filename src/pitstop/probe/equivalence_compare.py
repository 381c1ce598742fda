"""Numbers that say how far two computations of one step are apart. Everything is compared in fp64 on the CPU."""

import math

__all__ = ["apart", "update_apart"]


def apart(losses, gradients, to_losses, to_gradients):
    """Compare one step's losses and gradients with others of the same step.

    Returns `loss` (root mean square of relative differences), `gradient` (relative L2 over everything), `cosine`, `scale` (the part
    along the reference: 1 where the gradient is right on average, however noisy), `largest`
    (largest absolute difference over the largest reference value), `tensors` (relative L2 per tensor; None where the
    reference is zero or absent, 1e9 where only one side has a gradient) and `weights` (each tensor's share of the norm).
    A value that is not finite is None.
    """
    result = {
        "loss": _loss_apart(losses, to_losses),
        "gradient": None,
        "cosine": None,
        "scale": None,
        "largest": None,
        "tensors": [],
        "weights": [],
    }
    if len(gradients) != len(to_gradients):
        return result
    difference = norm = own = dot = largest = greatest = 0.0
    for ours, theirs in zip(gradients, to_gradients):
        if ours is None and theirs is None:
            result["tensors"].append(None)
            result["weights"].append(0.0)
            continue
        one = (ours if ours is not None else theirs * 0).double()
        two = (theirs if theirs is not None else ours * 0).double()
        d, n = (one - two).norm().item() ** 2, two.norm().item() ** 2
        difference, norm, own, dot = (
            difference + d,
            norm + n,
            own + one.norm().item() ** 2,
            dot + (one * two).sum().item(),
        )
        if one.numel():
            largest, greatest = max(largest, (one - two).abs().max().item()), max(greatest, two.abs().max().item())
        result["tensors"].append(_finite(math.sqrt(d / n)) if n > 0 else (None if d == 0 else 1e9))
        result["weights"].append(n)
    result["weights"] = [_finite(math.sqrt(n / norm)) if norm > 0 else 0.0 for n in result["weights"]]
    if norm > 0:
        result["gradient"] = _finite(math.sqrt(difference / norm))
        result["cosine"] = _finite(dot / math.sqrt(norm * own)) if own > 0 else 0.0
        result["scale"] = _finite(dot / norm)
        result["largest"] = _finite(largest / greatest)
    return result


def update_apart(changes, to_changes, weights, eps):
    """Compare what an optimizer did with what it should do: (relative L2, what rounding of the weights alone explains)."""
    difference = norm = size = 0.0
    for one, two, weight in zip(changes, to_changes, weights):
        difference += (one.double() - two.double()).norm().item() ** 2
        norm += two.double().norm().item() ** 2
        size += weight.double().norm().item() ** 2
    if norm == 0:
        return (0.0 if difference == 0 else None), 0.0
    return _finite(math.sqrt(difference / norm)), _finite(eps * (math.sqrt(size / norm) + 1))


def _loss_apart(losses, to_losses):
    if not losses or len(losses) != len(to_losses):
        return None
    squares = [((one - two) / max(abs(two), 1e-12)) ** 2 for one, two in zip(losses, to_losses)]
    return _finite(math.sqrt(sum(squares) / len(squares)))


def _finite(value):
    return value if math.isfinite(value) else None
