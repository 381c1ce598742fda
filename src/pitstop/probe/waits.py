"""What the call that a frame is executing does with a device, read off the source text: a blocking read, or a copy to it.

Replacing `Tensor.item` or `Tensor.to` would be exact, but tensor subclasses recognize their methods by identity and would behave
differently. So the sampling thread looks at the text of the call that it finds the main thread in, once per place.
"""

import ast
import functools
import itertools

from .sites import absolute

SYNC = "python/sync"
HOST_TO_DEVICE = "python/host_to_device"
_READS = frozenset(("item", "tolist", "cpu", "numpy", "float", "int", "bool"))
_COPIES = frozenset(("to", "cuda", "copy_", "send_to_device"))


@functools.lru_cache(maxsize=4096)
def what_waits(code, instruction):
    """Return SYNC, HOST_TO_DEVICE or None for a frame of `code` that is at `instruction` (its f_lasti)."""
    position = _position(code, instruction)
    text = _text(code.co_filename, position) if position is not None else None
    try:
        call = ast.parse(text, mode="eval").body if text else None
    except (SyntaxError, ValueError):
        return None
    if not isinstance(call, ast.Call):
        return None
    name = getattr(call.func, "attr", getattr(call.func, "id", None))
    if name in _READS or (name == "to" and any(_is_cpu(value) for value in call.args)):
        return SYNC
    return HOST_TO_DEVICE if name in _COPIES else None


def _is_cpu(value):
    return isinstance(value, ast.Constant) and value.value == "cpu"


def _position(code, instruction):
    """Return (line, end line, column, end column), None before Python 3.11."""
    if not hasattr(code, "co_positions"):
        return None
    position = next(itertools.islice(code.co_positions(), instruction // 2, None), None)
    return None if position is None or None in position else position


def _text(filename, position):
    line, end_line, column, end_column = position
    try:
        with open(absolute(filename), "rb") as file:
            lines = list(itertools.islice(file, line - 1, end_line))
    except OSError:
        return None
    if len(lines) != end_line - line + 1:
        return None
    lines[-1] = lines[-1][:end_column]
    lines[0] = lines[0][column:]
    return b"".join(lines).decode("utf-8", "replace")
