"""One recorded step: everything that another run needs to compute it again, kept while the program goes its own way."""

import os

from . import equivalence_seeds

__all__ = ["Capture", "optimizer_state", "trained_by", "weights_of"]


def trained_by(optimizer):
    """Return the optimizer's tensors in the order of its groups."""
    return [p for group in optimizer.param_groups for p in group["params"]]


def optimizer_state(optimizer):
    """Return a CPU copy of what the optimizer remembers, one dict per tensor of `trained_by`."""
    import copy

    def kept(value):
        return value.detach().to("cpu", copy=True) if hasattr(value, "detach") else copy.deepcopy(value)

    return [
        {key: kept(value) for key, value in optimizer.state.get(p, {}).items() if isinstance(key, str)}
        for p in trained_by(optimizer)
    ]


def weights_of(optimizer):
    """Return CPU copies of the optimizer's tensors."""
    return [p.detach().to("cpu", copy=True) for p in trained_by(optimizer)]


def _gradient(tensor):
    if tensor.grad is None:
        return None
    dense = tensor.grad.to_dense() if tensor.grad.is_sparse else tensor.grad
    return dense.detach().to("cpu", copy=True)


class Capture:
    """From the end of the leading optimizer's step to the end of its next one."""

    def __init__(self, torch, step, state, optimizers):
        self.torch = torch
        self.spoiled = None  # why this step cannot be replayed
        self.weights = [weights_of(optimizer) for optimizer in optimizers]  # of each, when it last stepped
        self.data = {
            "step": step,
            "state": state.copy(),
            "random": equivalence_seeds.RandomState.take(torch),
            "fetches": [],  # {"loader", "batch", "random"}, in order
            "losses": [],
            "updates": [],  # {"optimizer", "gradients", "memory", "change", "after"}, in order
        }
        self.used = {}  # loader -> [{"batch", "random"}] that calls of modules used, in order

    def fetch(self, loader, kept):
        """Keep the copy of a batch that was delivered to the program."""
        random = equivalence_seeds.RandomState.take(self.torch)
        self.data["fetches"].append({"loader": loader, "batch": kept, "random": random})

    def use(self, loader, kept):
        """Keep the copy of a batch that a module is about to be called with, whenever it was fetched."""
        if kept is None:
            self.spoiled = "a batch from before anything was kept"
        random = equivalence_seeds.RandomState.take(self.torch)
        self.used.setdefault(loader, []).append({"batch": kept, "random": random})

    def loss(self, value):
        """Keep a loss that went backward."""
        self.data["losses"].append(value)

    def before(self, number, optimizer):
        """Keep what an optimizer is about to act on."""
        if number >= len(self.weights):  # its modules are not in the recorded state
            self.spoiled = "a new optimizer"
            self.weights.append(weights_of(optimizer))
        tensors = trained_by(optimizer)
        self.data["updates"].append(
            {
                "optimizer": number,
                "gradients": [_gradient(p) for p in tensors],
                "memory": optimizer_state(optimizer),
            }
        )

    def after(self, number, optimizer, *, last):
        """Keep what it did; `last`: this ends the window, so nobody needs the weights themselves."""
        update = self.data["updates"][-1]
        after = weights_of(optimizer)
        update["change"] = [new - old for new, old in zip(after, self.weights[number])]
        self.weights[number] = after
        update["after"] = None if last else after

    def save(self, folder, number, ahead=()):
        """Write `capture-<number>.pt`, whole or not at all; loaders in `ahead` are kept by what was used, not by what was fetched."""
        path = os.path.join(folder, "capture-%d.pt" % number)
        fetches = self.data["fetches"]
        self.data["fetches"] = [one for one in fetches if one["loader"] not in ahead]
        self.data["draws"] = {n: [one["random"] for one in fetches if one["loader"] == n] for n in ahead}
        self.data["ahead"] = {n: self.used.get(n, []) for n in ahead}
        self.torch.save(self.data, path + ".part")
        os.replace(path + ".part", path)
        return os.path.getsize(path)
