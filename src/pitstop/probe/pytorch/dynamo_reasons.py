"""Why torch.compile broke graphs and compiled again, read from dynamo's own records when the program ends."""

import sys

MAX_PLACES = 32
_LENGTH = 200  # characters
_SAYS_LITTLE = {"generic_jump": "data-dependent branching: an `if` or loop asks a tensor for its value"}


def install(hooked):
    """Read them before the last events are written; a program that never compiled has none."""
    hooked.session.ending.append(lambda: _write(hooked.session.sightings))


def _write(sightings):
    utils = sys.modules.get("torch._dynamo.utils")
    if utils is None:
        return
    for number, (place, entry) in enumerate(list(_breaks(utils).items())[:MAX_PLACES], start=1):
        sightings.write("graph_break", id=number, stack=[place_of(*place)], reason=entry[0], count=entry[1])
    failures = list(getattr(utils, "guard_failures", {}).items())
    for number, (code, reasons) in enumerate(failures[:MAX_PLACES], start=1):
        site = place_of(code.co_filename, code.co_firstlineno, code.co_name)
        sightings.write(
            "recompile", id=number, stack=[site], reason=_first_line(reasons[-1] if reasons else ""), count=len(reasons)
        )


def _breaks(utils):
    """Return {(file, line, function): [reason, times]} in the order of the first break."""
    found: dict = {}
    for seen in list(getattr(utils, "graph_break_reasons", ())):
        frames = list(getattr(seen, "user_stack", None) or ())
        if frames:
            frame = frames[-1]
            key = (frame.filename, frame.lineno, frame.name)
            found.setdefault(key, [_first_line(seen.reason), 0])[1] += 1
    return found


def place_of(path, line, function):
    """Return a place as the fields of a `Site`."""
    return {"path": path, "line": line or 1, "function": function}


def _first_line(reason):
    lines = str(reason).strip().splitlines() or [""]
    line = lines[0].split("  #", 1)[0].strip()
    for beginning, words in _SAYS_LITTLE.items():
        if line.startswith(beginning):
            return words
    return line[:_LENGTH]
