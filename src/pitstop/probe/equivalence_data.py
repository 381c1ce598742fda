"""What a loader delivered: sample ids per epoch, hashes of rows and batches, moments of the values."""

import ctypes
import hashlib
import itertools

__all__ = ["LoaderRecord", "copied", "leaves", "mapped"]

MAX_ROWS = 100_000  # row hashes kept per loader
MAX_FEATURES = 128  # moments kept per leaf
MAX_PLANNED = 200_000  # batches of one epoch
REFETCHED = 6  # samples fetched twice to see whether their transforms draw random numbers


def leaves(torch, value):
    """Return the tensors (arrays as tensors) in a nested batch, in a fixed order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict) or hasattr(value, "items"):
        return [leaf for item in value.values() for leaf in leaves(torch, item)]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(torch, item)]
    if type(value).__module__ == "numpy" and hasattr(value, "dtype") and value.dtype.kind in "biuf":
        return [torch.as_tensor(value)]
    if isinstance(value, (bool, int, float)):
        return [torch.tensor(value)]
    if hasattr(value, "__dict__") and not isinstance(value, type):
        return [leaf for item in vars(value).values() for leaf in leaves(torch, item)]
    return []


def mapped(torch, value, change):
    """Return a copy of a nested batch with `change` applied to each tensor, of the same nesting types."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        new = value.copy()
        for key, item in value.items():
            new[key] = mapped(torch, item, change)
        return new
    if isinstance(value, tuple):
        items = [mapped(torch, item, change) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, list):
        return type(value)(mapped(torch, item, change) for item in value)
    if hasattr(value, "__dict__") and not isinstance(value, type) and not callable(value):
        import copy

        new = copy.copy(value)
        for key, item in vars(value).items():
            new.__dict__[key] = mapped(torch, item, change)
        return new
    return value


def copied(torch, batch):
    """Return a batch that shares no memory with `batch` and keeps layouts and pinning."""

    def copy(tensor):
        new = tensor.detach().clone()
        return new.pin_memory() if tensor.is_pinned() and not new.is_pinned() else new

    return mapped(torch, batch, copy)


def _rows(tensor):
    """Return one 8-byte hash (hex) per row of `tensor`, over its raw values."""
    import torch

    flat = tensor.detach().cpu().reshape(len(tensor), -1).contiguous().view(torch.uint8)
    size = flat.shape[1]
    return [
        hashlib.blake2b(ctypes.string_at(flat.data_ptr() + size * row, size), digest_size=8).hexdigest()
        for row in range(len(flat))
    ]


class LoaderRecord:
    """Everything kept of one loader while recording."""

    def __init__(self, torch, number, loader):
        self.torch = torch
        self.number = number
        self.loader = loader
        self.epochs = []  # {"ids": [...], "rows": batch rows, "complete": bool}
        self.batches = []  # one hash per batch
        self.rows = []  # per leaf: list of row hashes, in order of delivery
        self.moments = []  # per leaf: {"n", "sum", "squares"} over per-batch means and standard deviations
        self.with_grad = 0

    def start_epoch(self):
        """Note that a new pass over the loader begins."""
        self.epochs.append({"ids": [], "samples": 0, "complete": False})

    def end_epoch(self):
        """Note that the loader said it is through."""
        if self.epochs:
            self.epochs[-1]["complete"] = True

    def add(self, batch, ids):
        """Keep what identifies `batch`; `ids` are the sampler's, or None."""
        if not self.epochs:
            self.start_epoch()
        found = [leaf for leaf in leaves(self.torch, batch) if leaf.numel()]
        ids = list(ids) if isinstance(ids, (list, tuple)) else [ids]
        ids = [] if None in ids else [str(one) for one in ids]  # an iterable data set is asked for None
        rows = len(ids) or (len(found[0]) if found and found[0].ndim else 0)
        epoch = self.epochs[-1]
        epoch["ids"].extend(ids)
        epoch["samples"] += rows
        self.with_grad += self.torch.is_grad_enabled()
        digest = hashlib.blake2b(digest_size=8)
        for position, leaf in enumerate(found):
            whole = leaf if leaf.ndim else leaf.reshape(1)
            hashes = _rows(whole)
            digest.update("".join(hashes).encode())
            if len(self.rows) <= position:
                self.rows.append([])
                self.moments.append(None)
            kept = self.rows[position]
            if len(whole) == rows and len(kept) < MAX_ROWS:
                kept.extend(hashes)
            self.moments[position] = _add_moments(self.torch, self.moments[position], whole)
        self.batches.append(digest.hexdigest())

    def plan(self):
        """Return (sorted ids, batches) of one whole epoch by the sampler alone, without loading; None if unknown.

        Without automatic batching the plain sampler yields what the dataset is asked for: a list of ids is a batch too.
        """
        sampler = getattr(self.loader, "batch_sampler", None) or getattr(self.loader, "sampler", None)
        dataset = self.loader.dataset
        if sampler is None or not hasattr(dataset, "__getitem__") or not hasattr(dataset, "__len__"):
            return None
        batches = [
            list(batch) if isinstance(batch, (list, tuple)) else [batch]
            for batch in itertools.islice(sampler, MAX_PLANNED + 1)
        ]
        if len(batches) > MAX_PLANNED:  # perhaps one without end
            return None
        return sorted(str(one) for batch in batches for one in batch), len(batches)

    def deterministic(self):
        """Fetch a few samples twice under different random states: per leaf, whether both are the same; None if unknown."""
        from . import equivalence_seeds

        dataset = self.loader.dataset
        if not hasattr(dataset, "__getitem__") or not hasattr(dataset, "__len__") or not len(dataset):
            return None
        state = equivalence_seeds.RandomState.take(self.torch)
        same = None
        for number in range(min(REFETCHED, len(dataset))):
            # The streams move on in between, if the transforms draw from them.
            pair = [[_rows(leaf.reshape(1, -1)) for leaf in leaves(self.torch, dataset[number])] for _ in range(2)]
            equal = [one == two for one, two in zip(*pair)]
            same = equal if same is None else [a and b for a, b in zip(same, equal)]
        equivalence_seeds.RandomState.put(self.torch, state)
        return same

    def summary(self, faults):
        """Return the record as JSON-ready values; what the program's sampler or data set refuses goes to `faults`."""
        plan = _tried(self.plan, faults)
        identity = hashlib.blake2b("\n".join(plan[0]).encode(), digest_size=8).hexdigest() if plan else None
        return {
            "number": self.number,
            "with_grad": self.with_grad,
            "epochs": self.epochs,
            "batches": self.batches,
            "rows": self.rows,
            "moments": self.moments,
            "plan_ids": identity,
            "plan_samples": len(plan[0]) if plan else None,
            "plan_batches": plan[1] if plan else None,
            "deterministic": _tried(self.deterministic, faults),
        }


def _tried(method, faults):
    try:
        return method()
    except Exception as error:
        faults.append("%s: %s: %s" % (method.__name__, type(error).__name__, error))
        return None


def _features(torch, tensor):
    """Return per-batch means and standard deviations: per channel (3 dimensions and more), per column (2), or of all values."""
    values = tensor.detach().to("cpu", torch.float64)
    if values.ndim >= 3 or (values.ndim == 2 and tensor.is_floating_point()):
        values = values.transpose(0, 1).reshape(values.shape[1], -1)
    else:
        values = values.reshape(1, -1)
    values = values[:MAX_FEATURES]
    return torch.cat([values.mean(1), values.std(1, unbiased=False)])


def _add_moments(torch, moments, tensor):
    features = _features(torch, tensor)
    if moments is None:
        moments = {"n": 0, "sum": [0.0] * len(features), "squares": [0.0] * len(features)}
    if len(moments["sum"]) != len(features):  # sentences of varying length: columns mean nothing
        return moments
    moments["n"] += 1
    moments["sum"] = [a + b for a, b in zip(moments["sum"], features.tolist())]
    moments["squares"] = [a + b for a, b in zip(moments["squares"], (features * features).tolist())]
    return moments
