"""All treatments, in the order in which their edits are written. A new one is one file and one line here."""

from pitstop.treat.allocator_preload import AllocatorPreload
from pitstop.treat.anomaly_off import AnomalyOff
from pitstop.treat.batched_indexing import BatchedIndexing
from pitstop.treat.bf16_autocast import Bf16Autocast
from pitstop.treat.bf16_matmul import Bf16Matmul
from pitstop.treat.channels_last import ChannelsLast
from pitstop.treat.compile_model import Compile
from pitstop.treat.contract import Treatment
from pitstop.treat.cudnn_benchmark import CudnnBenchmark
from pitstop.treat.expandable_segments import ExpandableSegments
from pitstop.treat.flush_denormal import FlushDenormal
from pitstop.treat.foreach_optimizer import ForeachOptimizer
from pitstop.treat.fp16_scaler import Fp16Scaler
from pitstop.treat.fused_optimizer import FusedOptimizer
from pitstop.treat.gc_freeze import GcFreeze
from pitstop.treat.loader_workers import LoaderWorkers
from pitstop.treat.malloc_reuse import MallocReuse
from pitstop.treat.needless_calls import EmptyCacheOff, GcCollectOff
from pitstop.treat.non_blocking import NonBlocking
from pitstop.treat.pin_memory import PinMemory
from pitstop.treat.tf32 import Tf32
from pitstop.treat.threads import Threads

__all__ = ["TREATMENTS", "treatment_named"]

TREATMENTS: tuple[Treatment, ...] = (
    BatchedIndexing(),
    LoaderWorkers(),
    PinMemory(),
    NonBlocking(),
    Bf16Autocast(),
    Fp16Scaler(),
    Compile(),
    ChannelsLast(),
    FusedOptimizer(),
    ForeachOptimizer(),
    Threads(),
    MallocReuse(),
    AnomalyOff(),
    GcFreeze(),
    GcCollectOff(),
    EmptyCacheOff(),
    FlushDenormal(),
    Tf32(),
    Bf16Matmul(),
    CudnnBenchmark(),
    ExpandableSegments(),
    AllocatorPreload(),
)


def treatment_named(name: str) -> Treatment:
    """Return the treatment registered as `name`; KeyError lists the known names."""
    for treatment in TREATMENTS:
        if treatment.name == name:
            return treatment
    raise KeyError(f"treatment {name!r} is not one of {', '.join(treatment.name for treatment in TREATMENTS)}")
