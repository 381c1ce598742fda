"""Where in the user's source: frames to the `Site` values of `pitstop.records.evidence`, user frames only."""

import itertools
import os
import sys

from .processes import command_line, what_runs

MAX_STACK = 24

_PROBE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_SCRIPTS = os.path.join(sys.prefix, "bin") + os.sep
_PARTS = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)
_START = os.getcwd() if os.path.isdir(".") else os.sep
_users: dict = {}


def absolute(filename):
    """Return the path that `filename` of a code object meant when the program started."""
    return os.path.normpath(os.path.join(_START, filename))


def is_users(filename):
    """Tell whether code of that file is the user's: neither library nor probe nor generated; the code of `python -c` is the user's."""
    known = _users.get(filename)
    if known is None:
        known = _users[filename] = _is_users(filename)
    return known


def _is_users(filename):
    if filename == "<string>":  # elsewhere it is generated, as a dataclass's `__init__` is
        return what_runs(command_line())[0] == "code"
    if filename.startswith("<"):
        return False
    path = absolute(filename)
    return not (path.startswith((_PROBE, _LIBRARY, _SCRIPTS)) or any(part in path for part in _PARTS))


def user_frame(frame):
    """Return the innermost frame of the user at or outside `frame`, or None."""
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def library(frame):
    """Return the package whose code the innermost user frame called, on the way to `frame`; None for torch itself or the standard library."""
    found = None
    while frame is not None and not is_users(frame.f_code.co_filename):
        path = frame.f_code.co_filename
        if not path.startswith(_PROBE) and any(part in path for part in _PARTS):
            package = str(frame.f_globals.get("__name__")).partition(".")[0]
            if package != "torch":
                found = package
        frame = frame.f_back
    return found


def site(frame):
    """Return the place that `frame` is executing, as the fields of a `Site`."""
    code = frame.f_code
    line, end_line, column, end_column = frame.f_lineno, None, None, None
    if hasattr(code, "co_positions"):  # from Python 3.11
        position = next(itertools.islice(code.co_positions(), frame.f_lasti // 2, None), None)
        if position is not None and position[0] is not None:
            line, end_line, column, end_column = position
    return {
        "path": code.co_filename if code.co_filename.startswith("<") else absolute(code.co_filename),
        "line": line or code.co_firstlineno,
        "end_line": end_line,
        "column": column,
        "end_column": end_column,
        "function": getattr(code, "co_qualname", code.co_name),
        "frame": id(frame),
    }


def stack(frame):
    """Return the user's frames from the outermost to the one nearest to `frame`, as `Site` fields."""
    sites = []
    frame = user_frame(frame)
    while frame is not None:
        sites.append(site(frame))
        frame = user_frame(frame.f_back)
    sites.reverse()
    return sites[-MAX_STACK:]
