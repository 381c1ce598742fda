"""GPUs through NVML (`nvidia-ml-py`, installed with `pitstop[gpu]`): what each did while the program ran.

NVML's utilisation says how much of the time some kernel ran, not how much of the GPU it filled: 100 % is not busy.
"""

import importlib
from collections.abc import Callable
from typing import Any

from pitstop.records import GpuSample

__all__ = ["GpuReader", "open_gpus"]

# Why clocks are lower than they could be: bits of NVML, those that say "nothing runs" or "so configured" left out.
_THROTTLES = {
    0x0000000000000004: "power cap",
    0x0000000000000008: "hardware slowdown",
    0x0000000000000020: "thermal (software)",
    0x0000000000000040: "thermal (hardware)",
    0x0000000000000080: "power brake",
}


class GpuReader:
    """Reads all GPUs of this machine. `nvml`: the module `pynvml`, initialized."""

    def __init__(self, nvml: Any) -> None:
        self._nvml = nvml
        self._handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
        self._names = [_text(nvml.nvmlDeviceGetName(handle)) for handle in self._handles]

    def read(self, time_ns: int, *, with_traffic: bool = False) -> tuple[GpuSample, ...]:
        """Return one sample per GPU; what one does not support is None. `with_traffic`: PCIe rates too, 20 ms per direction."""
        return tuple(self._read_one(index, time_ns, with_traffic) for index in range(len(self._handles)))

    def close(self) -> None:
        """Give NVML back."""
        self._ask(self._nvml.nvmlShutdown)

    def _read_one(self, index: int, time_ns: int, with_traffic: bool) -> GpuSample:
        nvml, handle = self._nvml, self._handles[index]
        rates = self._ask(nvml.nvmlDeviceGetUtilizationRates, handle)
        memory = self._ask(nvml.nvmlDeviceGetMemoryInfo, handle)
        reasons = self._ask(nvml.nvmlDeviceGetCurrentClocksThrottleReasons, handle) or 0
        directions = (nvml.NVML_PCIE_UTIL_RX_BYTES, nvml.NVML_PCIE_UTIL_TX_BYTES) if with_traffic else ()
        traffic = [self._ask(nvml.nvmlDeviceGetPcieThroughput, handle, direction) for direction in directions]
        received, sent = (*(None if rate is None else rate * 1024 for rate in traffic), None, None)[:2]
        power = self._ask(nvml.nvmlDeviceGetPowerUsage, handle)
        return GpuSample(
            time_ns=time_ns,
            index=index,
            name=self._names[index],
            utilisation=None if rates is None else rates.gpu / 100,
            used_bytes=None if memory is None else int(memory.used),
            total_bytes=None if memory is None else int(memory.total),
            clock_mhz=self._ask(nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_SM),
            most_clock_mhz=self._ask(nvml.nvmlDeviceGetMaxClockInfo, handle, nvml.NVML_CLOCK_SM),
            throttled_by=tuple(name for bit, name in _THROTTLES.items() if reasons & bit),
            received_bytes_per_s=received,
            sent_bytes_per_s=sent,
            power_w=None if power is None else power / 1000,
        )

    def _ask(self, question: Callable[..., Any], *arguments: Any) -> Any:
        """Return the answer, None where this GPU or driver does not give it."""
        try:
            return question(*arguments)
        except self._nvml.NVMLError:
            return None


def open_gpus(load: Callable[[str], Any] = importlib.import_module) -> GpuReader | None:
    """Return a reader of this machine's GPUs; None without `nvidia-ml-py`, without a driver, or without any GPU."""
    try:
        nvml = load("pynvml")
    except ImportError:
        return None
    try:
        nvml.nvmlInit()
        reader = GpuReader(nvml)
    except nvml.NVMLError:
        return None
    return reader if reader.read(0) else None


def _text(name: str | bytes) -> str:
    return name.decode(errors="replace") if isinstance(name, bytes) else name
