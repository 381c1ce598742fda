"""Backward passes: `torch.autograd.backward`, which `Tensor.backward` calls through the module, so one patch sees each once.

And `torch.autograd.grad`, through which `torch.func` goes too: it paces the programs that write their updates by hand.
"""

import functools
import time
from _thread import get_ident

from ..recorder import BACKWARD, GRADIENTS
from ..step_clock import GRADIENT_CALL
from .graph_size import graph_size
from .hooked import BACKWARD_RUNS


def install(hooked):
    """Patch both. Nested calls (re-entrant checkpointing) belong to the outer one."""
    _watch_backward(hooked)
    _watch_grad(hooked)


def _watch_backward(hooked):
    original = hooked.torch.autograd.backward
    now, busy, clock, looking = time.monotonic_ns, hooked.busy, hooked.clock, hooked.looking
    is_compiling, look, record, session = hooked.is_compiling, _make_look(hooked), hooked.record, hooked.session
    reductions = hooked.reductions
    tensor_class, device = hooked.torch.Tensor, hooked.device
    hooked.own(look, deep=True)

    @functools.wraps(original)
    def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, *args, **kwargs):
        ident = get_ident()
        if is_compiling() or BACKWARD_RUNS in busy:
            return original(tensors, grad_tensors, retain_graph, create_graph, *args, **kwargs)
        if looking.open:
            look(tensors, retain_graph, create_graph)
        was_busy = ident in busy
        busy.add(ident)
        busy.add(BACKWARD_RUNS)
        begun = device.begin() if device.on else None
        start_ns = now()
        try:
            result = original(tensors, grad_tensors, retain_graph, create_graph, *args, **kwargs)
        finally:
            busy.discard(BACKWARD_RUNS)
            if not was_busy:
                busy.discard(ident)
        end_ns = now()
        record(BACKWARD, 0, start_ns, end_ns)
        if begun is not None:
            device.end(begun, BACKWARD, start_ns, end_ns)
        if reductions.seen:
            reductions.after(start_ns, end_ns)
        try:
            if not isinstance(tensors, tensor_class) and len(tensors) == 1:
                tensors = tensors[0]
            if isinstance(tensors, tensor_class):
                session.last_loss = tensors.detach()
        except Exception as error:
            session.fault("backward", error)
        clock.tick(BACKWARD)
        return result

    hooked.switched.patch(hooked.torch.autograd, "backward", hooked.own(backward, "backward"))


def _watch_grad(hooked):
    original = hooked.torch.autograd.grad
    now, busy, clock, is_compiling = time.monotonic_ns, hooked.busy, hooked.clock, hooked.is_compiling
    record, keep, device = hooked.record, _make_keep(hooked), hooked.device
    hooked.own(keep, deep=True)

    @functools.wraps(original)
    def grad(outputs, *args, **kwargs):
        ident = get_ident()
        if is_compiling() or ident in busy or BACKWARD_RUNS in busy:  # a forward that computes a force: part of it
            return original(outputs, *args, **kwargs)
        busy.add(ident)
        busy.add(BACKWARD_RUNS)
        begun = device.begin() if device.on else None
        start_ns = now()
        try:
            result = original(outputs, *args, **kwargs)
        finally:
            busy.discard(BACKWARD_RUNS)
            busy.discard(ident)
        end_ns = now()
        record(BACKWARD, GRADIENTS, start_ns, end_ns)
        if begun is not None:
            device.end(begun, BACKWARD, start_ns, end_ns)
        if clock.is_outranked(GRADIENT_CALL):
            return result
        keep(outputs)
        clock.tick(GRADIENT_CALL)
        return result

    hooked.switched.patch(hooked.torch.autograd, "grad", hooked.own(grad, "backward"))


def _make_keep(hooked):
    """Return what keeps the outputs as the last loss, where gradients by hand may be what trains."""
    session, tensor_class, environment = hooked.session, hooked.torch.Tensor, hooked.environment
    functorch = getattr(hooked.torch._C, "_functorch", None)
    is_wrapped = getattr(functorch, "is_functorch_wrapped_tensor", None)

    def keep(outputs):
        try:
            environment.used()
            loss = outputs[0] if isinstance(outputs, (list, tuple)) and len(outputs) == 1 else outputs
            if isinstance(loss, tensor_class) and is_wrapped is not None and not is_wrapped(loss):
                session.last_loss = loss.detach()
        except Exception as error:
            session.fault("autograd.grad", error)

    return keep


def _make_look(hooked):
    session, looking, environment = hooked.session, hooked.looking, hooked.environment
    seen = [0]

    def look(tensors, retain_graph, create_graph):
        try:
            environment.used()  # a program of plain functions and tensors makes no module, optimizer or loader before
            if looking.is_new("backward"):
                seen[0] += 1
                keeps = bool(create_graph if retain_graph is None else retain_graph)
                loss = tensors[0] if isinstance(tensors, (list, tuple)) and len(tensors) == 1 else tensors
                operations, parameters = graph_size(loss)
                session.sightings.write(
                    "backward",
                    id=seen[0],
                    stack=looking.stack(),
                    create_graph=bool(create_graph),
                    retain_graph=keeps,
                    operations=operations,
                    parameters=parameters,
                    library=looking.library(),
                )
        except Exception as error:
            session.fault("look at backward", error)

    return look
