"""How large the operations of the training step are: what tells a step that computes from one that dispatches."""

from pitstop.diagnose.rules.contract import Facts
from pitstop.records import BackwardSighting

__all__ = ["largest_backward", "operation_ns"]


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
