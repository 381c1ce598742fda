"""What the training modules run on, and whether their inputs kept one shape."""

from collections import defaultdict

from pitstop.treat.contract import View
from pitstop.treat.training import training_forwards

__all__ = ["capability", "on_cuda", "shapes_vary"]


def on_cuda(view: View) -> bool:
    """Say whether a training module runs on a CUDA device."""
    return any(forward.device.startswith("cuda") for forward in training_forwards(view.evidence))


def capability(view: View) -> tuple[int, int] | None:
    """Return the least compute capability of the devices that the program sees, (8, 0) for an A100; None where it is not known."""
    environment = view.evidence.environment
    found = environment.device_capabilities if environment is not None else ()
    return min(((major, minor) for major, minor in found), default=None)


def shapes_vary(view: View) -> bool:
    """Say whether one training module was seen with inputs of several shapes, the number of samples apart."""
    shapes: defaultdict[int, set[tuple[tuple[int, ...], ...]]] = defaultdict(set)
    for forward in training_forwards(view.evidence):
        shapes[forward.id].add(tuple(shape[1:] for shape in forward.input_shapes))
    return any(len(seen) > 1 for seen in shapes.values())
