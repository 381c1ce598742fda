"""GPUs by NVML: values from a stand-in for the module, and from a real one where there is a GPU."""

from types import SimpleNamespace

import pytest

from pitstop.measure.gpu import open_gpus


class NVMLError(Exception):
    pass


class FakeNvml:
    """`pynvml` as nvidia-ml-py 12 has it, for two GPUs; `refused` names questions that this driver does not answer."""

    NVMLError = NVMLError
    NVML_CLOCK_SM = 1
    NVML_PCIE_UTIL_TX_BYTES, NVML_PCIE_UTIL_RX_BYTES = 0, 1

    def __init__(self, *, count: int = 2, refused: tuple[str, ...] = (), reasons: int = 0x4 | 0x40 | 0x1) -> None:
        self.count, self.refused, self.reasons = count, refused, reasons
        self.closed = False

    def __getattribute__(self, name):
        if name.startswith("nvml") and name in object.__getattribute__(self, "refused"):

            def refuses(*_arguments):
                raise NVMLError("Not Supported")

            return refuses
        return object.__getattribute__(self, name)

    def nvmlInit(self):  # noqa: N802
        pass

    def nvmlShutdown(self):  # noqa: N802
        self.closed = True

    def nvmlDeviceGetCount(self):  # noqa: N802
        return self.count

    def nvmlDeviceGetHandleByIndex(self, index):  # noqa: N802
        return f"handle {index}"

    def nvmlDeviceGetName(self, handle):  # noqa: N802
        return b"NVIDIA H200" if handle == "handle 0" else "NVIDIA L4"

    def nvmlDeviceGetUtilizationRates(self, handle):  # noqa: N802
        return SimpleNamespace(gpu=37 if handle == "handle 0" else 0, memory=5)

    def nvmlDeviceGetMemoryInfo(self, _handle):  # noqa: N802
        return SimpleNamespace(used=3 << 30, total=140 << 30, free=137 << 30)

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, _handle):  # noqa: N802
        return self.reasons

    def nvmlDeviceGetPcieThroughput(self, _handle, direction):  # noqa: N802
        return 2000 if direction == self.NVML_PCIE_UTIL_RX_BYTES else 10

    def nvmlDeviceGetPowerUsage(self, _handle):  # noqa: N802
        return 412_500

    def nvmlDeviceGetClockInfo(self, _handle, kind):  # noqa: N802
        assert kind == self.NVML_CLOCK_SM
        return 1200

    def nvmlDeviceGetMaxClockInfo(self, _handle, _kind):  # noqa: N802
        return 1980


def test_every_gpu_says_what_it_does():
    nvml = FakeNvml()
    reader = open_gpus(lambda name: nvml if name == "pynvml" else None)
    first, second = reader.read(7, with_traffic=True)
    assert (first.index, first.name, first.utilisation) == (0, "NVIDIA H200", 0.37)
    assert (second.index, second.name, second.utilisation) == (1, "NVIDIA L4", 0.0)
    assert (first.used_bytes, first.total_bytes) == (3 << 30, 140 << 30)
    assert (first.clock_mhz, first.most_clock_mhz, first.power_w) == (1200, 1980, 412.5)
    assert first.throttled_by == ("power cap", "thermal (hardware)"), "idle is no reason to be slow"
    assert (first.received_bytes_per_s, first.sent_bytes_per_s) == (2000 * 1024, 10 * 1024)
    assert first.time_ns == 7
    reader.close()
    assert nvml.closed


def test_traffic_is_asked_for_only_when_wanted():
    (first, _second) = open_gpus(lambda _name: FakeNvml(refused=("nvmlDeviceGetPcieThroughput",))).read(1)
    assert (first.received_bytes_per_s, first.sent_bytes_per_s) == (None, None)


def test_what_a_driver_does_not_say_is_not_known():
    refused = (
        "nvmlDeviceGetUtilizationRates",
        "nvmlDeviceGetPowerUsage",
        "nvmlDeviceGetCurrentClocksThrottleReasons",
        "nvmlDeviceGetPcieThroughput",
    )
    (first, _second) = open_gpus(lambda _name: FakeNvml(refused=refused)).read(1, with_traffic=True)
    assert (first.utilisation, first.power_w, first.throttled_by, first.received_bytes_per_s) == (None, None, (), None)
    assert first.clock_mhz == 1200


def test_without_module_driver_or_gpu_there_is_no_reader():
    def missing(_name):
        raise ImportError("No module named 'pynvml'")

    assert open_gpus(missing) is None
    assert open_gpus(lambda _name: FakeNvml(refused=("nvmlInit",))) is None
    assert open_gpus(lambda _name: FakeNvml(count=0)) is None


@pytest.mark.gpu
def test_a_real_gpu_answers():
    pytest.importorskip("pynvml")
    reader = open_gpus()
    assert reader is not None
    first = reader.read(1, with_traffic=True)[0]
    assert first.name
    assert 0 <= first.utilisation <= 1
    assert 0 < first.used_bytes < first.total_bytes
    assert 0 < first.clock_mhz <= first.most_clock_mhz
    reader.close()
