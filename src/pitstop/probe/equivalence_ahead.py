"""Which step a batch belongs to: the one whose forward is called with it, however early the loop asked for it.

Loops that look ahead (accelerate's loaders, prefetchers of one's own) fetch a batch while an earlier one is still to be used. Batches
are followed from the loader to an outermost call of a module: by the tensors themselves, the memory that they share, or equal values
(a copy on a device). Where no call is given anything of a loader's, its batches count as used when they are fetched.
"""

import collections.abc
from typing import Any

from . import equivalence_data

__all__ = ["Deliveries", "Handover", "tensors_in"]

MAX_TENSORS = 64  # looked at per call
MAX_DEPTH = 4
MAX_PENDING = 64  # data gone through before training would all be kept
MOST_SILENT = 3  # steps in a row without a match, after which a loader is not followed any more


def tensors_in(torch, value, depth=MAX_DEPTH):
    """Return the tensors in what a module is called with: in sequences, mappings and plain objects, none of them deep."""
    if isinstance(value, torch.Tensor):
        return [value]
    if depth == 0 or isinstance(value, (str, bytes, int, float, type, torch.nn.Module)):
        return []
    if isinstance(value, collections.abc.Mapping):
        items = list(value.values())
    elif isinstance(value, (list, tuple)):
        items = list(value)
    else:
        items = list(_attributes(value).values())
    return [one for item in items[:MAX_TENSORS] for one in tensors_in(torch, item, depth - 1)][:MAX_TENSORS]


def _attributes(value):
    try:
        return object.__getattribute__(value, "__dict__")  # a proxy (torch.fx) has every attribute that it is asked for
    except AttributeError:
        return {}


class _Delivery:
    def __init__(self, index, leaves, kept):
        self.index, self.leaves, self.kept = index, leaves, kept


class Deliveries:
    """Of one loader: batches that were fetched and not used yet.

    `followed`: whether calls are given what it delivers; None as long as no step has shown it. `ahead`: whether a step has ended
    with batches left for the next, or a batch was never used.
    """

    def __init__(self, torch):
        self.torch = torch
        self.fetched = self.consumed = 0
        self.pending: Any = collections.deque()
        self.followed = None
        self.ahead = False
        self._matched = self._fetched_now = False
        self._silent = 0

    def deliver(self, batch, kept):
        """Take in a batch that the program is given now; `kept` is a copy of it, or None."""
        index = self.fetched
        self.fetched += 1
        self._fetched_now = True
        if self.followed is False:
            self.consumed = self.fetched
        else:
            leaves = [leaf for leaf in equivalence_data.leaves(self.torch, batch) if leaf.numel()]
            self.pending.append(_Delivery(index, leaves, kept))
            if len(self.pending) > MAX_PENDING:
                self._follow_no_more()

    def use(self, tensors):
        """Return the delivery that a call with `tensors` uses, or None; those before it are never used any more."""
        for alike in (_same, _one_memory, _equal):
            for one in self.pending:
                if any(alike(self.torch, leaf, tensor) for leaf in one.leaves for tensor in tensors):
                    self.ahead = self.ahead or self.pending[0] is not one
                    while self.pending and self.pending[0].index <= one.index:
                        self.pending.popleft()
                    self.consumed = one.index + 1
                    self._matched = True
                    return one
        return None

    def end_step(self):
        """Take in that a step is over."""
        if self._matched:
            self.followed = True if self.followed is None else self.followed
            self._silent = 0
        elif self._fetched_now or self.pending:
            self._silent += 1
            if self.followed is None or self._silent > MOST_SILENT:
                self._follow_no_more()
        self.ahead = bool(self.followed) and (self.ahead or bool(self.pending))
        self._matched = self._fetched_now = False

    def _follow_no_more(self):
        self.followed = self.ahead = False
        self.pending.clear()
        self.consumed = self.fetched


def _same(_torch, leaf, tensor):
    return leaf is tensor


def _one_memory(_torch, leaf, tensor):
    try:
        start, size = leaf.data_ptr(), leaf.numel() * leaf.element_size()
        return leaf.device == tensor.device and start != 0 and start <= tensor.data_ptr() < start + size
    except RuntimeError:  # sparse, or without memory of its own
        return False


def _equal(torch, leaf, tensor):
    if leaf.shape != tensor.shape or tensor.requires_grad or tensor.layout != torch.strided:
        return False
    try:
        with torch.no_grad():
            return bool(torch.equal(leaf.detach().cpu().double(), tensor.detach().cpu().double()))
    except (RuntimeError, TypeError):  # no values to look at: on the meta device, complex numbers
        return False


class Handover:
    """While steps are computed again: which recorded batch each fetch is given, so that the step that will use it finds it.

    `batches[n]` is, per loader that looks ahead, what capture n used: a list of {"batch", "random"}. `entries` are the captures still
    to come, in order.
    """

    def __init__(self, batches, entries):
        self.batches, self.entries = batches, list(entries)
        self.starts = {}  # loader -> index of the first batch of entries[0]

    def loaders(self):
        """Return the loaders that it feeds."""
        return sorted({loader for one in self.batches for loader in one})

    def expected(self, entry):
        """Return how many batches of each loader the step of `entry` uses."""
        return {loader: len(self.batches[entry[0]].get(loader, ())) for loader in self.loaders()}

    def plan(self, deliveries):
        """Lay the entries out from the first step all of whose batches are still to be fetched."""
        usual = self.expected(self.entries[0])
        steps = max(
            [
                -(-(d.fetched - d.consumed) // max(1, usual[loader]))
                for loader, d in deliveries.items()
                if loader in usual
            ],
            default=0,
        )
        self.starts = {loader: deliveries[loader].consumed + steps * usual[loader] for loader in usual}

    def due(self, deliveries):
        """Return "now", "later" or "missed": where the program stands before the step of the first entry."""
        apart = [deliveries[loader].consumed - start for loader, start in self.starts.items()]
        return "missed" if max(apart) > 0 else "later" if min(apart) < 0 else "now"

    def given(self, loader, index):
        """Return (batch, entry) that the fetch number `index` of `loader` is for, or None."""
        start = self.starts.get(loader)
        if start is None or index < start:
            return None
        for entry in self.entries:
            mine = self.batches[entry[0]].get(loader, ())
            if index < start + len(mine):
                return mine[index - start]["batch"], entry
            start += len(mine)
        return None

    def advance(self):
        """Take in that the step of the first entry is over."""
        for loader, number in self.expected(self.entries.pop(0)).items():
            self.starts[loader] += number
