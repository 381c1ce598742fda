"""How large the operations of the training step are: what tells a step that computes from one that dispatches."""

from pitstop.diagnose.rules.contract import Facts
from pitstop.records import BackwardSighting, ForwardSighting

__all__ = ["MUCH_FLOP", "flop_at_least", "largest_backward", "operation_ns"]

MUCH_FLOP = (
    1e9  # in one forward and backward: 10 ms and more on a few processors, far above what calling the operations takes
)
_SMALLEST = (
    32  # by how much a convolutional net usually makes its images smaller, in each direction, until its last layers
)


def largest_backward(facts: Facts) -> BackwardSighting | None:
    """Return the backward with the largest graph; None where no graph was walked."""
    counted = [backward for backward in facts.evidence.backwards if backward.operations]
    return max(counted, key=lambda backward: backward.operations or 0, default=None)


def operation_ns(facts: Facts) -> float | None:
    """Return the mean time of one differentiable operation, forward and backward together; None where it is not known.

    Operations are counted in the first step that a place goes backward, of one micro-step.
    """
    backward = largest_backward(facts)
    if backward is None or not backward.operations or not facts.step_ns:
        return None
    return facts.share("forward", "backward") * facts.step_ns / (backward.operations * max(1, facts.micro_steps))


def flop_at_least(forward: ForwardSighting) -> float:
    """Return a lower bound of the floating point operations of one forward and backward, whatever the machine is doing meanwhile.

    Each parameter is used at least once per sample (two operations forward, four backward), and in a convolution once for each
    pixel of the smallest image.
    """
    shape = max(forward.input_shapes, key=len, default=())
    if not shape:
        return 0.0
    pixels = 1.0
    if forward.num_conv and len(shape) == 4:
        pixels = max(1.0, shape[2] * shape[3] / _SMALLEST**2)
    return 6.0 * forward.num_parameters * shape[0] * pixels
