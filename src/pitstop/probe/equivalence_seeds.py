"""Random streams under control: every seed that the program sets is shifted, and a program that sets none is seeded.

Explicit `torch.Generator`s and `numpy.random.Generator`s made from a seed keep the user's seed unless made by
`numpy.random.default_rng`; they are reproducible as they are.
"""

import importlib.abc
import importlib.machinery
import random
import sys
from typing import Any

__all__ = ["RandomState", "install"]

SEED = 20_011  # of a program that seeds nothing


def install(torch, offset):
    """Seed everything now, shift later seeds by `offset`, and let compiled code draw what eager code draws."""
    random.seed = _shifted(random.seed, offset)
    torch.manual_seed = torch.random.manual_seed = _shifted(torch.manual_seed, offset)
    torch.seed = torch.random.seed = lambda: torch.manual_seed(SEED).initial_seed()
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed = _shifted(numpy.random.seed, offset)
        numpy.random.default_rng = _shifted(numpy.random.default_rng, offset)
        numpy.random.seed(SEED)
    random.seed(SEED)
    torch.manual_seed(SEED)
    _eager_draws()


def _shifted(seed, offset):
    def shifted(*args, **kwargs):
        for name in ("seed", "a"):
            if name in kwargs:
                args = (kwargs.pop(name), *args)
        if not args or args[0] is None:  # from the clock: would never repeat
            args = (SEED, *args[1:])
        if isinstance(args[0], int) and not isinstance(args[0], bool):
            args = (args[0] + offset, *args[1:])
        return seed(*args, **kwargs)

    return shifted


def _eager_draws():
    """Set `torch._inductor.config.fallback_random` once that module comes (importing it here would cost 2 s)."""
    if "torch._inductor.config" in sys.modules:
        config: Any = sys.modules["torch._inductor.config"]
        config.fallback_random = True
    else:
        sys.meta_path.insert(0, _InductorConfig())


class _InductorConfig(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name != "torch._inductor.config":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            run = loader.exec_module

            def exec_module(module):
                run(module)
                config: Any = sys.modules.get(name, module)
                config.fallback_random = True

            loader.exec_module = exec_module
        return spec


class RandomState:
    """The state of every global random stream, to be put back later."""

    @staticmethod
    def take(torch):
        """Return the streams' states as one picklable value."""
        numpy = sys.modules.get("numpy")
        cuda = torch.cuda.is_available() and torch.cuda.is_initialized()
        return {
            "torch": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state_all() if cuda else None,
            "random": random.getstate(),
            "numpy": numpy.random.get_state() if numpy is not None else None,
        }

    @staticmethod
    def put(torch, state):
        """Put the streams back to `state`."""
        numpy = sys.modules.get("numpy")
        torch.set_rng_state(state["torch"])
        if state["cuda"] is not None:
            torch.cuda.set_rng_state_all(state["cuda"])
        random.setstate(state["random"])
        if numpy is not None and state["numpy"] is not None:
            numpy.random.set_state(state["numpy"])
