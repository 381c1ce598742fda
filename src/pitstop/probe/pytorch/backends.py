"""Settings of torch's backends and of the processor that decide how fast the same program computes."""

import sys

# CPU features for which torch has faster kernels in lower precision, as /proc/cpuinfo names them.
_FLAGS = ("avx512_bf16", "amx_bf16", "avx512_fp16", "amx_int8", "avx512_vnni", "bf16")


def describe(torch):
    """Return those fields of an `EnvironmentSighting` that say how torch computes; asks nothing that would begin a device."""
    backends = torch.backends
    return {
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "cudnn_benchmark": _ask(lambda: bool(backends.cudnn.benchmark)),
        "cudnn_deterministic": _ask(lambda: bool(backends.cudnn.deterministic)),
        "allow_tf32": _ask(lambda: bool(backends.cuda.matmul.allow_tf32)),
        "matmul_precision": _ask(torch.get_float32_matmul_precision),
        "flushes_denormals": flushes_denormals(),
        "cpu_flags": _cpu_flags(),
    }


def flushes_denormals():
    """Tell whether this thread's processor takes numbers below the least normal one for zero (torch.set_flush_denormal)."""
    least, two = sys.float_info.min, float(len("ab"))  # not a constant: the compiler would divide by itself
    return least / two == 0.0


def _ask(question):
    """Return the answer, None where this version of torch does not give it: some settings exclude each other since 2.9."""
    try:
        return question()
    except (
        Exception
    ):  # RuntimeError where old and new ways of setting a precision are mixed, AttributeError before they existed
        return None


def _cpu_flags():
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            line = next((line for line in file if line.startswith(("flags", "Features"))), "")
    except OSError:
        return []
    return sorted(set(_FLAGS).intersection(line.partition(":")[2].split()))
