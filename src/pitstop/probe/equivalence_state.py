"""The program's trained state: finding it without being told, copying it, forcing it, and hashing it."""

import gc
import hashlib
from typing import Any

__all__ = ["TrainedState", "hyperparameters", "set_hyperparameters"]

# Not what is computed but how (or, `initial_lr`, only a note of the scheduler's).
_NOT_NUMBERS = ("params", "fused", "foreach", "capturable", "differentiable", "initial_lr")
_WRAPPED = ("_orig_mod.", "module.")  # torch.compile, DataParallel


class TrainedState:
    """All parameters and buffers of the modules that the optimizers train, named, in a fixed order.

    Modules are found through the garbage collector (compiled code calls no hook): those that hold a parameter
    of an optimizer and belong to no other module. Optimizer tensors in no module come last.
    """

    def __init__(self, torch, optimizers):
        self.torch = torch
        trained = [p for optimizer in optimizers for group in optimizer.param_groups for p in group["params"]]
        position = {id(p): number for number, p in reversed(list(enumerate(trained)))}
        self.named = {}
        seen = set()
        for number, root in enumerate(_roots(torch, position)):
            pairs = list(root.named_parameters()) + list(root.named_buffers())
            for name, tensor in pairs:
                if id(tensor) not in seen:
                    seen.add(id(tensor))
                    self.named["%d.%s" % (number, _plain(name))] = _Place(root, name)
        for number, tensor in enumerate(trained):
            if id(tensor) not in seen:
                seen.add(id(tensor))
                self.named["loose.%d" % number] = _Place(tensor, None)

    def copy(self):
        """Return {name: CPU copy}."""
        return {name: place.tensor().detach().to("cpu", copy=True) for name, place in self.named.items()}

    def num_bytes(self):
        """Return the size of all of it."""
        return sum(place.tensor().numel() * place.tensor().element_size() for place in self.named.values())

    def hash(self):
        """Return a hash of names, shapes and exact values."""
        from .equivalence_data import _rows

        digest = hashlib.blake2b(digest_size=16)
        for name, place in self.named.items():
            tensor = place.tensor().detach()
            digest.update(("%s %s %s" % (name, tuple(tensor.shape), tensor.dtype)).encode())
            if tensor.numel():
                digest.update(_rows(tensor.reshape(1, -1))[0].encode())
        return digest.hexdigest()

    def force(self, recorded, dtype=None, change=None):
        """Set all tensors to `recorded`; floating ones as `dtype` (default: recorded) after `change(tensor)`.

        Raises ValueError where names and shapes cannot be matched.
        """
        for place, value in self._matched(recorded):
            if value.is_floating_point():
                changed = change(value) if change is not None else value
                place.set(self.torch, changed.to(dtype) if dtype is not None else changed)
            else:
                place.set(self.torch, value)

    def _matched(self, recorded):
        if set(recorded) == set(self.named):
            pairs = [(self.named[name], value) for name, value in recorded.items()]
        else:
            pairs = list(zip(self.named.values(), recorded.values()))
        if len(recorded) != len(self.named) or any(p.tensor().shape != v.shape for p, v in pairs):
            raise ValueError("the edited program's weights do not match the original's by name or by order and shape")
        return pairs


class _Place:
    """Where a tensor lives: looked up anew each time, since `module.double()` and loading may replace buffers."""

    def __init__(self, owner, name):
        self.owner, self.name = owner, name

    def tensor(self):
        if self.name is None:
            return self.owner
        found = self.owner
        for part in self.name.split("."):
            found = getattr(found, part)
        return found

    def set(self, torch, value):
        """Assign `value` in place where the type allows it, so that layout, views and graph captures survive."""
        tensor = self.tensor()
        with torch.no_grad():
            if tensor.dtype != value.dtype:
                new = torch.empty_like(tensor, dtype=value.dtype, requires_grad=False)
                gradient, tensor.grad = tensor.grad, None
                tensor.data = new
                if gradient is not None:
                    tensor.grad = gradient.to(value.dtype)
            tensor.data.copy_(value)


def _plain(name):
    for part in _WRAPPED:
        name = (
            name.replace(part, "") if part == "_orig_mod." else (name[len(part) :] if name.startswith(part) else name)
        )
    return name


def _roots(torch, position):
    gc.unfreeze()  # a frozen generation is not listed
    everything = gc.get_objects()
    kinds = {kind for kind in set(map(type, everything)) if issubclass(kind, torch.nn.Module)}
    modules = [one for one in everything if type(one) in kinds and "_modules" in one.__dict__]
    inner = {id(child) for one in modules for child in one._modules.values() if child is not None}
    roots: Any = []
    for one in modules:
        if id(one) not in inner:
            owned = [position[id(p)] for p in one.parameters() if id(p) in position]
            if owned:
                roots.append((min(owned), -len(owned), len(roots), one))
    return [root[-1] for root in sorted(roots, key=lambda root: root[:3])]


def hyperparameters(optimizer):
    """Return the plain numbers of every parameter group, learning rate first among them."""
    return [
        {
            key: value
            for key, value in ((k, _number(v)) for k, v in group.items() if k not in _NOT_NUMBERS)
            if value is not None
        }
        for group in optimizer.param_groups
    ]


def _number(value):
    if hasattr(value, "item") and getattr(value, "numel", lambda: 0)() == 1:
        value = value.item()
    if isinstance(value, (bool, int, float)):
        return float(value)
    if isinstance(value, (tuple, list)) and all(isinstance(one, (int, float)) for one in value):
        return [float(one) for one in value]
    return None


def set_hyperparameters(optimizer, groups):
    """Put `hyperparameters(...)` of another moment back, keeping types (a tensor learning rate stays one)."""
    for group, values in zip(optimizer.param_groups, groups):
        for key, value in values.items():
            current = group.get(key)
            if hasattr(current, "fill_"):
                current.fill_(value)
            else:
                group[key] = type(current)(value) if isinstance(current, (bool, int, tuple)) else value
