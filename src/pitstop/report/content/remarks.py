"""What a reader must know of a run before its numbers: it failed, it was ended, it made too few steps."""

import signal

from pitstop.messages import say
from pitstop.records.results import ProfileResult
from pitstop.report import numbers
from pitstop.report.plain import plain

_FEW_STEPS = 8  # fewer say little about the usual step (`pitstop.tune.window.MIN_STEPS`)
_SIGNALLED = 128  # exit codes above are signals, as shells report them


def remarks(result: ProfileResult) -> tuple[str, ...]:
    """Return them as sentences, the gravest first; none for a run that ended well after enough steps."""
    found = []
    if result.program.exit_code:
        found.append(_failed(result))
    if 0 < result.steps.count < _FEW_STEPS:
        found.append(say("report.remark.few_steps", steps=result.steps.count, needed=_FEW_STEPS))
    return tuple(found)


def _failed(result: ProfileResult) -> str:
    program = result.program
    error = plain(program.error or "")
    peak = result.memory.peak_pss_bytes or result.memory.peak_rss_bytes
    memory = numbers.bytes_text(peak) if peak else "?"
    if program.out_of_memory:
        return say("report.remark.out_of_memory", error=error or "-", memory=memory)
    name = _signal_name(program.exit_code)
    if name == "SIGKILL":
        return say("report.remark.killed", memory=memory)
    if name:
        return say("report.remark.signal", name=name)
    if error:
        return say("report.remark.failed", code=program.exit_code, error=error)
    return say("report.remark.exit_code", code=program.exit_code)


def _signal_name(exit_code: int) -> str:
    try:
        return signal.Signals(exit_code - _SIGNALLED).name
    except ValueError:
        return ""
