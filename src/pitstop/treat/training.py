"""Which of the forwards seen belong to training, and what the trained modules are called in the source."""

import msgspec

from pitstop.records import Evidence, ForwardSighting, Site

__all__ = ["NamedModule", "named_modules", "training_forwards"]


class NamedModule(msgspec.Struct, frozen=True, kw_only=True):
    """An outermost training module and an expression for it that holds where its optimizer is constructed."""

    expression: str  # "model", "self.net"
    site: Site  # of the optimizer's construction
    forward: ForwardSighting


def training_forwards(evidence: Evidence) -> tuple[ForwardSighting, ...]:
    """Return the forwards that are part of training: gradients on, and in training mode if any such is.

    Modules without parameters (losses) are no models, unless there are no others.
    """
    with_grad = [forward for forward in evidence.forwards if forward.grad_enabled]
    with_grad = [forward for forward in with_grad if forward.num_parameters] or with_grad
    return tuple(forward for forward in with_grad if forward.training) or tuple(with_grad)


def named_modules(evidence: Evidence) -> tuple[NamedModule, ...]:
    """Return one name for each outermost training module that an optimizer's frame knows; the shortest where it has several."""
    found: list[NamedModule] = []
    forwards = {forward.id: forward for forward in training_forwards(evidence)}
    for optimizer in evidence.optimizers:
        for expression in sorted(optimizer.modules, key=lambda name: (len(name), name)):
            forward = forwards.pop(optimizer.modules[expression], None)
            if forward is not None and optimizer.stack:
                found.append(NamedModule(expression=expression, site=optimizer.stack[-1], forward=forward))
    return tuple(found)
