"""Interventions: throw-away runs in which the training's input is taken out of its way, or stands alone.

`cached-batch`: each training loader gives its first batch again and again, so that what a step still takes is all but the input.
`loader-alone`: the training loader is emptied as fast as it goes and the program ends, which gives the loader's top rate.

Never in a run of the user's own: the parent asks for one only inside the sandbox.
"""

import copy
import functools
import sys
import time

CACHED_BATCH = "cached-batch"
LOADER_ALONE = "loader-alone"
FEWEST_BATCHES = 3
MAX_DEPTH = 6


def install(hooked):
    """Patch `DataLoader.__iter__` as the configuration's `intervention` asks; nothing where there is none."""
    wanted = hooked.session.config.get("intervention")
    if not wanted:
        return
    loader_class = sys.modules["torch.utils.data"].DataLoader
    original = loader_class.__iter__
    numbers, kind = frozenset(wanted["loaders"]), wanted["what"]
    kept = {}  # loader number -> its batch
    if kind == CACHED_BATCH:
        # A model soon knows one batch by heart; its gradients then shrink to denormals, which are slow and nobody's input's fault.
        # Threads made later, the ones that compute, inherit the setting.
        hooked.torch.set_flush_denormal(True)

    @functools.wraps(original)
    def __iter__(self):  # noqa: N807
        number = hooked.loaders.give(self)
        if number not in numbers or hooked.session.is_worker:
            return original(self)
        if kind == LOADER_ALONE:
            _drain(hooked.session, self, original, wanted, number)
        if number not in kept:
            batches = original(self)
            try:
                kept[number] = _KeptBatch(hooked.torch, next(batches))
            except StopIteration:
                return original(self)
        return _SameBatch(kept[number], _length(self))

    loader_class.__iter__ = hooked.own(__iter__)


class _SameBatch:
    """An iterator over as many batches as the loader has, all of them the same; without end where it does not say how many."""

    def __init__(self, kept, length):
        self._kept = kept
        self._length = length
        self._served = 0

    def __iter__(self):
        return self

    def __len__(self):
        if self._length is None:
            raise TypeError("object of type 'DataLoader' has no len()")
        return self._length

    def __next__(self):
        if self._length is not None and self._served >= self._length:
            raise StopIteration
        self._served += 1
        return self._kept.fresh()


class _KeptBatch:
    """A batch that is given out again and again: containers anew each time, and tensors as they were at first.

    Programs take entries out of dictionaries, normalise in place and ask for gradients of inputs; an image that is divided by 255 in
    each step would soon be all denormals, and those are slow.
    """

    def __init__(self, torch, batch):
        self._tensor = torch.Tensor
        self._numpy = getattr(sys.modules.get("numpy"), "ndarray", ())
        self._pristine = {}  # id of a tensor -> (the tensor, its copy, version when it was last as the copy)
        self._batch = batch
        self._walk(batch, self._keep, 0)

    def fresh(self):
        """Return the batch as the loader gave it."""
        return self._walk(self._batch, self._served, 0)

    def _keep(self, tensor):
        self._pristine[id(tensor)] = (tensor, tensor.detach().clone(), tensor._version)
        return tensor

    def _served(self, tensor):
        known = self._pristine.get(id(tensor))
        if known is None:
            return tensor
        tensor, saved, version = known
        if tensor._version != version:
            tensor.detach().copy_(saved)
            self._pristine[id(tensor)] = (tensor, saved, tensor._version)
        return tensor.detach()  # shares memory and version; what the program asks of its gradient stays with this one

    def _walk(self, value, leaf, depth):
        if isinstance(value, self._tensor):
            try:
                return leaf(value)
            except Exception:  # an inference tensor has no version, a sparse one no copy: given out as it is
                return value
        if self._numpy and isinstance(value, self._numpy):
            return value.copy()
        if depth >= MAX_DEPTH or value is None or isinstance(value, (str, bytes, int, float)):
            return value
        kind = type(value)
        if kind in (list, tuple):
            return kind(self._walk(item, leaf, depth + 1) for item in value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return kind(*(self._walk(item, leaf, depth + 1) for item in value))
        if kind is dict:
            return {key: self._walk(item, leaf, depth + 1) for key, item in value.items()}
        return self._walk_object(value, leaf, depth)

    def _walk_object(self, value, leaf, depth):
        """Return a shallow copy whose attributes are walked: a dataclass, a graph, the output of a tokenizer."""
        try:
            again = copy.copy(value)
            for name, item in list(vars(value).items()):
                again.__dict__[name] = self._walk(item, leaf, depth + 1)
            if isinstance(value, (dict, list)):
                for key in list(value) if isinstance(value, dict) else range(len(value)):
                    again[key] = self._walk(value[key], leaf, depth + 1)
        except Exception:  # it cannot be copied: given out as it is
            return value
        return again


def _length(loader):
    try:
        return len(loader)
    except Exception:  # an iterable dataset without a length says so in many ways
        return None


def _drain(session, loader, original, wanted, number):
    """Take batches as fast as they come, say how long they took, and end the program."""
    now = time.monotonic_ns
    batches = original(loader)
    begin_ns = last_ns = now()
    count, warm, empty = 0, wanted["warm"], 0
    while count < wanted["batches"] and (count < FEWEST_BATCHES or now() - begin_ns < wanted["limit_ns"]):
        try:
            next(batches)
            empty = 0
        except StopIteration:
            empty += 1
            if empty > 1:
                break
            batches = original(loader)
            continue
        last_ns = now()
        if warm > 0:
            warm -= 1
            begin_ns = last_ns
        else:
            count += 1
    session.sightings.write("drained", loader=number, batches=count, wall_ns=last_ns - begin_ns)
    session.on_stop()
