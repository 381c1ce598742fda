"""Programs that update their weights by hand (`p.data.add_(p.grad, alpha=-lr)`): a stand-in for the optimizer they do without."""

import gc
from typing import Any

__all__ = ["HandUpdate"]


class HandUpdate:
    """Looks like an optimizer of all module parameters that have a gradient; the program's own statements do the update."""

    by_hand = True

    def __init__(self, torch):
        """Take the parameters that the backward which just ended has given gradients to."""
        modules = [one for one in gc.get_objects() if isinstance_safely(one, torch.nn.Module)]
        found = {id(p): p for module in modules for p in module.parameters(recurse=False) if p.grad is not None}
        self.param_groups = [{"params": list(found.values())}]
        self.ended_with: Any = None  # weights when the update was taken to be over
        self.state: Any = {p: {} for p in found.values()}

    def has_gradients(self):
        """Whether gradients are left from before."""
        params = self.param_groups[0]["params"]
        return any(p.grad is not None and bool(p.grad.count_nonzero()) for p in params)

    def end(self):
        """Remember the weights: nothing may change them before the next backward."""
        self.ended_with = [p.detach().clone() for p in self.param_groups[0]["params"]]

    def is_odd(self):
        """Whether the program works otherwise: gradients are left at a backward, or weights changed after the update's presumed end."""
        if self.has_gradients():
            return True
        pairs = zip(self.param_groups[0]["params"], self.ended_with or ())
        return any(not p.detach().equal(before) for p, before in pairs)

    def withhold(self):
        """Let the program's update change nothing: it may not expect that a gradient is missing."""
        for p in self.param_groups[0]["params"]:
            if p.grad is not None:
                p.grad.zero_()


def isinstance_safely(thing, kind):
    """Return isinstance by the real type: a lazy proxy would wake up when asked for its class."""
    return issubclass(type(thing), kind) and "_modules" in getattr(thing, "__dict__", {})
