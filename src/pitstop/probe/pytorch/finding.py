"""What stands in for `Module.__call__` while outermost modules are searched.

It reads module globals, not a closure: dynamo guards the closure of a `__call__` that it had to trace (a submodule with forward
hooks), and taking the patch away would then be a recompile in the middle of training.
"""

from _thread import get_ident
from typing import Any

from .hooked import BACKWARD_RUNS

_original: Any = None
_is_compiling: Any = None
_busy: Any = None
_found: Any = None


def connect(original, hooked, found):
    """Set what `call_module` works with: the real `__call__`, and whom to tell of a call while no other is active."""
    global _original, _is_compiling, _busy, _found
    _original, _is_compiling, _busy, _found = original, hooked.is_compiling, hooked.busy, found


def call_module(self, *args, **kwargs):
    """Run the real call; tell of `self` first where no other module is being called in this thread."""
    if _is_compiling() or get_ident() in _busy or BACKWARD_RUNS in _busy:
        return _original(self, *args, **kwargs)
    _found(self)
    return _original(self, *args, **kwargs)
