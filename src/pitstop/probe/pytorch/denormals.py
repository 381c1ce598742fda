"""How many of the numbers that training keeps are denormal: below the least normal float32, and up to a hundred times slower on a CPU.

A few hundred numbers of a few tensors are read at some steps, as bytes: no operation of torch runs, nothing is allocated there, and
no hook, mode or random stream of the program notices.
"""

import ctypes
import struct

AT_STEPS = (16, 256, 1024, 4096)  # Adam's averages of a gradient that has become zero are denormal after some 800 steps
MAX_TENSORS = 32
BLOCK = 64  # numbers read together
BLOCKS = 2  # per tensor
_EXPONENT, _MANTISSA = 0x7F800000, 0x007FFFFF
_NUMBERS = struct.Struct("=%dI" % BLOCK)


def install(hooked):
    """Look at parameters, gradients and optimizer state at those steps."""
    clock = hooked.clock
    for step in AT_STEPS:
        clock.after(step, lambda: _look(hooked))


def _look(hooked):
    if hooked.session.is_worker:
        return
    torch = hooked.torch
    found: dict = {}
    for _number, reference in list(hooked.optimizers.known.values()):
        optimizer = reference()
        if optimizer is not None:
            for kind, tensor in _tensors(torch, optimizer):
                counts = found.setdefault(kind, [0, 0, 0])
                if counts[2] < MAX_TENSORS:
                    seen, denormal = count(torch, tensor)
                    counts[0] += seen
                    counts[1] += denormal
                    counts[2] += seen > 0
    for kind, (seen, denormal, _many) in sorted(found.items()):
        if seen:
            hooked.session.sightings.write(
                "denormals", of=kind, step=hooked.clock.steps, numbers=seen, denormal=denormal
            )


def _tensors(torch, optimizer):
    """Yield (kind, tensor): what the optimizer trains, with its gradients and what it keeps for them."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for parameter in parameters[:: max(1, len(parameters) // MAX_TENSORS)]:
        yield "parameters", parameter
        if parameter.grad is not None:
            yield "gradients", parameter.grad
        kept = optimizer.state.get(parameter) if parameter in optimizer.state else None
        for value in list(kept.values()) if isinstance(kept, dict) else ():
            if isinstance(value, torch.Tensor) and value.dim() > 0:
                yield "optimizer state", value


def count(torch, tensor):
    """Return how many numbers were read of a tensor and how many of them are denormal; (0, 0) for one that cannot be read so."""
    if type(tensor) not in {torch.Tensor, torch.nn.Parameter} or tensor.dtype != torch.float32:
        return 0, 0
    if tensor.device.type != "cpu" or tensor.layout != torch.strided or not tensor.is_contiguous():
        return 0, 0
    many, start = tensor.numel(), tensor.data_ptr()
    stored = tensor.untyped_storage().nbytes() - 4 * tensor.storage_offset()
    if start == 0 or many < BLOCK or stored < 4 * many:  # too small to matter, or given back (sharded training)
        return 0, 0
    denormal = 0
    blocks = min(BLOCKS, many // BLOCK)
    for block in range(blocks):
        offset = block * ((many - BLOCK) // max(1, blocks - 1))
        numbers = _NUMBERS.unpack(ctypes.string_at(start + 4 * offset, _NUMBERS.size))
        denormal += sum(1 for number in numbers if not number & _EXPONENT and number & _MANTISSA)
    return blocks * BLOCK, denormal
