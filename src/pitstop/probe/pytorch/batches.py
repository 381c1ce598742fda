"""How many samples a batch holds: found once per loader, then read through the same path."""

MAX_DEPTH = 4
MAX_CANDIDATES = 64


class SampleCounter:
    """Counts samples of the batches of one loader. `expected`: its batch size, or None where it does not know one."""

    def __init__(self, torch, expected):
        self._tensor = torch.Tensor
        self._expected = expected
        self._path = None
        self._by_size = True
        self._misses = 0

    def count(self, batch):
        """Return the number of samples, 0 where it cannot be told. May raise for odd containers."""
        path = self._path
        if path is not None:
            try:
                for key in path:
                    batch_part = batch[key]
                    batch = batch_part
                return batch.size(0) if self._by_size else len(batch)
            except (TypeError, KeyError, IndexError, AttributeError):
                self._path = None  # batches of several shapes: look again
        if self._misses > 3:
            return 0
        return self._find(batch)

    def _find(self, batch):
        candidates: list = []
        self._walk(batch, (), candidates)
        if not candidates:
            self._misses += 1
            return 0
        # What is as long as the batch size is the batch; else the first dimension of the first tensor.
        tensors = [candidate for candidate in candidates if candidate[1]]
        fitting = [candidate for candidate in candidates if candidate[2] == self._expected]
        path, by_size, count = (fitting or tensors or candidates)[0]
        if fitting or self._expected is None or count <= self._expected:
            self._path, self._by_size = path, by_size
        return count

    def _walk(self, value, path, candidates):
        if len(candidates) >= MAX_CANDIDATES:
            return
        if isinstance(value, self._tensor):
            if value.dim() > 0:
                candidates.append((path, True, value.size(0)))
            return
        if len(path) >= MAX_DEPTH:
            return
        if isinstance(value, (list, tuple)):
            items = list(enumerate(value[:MAX_CANDIDATES]))
            children = (path, False, len(value))
        elif hasattr(value, "keys") and hasattr(value, "__getitem__"):
            items = [(key, value[key]) for key in list(value.keys())[:MAX_CANDIDATES]]
            children = None
        else:
            return
        for key, item in items:
            self._walk(item, (*path, key), candidates)
        if children is not None:
            candidates.append(children)
