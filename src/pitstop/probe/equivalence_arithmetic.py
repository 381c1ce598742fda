"""The same program in another arithmetic: fp64 as the arbiter, and small roundings that show the program's own noise.

- `float64`: weights and every floating tensor that meets a torch function become double; random draws stay those of fp32.
- `ulp`: every weight moved by one unit in the last place, up or down by a fixed pattern: what re-association may do.
- `bf16`: weights, operands and results of matrix products and convolutions, and results of elementwise operations on
  activations, forwards and backwards, rounded to bfloat16: what a correct mixed-precision program does. It shares no code
  with autocast, so it can judge autocast.
"""

import sys
from typing import Any

__all__ = ["VARIANTS", "Arithmetic"]

VARIANTS = ("plain", "float64", "ulp", "ulp-2", "bf16")

_PRODUCTS = frozenset(
    """
    mm addmm bmm baddbmm convolution convolution_backward _convolution mkldnn_linear _scaled_dot_product_attention_math
    _scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_flash_attention_for_cpu_backward
    _scaled_dot_product_flash_attention _scaled_dot_product_flash_attention_backward
    _scaled_dot_product_efficient_attention _scaled_dot_product_efficient_attention_backward
    _scaled_dot_product_cudnn_attention _scaled_dot_product_cudnn_attention_backward
    """.split()  # noqa: SIM905
)
_ELEMENTWISE = frozenset(
    """
    add sub mul div add_ sub_ mul_ div_ gelu gelu_backward silu silu_backward tanh tanh_backward sigmoid sigmoid_backward
    elu elu_backward leaky_relu leaky_relu_backward hardswish hardswish_backward mish mish_backward softplus
    softplus_backward native_dropout native_dropout_backward
    """.split()  # noqa: SIM905
)
_DRAWS_IN_PLACE = frozenset(["normal_", "uniform_", "bernoulli_", "exponential_", "log_normal_", "cauchy_"])
_DRAWS = frozenset(["rand", "randn", "rand_like", "randn_like", "normal", "bernoulli"])


class Arithmetic:
    """One variant, to be entered for one replayed step: `weights` maps recorded values, the modes act on operations."""

    def __init__(self, torch, variant):
        if variant not in VARIANTS:
            raise ValueError("no arithmetic %r" % (variant,))
        self.torch, self.variant = torch, variant
        self.modes = []
        self.switch = _Switch()

    @property
    def exact(self):
        """Whether values are those of the program itself, so that its optimizer may act on them."""
        return self.variant == "plain"

    @property
    def dtype(self):
        """Type that forced weights get; None keeps their own."""
        return self.torch.float64 if self.variant == "float64" else None

    def weights(self, tensor):
        """Return a recorded floating tensor as this arithmetic holds it."""
        torch = self.torch
        if self.variant == "bf16":
            return tensor.to(torch.bfloat16).to(tensor.dtype)
        if self.variant in ("ulp", "ulp-2"):
            generator = torch.Generator().manual_seed(17 if self.variant == "ulp" else 23)
            up = torch.randint(0, 2, tensor.shape, generator=generator, dtype=torch.int8).to(tensor.device) * 2 - 1
            return tensor * (1 + up.to(tensor.dtype) * torch.finfo(tensor.dtype).eps)
        return tensor

    def batch(self, tensor):
        """Return a tensor of the recorded batch as this arithmetic is fed."""
        if not tensor.is_floating_point():
            return tensor
        return (
            tensor.double() if self.variant == "float64" else self.weights(tensor) if self.variant == "bf16" else tensor
        )

    def enter(self):
        """Switch the process to this arithmetic, from now to `leave`."""
        torch = self.torch
        if self.variant == "float64":
            self.modes = [_draws_of_float32(torch, self.switch), _everything_double(torch, self.switch)]
        elif self.variant == "bf16":
            self.modes = [_products_rounded(torch, self.switch)]
        for mode in self.modes:
            mode.__enter__()
        if self.modes:
            _compile(torch, False)
        self.resume()

    def pause(self):
        """Stand aside while the program's loader works."""
        self.switch.on = False
        if self.switch.default_dtype is not None:
            self.torch.set_default_dtype(self.switch.default_dtype)

    def resume(self):
        """Act again."""
        self.switch.on = True
        if self.variant == "float64":
            if self.torch.get_default_dtype() != self.torch.float64:
                self.switch.default_dtype = self.torch.get_default_dtype()
            self.torch.set_default_dtype(self.torch.float64)

    def leave(self):
        """Switch back."""
        self.pause()
        for mode in reversed(self.modes):
            mode.__exit__(None, None, None)
        if self.modes:
            _compile(self.torch, True)
        self.modes = []


def _compile(torch, on):
    """Let compiled code run as compiled, or as written: modes act on operations, which compiled code does not have."""
    if hasattr(torch.compiler, "set_stance"):  # torch >= 2.6
        torch.compiler.set_stance("default" if on else "force_eager")
    elif "torch._dynamo.config" in sys.modules:
        config: Any = sys.modules["torch._dynamo.config"]
        config.disable = not on


class _Switch:
    def __init__(self):
        self.on = True
        self.default_dtype = None


def _everything_double(torch, switch):  # noqa: C901 (a list of kinds of calls)
    from torch.overrides import TorchFunctionMode

    low = (torch.float32, torch.float16, torch.bfloat16)
    casts = (torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16)

    def double(value):
        if isinstance(value, torch.Tensor):
            return value.double() if value.dtype in low else value
        if isinstance(value, torch.dtype):
            return torch.float64 if value in low else value
        if type(value) in (list, tuple):
            return type(value)(double(item) for item in value)
        return value

    class Double(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            name = getattr(func, "__name__", "")
            if not switch.on or name in ("__get__", "__set__", "backward"):
                return func(*args, **kwargs)
            if func in casts:
                return args[0].double()
            if name.startswith("_amp_"):
                return _in_float32(torch, func, args, kwargs)
            if name == "type" and len(args) > 1:
                args = (args[0], _wide_kind(args[1]), *args[2:])
            in_place = (
                (name.endswith("_") and not name.endswith("__")) or name.startswith("__i") or name == "__setitem__"
            )
            kept = 1 if in_place else 0
            target = args[0] if in_place and args else kwargs.get("out")
            wide = (*args[:kept], *(double(value) for value in args[kept:]))
            wide_kwargs = {key: value if key == "out" else double(value) for key, value in kwargs.items()}
            try:
                return func(*wide, **wide_kwargs)
            except RuntimeError:
                if not isinstance(target, torch.Tensor) or target.dtype not in low:
                    raise
                return _into(torch, target, func, args, kwargs)

    return Double()


def _wide_kind(kind):
    """Return what `x.type(kind)` is asked for instead, where that is `torch.FloatTensor` or its name, or a smaller one."""
    name = kind if isinstance(kind, str) else "torch." + getattr(kind, "__qualname__", "")
    for small in ("BFloat16Tensor", "FloatTensor", "HalfTensor"):
        if name.endswith("." + small):
            where = "cuda." if "cuda." in name or getattr(kind, "is_cuda", False) else ""
            return "torch.%sDoubleTensor" % where
    return kind


def _into(torch, target, func, args, kwargs):
    """Call what writes to a tensor of the program's own (`lerp_`, `scatter_add_`, `out=`), which outlives the step and keeps its type."""
    rest = {key: value if value is target else _of_type(torch, value, target.dtype) for key, value in kwargs.items()}
    return func(*(value if value is target else _of_type(torch, value, target.dtype) for value in args), **rest)


def _in_float32(torch, func, args, kwargs):
    """Call what works on a GradScaler's own numbers, which become float32, as it demands, for good; gradients keep their type.

    It uses some of them once more after the optimizer's step, when this arithmetic is over.
    """
    singles = [_of_type(torch, one, torch.float32) if isinstance(one, torch.Tensor) else one for one in args]
    result = func(*singles, **kwargs)
    for single, one in zip(singles, args):
        if single is not one:
            one.data = single
    return args[0] if result is singles[0] else result


def _of_type(torch, value, dtype):
    return value.to(dtype) if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def _draws_of_float32(torch, switch):
    from torch.utils._python_dispatch import TorchDispatchMode

    def single(value):
        if isinstance(value, torch.Tensor) and value.dtype == torch.float64:
            return value.float()
        return torch.float32 if value is torch.float64 else value

    class Draws(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            name = func.overloadpacket.__name__
            if switch.on and name in _DRAWS_IN_PLACE and args[0].dtype == torch.float64:
                drawn = func(args[0].float(), *(single(value) for value in args[1:]), **kwargs)
                return args[0].copy_(drawn)
            if switch.on and name in _DRAWS:
                wanted = kwargs.get("dtype")
                wide = wanted is torch.float64 or (
                    wanted is None
                    and (any(getattr(a, "dtype", None) is torch.float64 for a in args) or not _tensors(torch, args))
                )
                if wide:
                    narrow = {key: single(value) for key, value in kwargs.items()}
                    if not _tensors(torch, args):
                        narrow["dtype"] = torch.float32
                    return func(*(single(value) for value in args), **narrow).double()
            return func(*args, **kwargs)

    return Draws()


def _tensors(torch, args):
    return any(isinstance(value, torch.Tensor) for value in args)


def _products_rounded(torch, switch):
    from torch.utils._python_dispatch import TorchDispatchMode

    def rounded(value):
        if isinstance(value, torch.Tensor) and value.dtype == torch.float32:
            return value.to(torch.bfloat16).to(torch.float32)
        if type(value) in (list, tuple):
            return type(value)(rounded(item) for item in value)
        return value

    class Products(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            name = func.overloadpacket.__name__
            if not switch.on:
                return func(*args, **kwargs)
            if name in _PRODUCTS:
                kwargs = {key: rounded(value) for key, value in kwargs.items()}
                return rounded(func(*(rounded(value) for value in args), **kwargs))
            result = func(*args, **kwargs)
            if name in _ELEMENTWISE and isinstance(result, torch.Tensor) and result.ndim > 1:
                return result.copy_(rounded(result)) if name.endswith("_") else rounded(result)
            return result

    return Products()
