"""Where equivalence mode looks into torch: loader fetches, backward, optimizer steps. Each calls one method of the session.

A fault of ours is caught here, kept in `session.faults`, and ends our part: the program goes on as if unwatched.
"""

import collections
import functools
import os
import sys
import weakref
from _thread import get_ident
from typing import Any

__all__ = ["install"]


def install(torch, session):
    """Patch the loader's iterator and backward, and register global optimizer hooks."""
    _watch_loaders(session)
    _watch_backward(torch, session)
    _watch_calls(torch, session)
    _watch_scalers(torch, session)
    from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

    register_optimizer_step_pre_hook(_guarded(session, "optimizer", session.before_optimizer))
    register_optimizer_step_post_hook(_guarded(session, "optimizer", session.after_optimizer))


def _guarded(session, where, method):
    """Call `method`, and on our own error note it and stop watching; never in a forked worker."""

    def call(*args):
        if session.over or session.pid != os.getpid():
            return None
        try:
            return method(*args)
        except Exception as error:
            session.fault(where, error)
            return None

    return call


def _watch_backward(torch, session):
    real = torch.autograd.backward
    noticed = _guarded(session, "backward", session.on_backward)
    ended = _guarded(session, "backward", session.after_backward)

    @functools.wraps(real)
    def backward(tensors, *args, **kwargs):
        if torch.compiler.is_compiling():
            return real(tensors, *args, **kwargs)
        noticed(tensors)
        answer = real(tensors, *args, **kwargs)
        ended()
        return answer

    torch.autograd.backward = backward


def _watch_calls(torch, session):
    """Notice calls of modules from outside of all modules: what they are given is used now, and an update by hand is over."""
    global _real_call, _is_compiling, _on_call
    _real_call, _is_compiling = torch.nn.Module.__call__, torch.compiler.is_compiling
    _on_call = _guarded(session, "forward", session.on_call)
    torch.nn.Module.__call__ = functools.update_wrapper(_call_module, _real_call)
    for name in _KNOWS_CALL:  # dynamo takes it for the real thing then, and does not trace it
        module: Any = sys.modules.get(name)
        if module is not None and getattr(module, "unpatched_nn_module_call", None) is _real_call:
            module.unpatched_nn_module_call = _call_module


_KNOWS_CALL = ("torch._dynamo.utils", "torch._dynamo.variables.nn_module")
_real_call: Any = None
_is_compiling: Any = None
_on_call: Any = None
_calling: Any = set()  # threads that are inside of a module


def _call_module(self, *args, **kwargs):
    """Run the real call; what stands in for `Module.__call__` reads globals, since dynamo guards the closures that it traces."""
    ident = get_ident()
    if _is_compiling() or ident in _calling:
        return _real_call(self, *args, **kwargs)
    _calling.add(ident)
    try:
        answer = _on_call(args, kwargs)
        if answer is not None:
            args, kwargs = answer
        return _real_call(self, *args, **kwargs)
    finally:
        _calling.discard(ident)


def _watch_scalers(torch, session):
    """Notice losses that a GradScaler has scaled: they are compared as they were before."""
    kind = getattr(getattr(torch, "amp", None), "GradScaler", None) or torch.cuda.amp.GradScaler
    real = kind.scale
    noticed = _guarded(session, "scaler", session.on_scaled)

    @functools.wraps(real)
    def scale(self, outputs):
        scaled = real(self, outputs)
        if scaled is not outputs and isinstance(scaled, torch.Tensor):
            noticed(scaled, self)
        return scaled

    kind.scale = scale


def _watch_loaders(session):
    from torch.utils.data import dataloader

    loader_class, iterator_class = dataloader.DataLoader, dataloader._BaseDataLoaderIter
    real_iter, real_next = loader_class.__iter__, iterator_class.__next__
    real_index, real_reset = iterator_class._next_index, iterator_class._reset
    loaders: Any = weakref.WeakKeyDictionary()  # iterator -> loader
    asked: Any = weakref.WeakKeyDictionary()  # iterator -> sample ids asked for and not yet delivered
    fetched = _guarded(session, "loader", session.on_fetch)
    started = _guarded(session, "loader", session.on_epoch_start)
    ended = _guarded(session, "loader", session.on_epoch_end)

    def iterate(self):
        iterator = real_iter(self)
        if session.pid == os.getpid():
            loaders[iterator] = self
            started(self)
        return iterator

    def reset(self, *args, **kwargs):
        asked[self] = collections.deque()
        return real_reset(self, *args, **kwargs)

    def next_index(self):
        index = real_index(self)
        asked.setdefault(self, collections.deque()).append(index)
        return index

    def next_batch(self):
        session.pause_modes()
        try:
            batch = real_next(self)
        except StopIteration:
            if self in loaders:
                ended(loaders[self])
            raise
        finally:
            session.resume_modes()
        if self not in loaders or session.over or session.pid != os.getpid():
            return batch
        queue = asked.get(self)
        answer = fetched(loaders[self], batch, queue.popleft() if queue else None)
        return batch if answer is None else answer[0]

    loader_class.__iter__, iterator_class._reset = iterate, reset
    iterator_class._next_index, iterator_class.__next__ = next_index, next_batch
