"""What a framework is to treatments: which of its arguments do what they want."""

from collections.abc import Mapping
from typing import Literal

import msgspec

__all__ = ["DEFAULT", "VALUE", "Framework", "Wanted"]

Wanted = Literal["workers", "pinned", "bf16", "compile", "fused"]
VALUE = "<value>"  # stands for what the treatment chose; an argument whose value would be its default is left out

DEFAULT = "default"  # the value of that name


class Framework(msgspec.Struct, frozen=True, kw_only=True):
    """`arguments`: what is wanted -> the keyword arguments of `class_name` that do it, with their values.

    `impossible`: values that these arguments cannot say. `excludes`: what is wanted -> arguments that rule it out where they are on.
    `compiled_call`: the method whose first argument, given as `torch.compile(model)`, is trained compiled.
    """

    packages: tuple[str, ...]
    class_name: str
    arguments: Mapping[Wanted, Mapping[str, bool | str]]
    impossible: tuple[str, ...] = ()
    excludes: Mapping[Wanted, tuple[str, ...]] = {}
    compiled_call: str | None = None
