"""What a `ForwardSighting` says about a module and the call that is about to run it."""

from .loaders import qualified

MAX_SHAPES = 8


class ModuleSightings:
    """Writes forward sightings; what depends on the module alone is found out once per module."""

    def __init__(self, hooked):
        self._hooked = hooked
        self._facts = {}

    def write(self, number, module, args, kwargs):
        """Write the sighting of a call of module `number` that is about to run."""
        torch = self._hooked.torch
        inner = getattr(module, "_orig_mod", module)
        if number not in self._facts:
            self._facts[number] = describe(torch, inner)
        facts = self._facts[number]
        self._hooked.session.sightings.write(
            "forward",
            id=number,
            stack=self._hooked.looking.stack(),
            training=bool(module.training),
            grad_enabled=torch.is_grad_enabled(),
            input_shapes=_shapes(torch, [*args, *kwargs.values()]),
            compiled=inner is not module or "_compiled_call_impl" in module.__dict__,
            autocast=_autocast(torch, facts["device"]),
            **facts,
        )


def describe(torch, module):
    """Return the facts of a module that hold for all its calls. Walks all submodules once."""
    nn = torch.nn
    parts = list(module.modules())
    parameters = list(module.parameters())
    kind = type(module)
    convolutions = (nn.Conv2d, nn.Conv3d, nn.ConvTranspose2d, nn.ConvTranspose3d)
    norms = (nn.modules.batchnorm._BatchNorm,)
    dropouts = (nn.modules.dropout._DropoutNd,)
    uninitialized = getattr(nn.parameter, "UninitializedTensorMixin", ())
    sized = [parameter for parameter in parameters if not isinstance(parameter, uninitialized)]
    return {
        "module_class": qualified(kind),
        "forward_in_torch": _forward_module(kind).split(".")[0] == "torch",
        "num_parameters": sum(parameter.numel() for parameter in sized),
        "parameter_dtypes": sorted({str(parameter.dtype).replace("torch.", "") for parameter in sized}),
        "device": str(parameters[0].device) if parameters else "cpu",
        "num_conv": sum(isinstance(part, convolutions) for part in parts),
        "num_batchnorm": sum(isinstance(part, norms) for part in parts),
        "num_dropout": sum(isinstance(part, dropouts) for part in parts),
        "num_rnn": sum(isinstance(part, nn.RNNBase) for part in parts),
        "sparse_embedding": any(bool(getattr(part, "sparse", False)) for part in parts if _is_embedding(nn, part)),
        "channels_last": any(_is_channels_last(torch, parameter) for parameter in sized),
        "traced": isinstance(module, torch.jit.ScriptModule),
    }


def _forward_module(kind):
    """Return where the class's forward is defined, without asking the class: a scripted one answers with an error."""
    forward = next((parent.__dict__["forward"] for parent in kind.__mro__ if "forward" in parent.__dict__), None)
    return getattr(forward, "__module__", None) or ""


def _is_embedding(nn, part):
    return isinstance(part, (nn.Embedding, nn.EmbeddingBag))


def _is_channels_last(torch, parameter):
    if parameter.dim() != 4:
        return False
    last = parameter.is_contiguous(memory_format=torch.channels_last)
    return last and not parameter.is_contiguous()  # 1x1 kernels are both


def _shapes(torch, values):
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    shapes = [list(tensor.shape) for tensor in tensors[:MAX_SHAPES]]
    return [shape for shape in shapes if all(type(size) is int for size in shape)]  # export has symbols for sizes


def _autocast(torch, device):
    """Return the dtype of an autocast region that is on for `device`, or None. The questions changed with torch 2.4."""
    kind = device.split(":")[0]
    if hasattr(torch, "get_autocast_dtype"):
        return str(torch.get_autocast_dtype(kind)).replace("torch.", "") if torch.is_autocast_enabled(kind) else None
    if kind == "cpu":
        on, dtype = torch.is_autocast_cpu_enabled(), torch.get_autocast_cpu_dtype()
    else:
        on, dtype = torch.is_autocast_enabled(), torch.get_autocast_gpu_dtype()
    return str(dtype).replace("torch.", "") if on else None
