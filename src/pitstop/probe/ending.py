"""What the probe says when the program ends: `end.json`."""

import json
import math
import os
import sys

_ERROR_LENGTH = 300  # characters


def write_end(session, reason):
    """Write this process's `EndOfRun`; a process that never saw torch or a step has nothing to say."""
    torch = sys.modules.get("torch")
    if session.clock.steps == 0 and torch is None:
        return
    loss = _loss(session.last_loss)
    end = {
        "reason": reason,
        "steps": session.clock.steps,
        "last_loss": loss if loss is not None and math.isfinite(loss) else None,
        "loss_finite": None if loss is None else math.isfinite(loss),
        "compiles_after_warmup": _after_warmup(session),
        "peak_device_bytes": _peak_device_bytes(torch),
        "device_bytes": _device_bytes(torch),
        "peak_address_bytes": _peak_address_bytes(),
        "error": _error() if reason == "exit" else None,
    }
    end.update(_compile_counters())
    path = os.path.join(session.folder, session.recorder.stem + ".end.json")
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(end, file)
    os.replace(path + ".part", path)


def _error():
    """Return the exception that ended the program, as one line; None where it ended otherwise."""
    value = getattr(sys, "last_value", None)  # set by the interpreter when it printed the traceback
    if value is None:
        return None
    name = type.__dict__["__name__"].__get__(type(value))  # whatever the user's class makes of it
    try:
        text = (str(value).strip().splitlines() or [""])[0]
    except BaseException:  # an exception of the user's that cannot be printed; the program has ended already
        text = ""
    line = (name + (": " + text if text else ""))[:_ERROR_LENGTH]
    return line.encode("utf-8", "backslashreplace").decode("utf-8")


def _loss(tensor):
    return None if tensor is None else float(tensor.double().sum())


def _after_warmup(session):
    before = session.compiles_before_window
    return 0 if before is None else session.compiles - before


def _peak_device_bytes(torch):
    if torch is None or not hasattr(torch, "cuda") or not torch.cuda.is_initialized():
        return None
    return sum(torch.cuda.max_memory_allocated(device) for device in range(torch.cuda.device_count()))


def _device_bytes(torch):
    """Return the memory of the devices that this process used; None where it used none."""
    if torch is None or not hasattr(torch, "cuda") or not torch.cuda.is_initialized():
        return None
    return sum(
        torch.cuda.get_device_properties(device).total_memory
        for device in range(torch.cuda.device_count())
        if torch.cuda.max_memory_allocated(device)
    )


def _peak_address_bytes():
    """Return the largest address space that this process has had, which is what `ulimit -v` limits."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            return next((int(line.split()[1]) * 1024 for line in file if line.startswith("VmPeak:")), None)
    except (OSError, ValueError, IndexError):
        return None


def _compile_counters():
    dynamo = sys.modules.get("torch._dynamo.utils")
    if dynamo is None:
        return {"compiled_graphs": 0, "graph_breaks": 0, "recompiles": 0}
    counters = dynamo.counters
    return {
        "compiled_graphs": int(counters["stats"]["unique_graphs"]) if "stats" in counters else 0,
        "graph_breaks": int(sum(counters["graph_break"].values())) if "graph_break" in counters else 0,
        "recompiles": sum(len(reasons) for reasons in getattr(dynamo, "guard_failures", {}).values()),
    }
