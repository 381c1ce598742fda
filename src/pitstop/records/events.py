"""What the probe writes, as values: timed events and the kinds of them.

The binary layout is the probe's (`pitstop.probe.recorder`); `pitstop.measure.events` reads it. The numbers
here and there are the same by test.
"""

from enum import IntEnum

import msgspec

__all__ = ["GRADIENTS", "Event", "EventKind", "Mark"]


class EventKind(IntEnum):
    """What one record of the event file says. `arg` and `value` mean what the comment says, else 0."""

    FETCH = 1  # one batch asked of a loader's iterator in the main process; arg = loader id, value = samples in it
    FORWARD = 2  # one call of the outermost module; arg = module id; flags: 1 = training mode, 2 = grad enabled
    BACKWARD = (
        3  # Tensor.backward or autograd.backward; arg = GRADIENTS for autograd.grad, which torch.func goes through
    )
    OPTIMIZER = 4  # one Optimizer.step; arg = optimizer id
    LOADER_ITER = 5  # iter(loader): workers are started here; arg = loader id
    EPOCH_END = 6  # the iterator said StopIteration; arg = loader id
    GC = 7  # one collection of Python's cyclic collector; arg = generation
    CHECKPOINT = 8  # torch.save
    COMPILE = 9  # torch.compile worked (dynamo frame, or backward graph)
    SYNC = 10  # the host waited for a device
    HOST_TO_DEVICE = 11
    WORKER_FETCH = 12  # in a worker process: one batch loaded and collated; arg = worker id, value = samples
    ZERO_GRAD = 13  # Optimizer.zero_grad; arg = optimizer id
    MARK = 14  # a point in time; arg = a Mark
    STEP = 15  # the program itself said pitstop.step()
    LOGGING = 17  # a logging, plotting or progress library wrote or drew
    COMMUNICATION = 18  # waiting for other ranks; flags: REDUCTION = the end of a backward of DistributedDataParallel; value = bytes
    # What a device did for one call: start_ns and end_ns are the call's, as the host saw it; flags = the call's kind;
    # value = when the device began, in ns after its first event; arg = how long it took, in units of 100 ns.
    DEVICE = 19


REDUCTION = 1  # flag of a COMMUNICATION
GRADIENTS = 1  # arg of a BACKWARD whose gradients were given to the caller


class Mark(IntEnum):
    """What a MARK says."""

    PAUSE = 1  # from here on only the ends of steps are recorded (and loaders' beginnings, gc, checkpoints, compiling)
    RESUME = 2  # from here on everything is


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One timed event of one thread. Times are CLOCK_MONOTONIC nanoseconds, one clock for all processes."""

    kind: EventKind
    start_ns: int
    end_ns: int
    thread: int = 0  # small number given by the probe; 0 = main thread of the process
    arg: int = 0
    value: int = 0
    flags: int = 0
