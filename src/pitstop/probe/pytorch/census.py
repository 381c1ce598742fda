"""What batches look like: sizes, types, whether shapes vary, how much of them is padding. Looks at a few, changes none.

Tensors are read through numpy with torch's overrides off, so that no mode or subclass of the program sees an operation of ours.
"""

import sys

MAX_LEAVES = 16
MAX_DEPTH = 4
MAX_SHAPES = 8
MAX_ELEMENTS = 1 << 20  # of a tensor that is searched for padding
MIN_LENGTH = 8
MAX_INSIDE = 0.05  # of the other positions may hold the padding's value; else it is a value like others


class Census:
    """Counts over the batches of one loader."""

    def __init__(self, torch):
        self._torch = torch
        self._batches = self._bytes = 0
        self._sizes: list = []
        self._leaves: dict = {}  # path -> its fields

    def add(self, batch):
        """Look at one batch."""
        with self._torch._C.DisableTorchFunction():
            found: list = []
            self._walk(batch, "", found, MAX_DEPTH)
            self._batches += 1
            for path, tensor in found:
                self._look(path, tensor)
            sizes = [tensor.size(0) for _path, tensor in found if tensor.dim()]
            if sizes:
                size = sizes[0]
                self._sizes = (
                    [min(size, *self._sizes[:1]), max(size, *self._sizes[1:])] if self._sizes else [size, size]
                )

    def _walk(self, value, path, found, depth):
        if len(found) >= MAX_LEAVES:
            return
        if type(value) is self._torch.Tensor:
            found.append((path, value))
        elif depth and type(value) in (list, tuple):
            for position, item in enumerate(value[:MAX_LEAVES]):
                self._walk(item, "%s[%d]" % (path, position), found, depth - 1)
        elif depth and type(value) is dict:
            for key in list(value)[:MAX_LEAVES]:
                self._walk(value[key], "%s[%r]" % (path, key), found, depth - 1)

    def _look(self, path, tensor):
        leaf = self._leaves.setdefault(path, {"dtypes": [], "shapes": [], "places": 0, "padded": 0})
        shape = list(tensor.shape)
        if str(tensor.dtype) not in leaf["dtypes"]:
            leaf["dtypes"].append(str(tensor.dtype))
        if shape not in leaf["shapes"] and len(leaf["shapes"]) < MAX_SHAPES:
            leaf["shapes"].append(shape)
        self._bytes += tensor.numel() * tensor.element_size()
        padded = padding(self._torch, tensor)
        if padded is not None:
            leaf["places"] += padded[1]
            leaf["padded"] += padded[0]

    def fields(self):
        """Return the fields of a `CensusSighting`."""
        return {
            "batches": self._batches,
            "batch_bytes": self._bytes,
            "smallest": self._sizes[0] if self._sizes else None,
            "largest": self._sizes[1] if self._sizes else None,
            "leaves": [{"path": path, **leaf} for path, leaf in self._leaves.items()],
        }


def padding(torch, tensor):
    """Return (padded places, places) of a batch of sequences; None where it cannot be one, or is not to be read here.

    A sequence is a row of integers (tokens) or a row of vectors (frames). Padding is a run of one same value at the end of rows,
    of different lengths, which the rest of the rows hardly holds: labels with many zeros and images with dark borders have none.
    """
    tokens = tensor.dim() == 2 and not tensor.is_floating_point() and not tensor.is_complex()
    frames = tensor.dim() == 3 and tensor.is_floating_point()
    if not (tokens or frames) or tensor.device.type != "cpu" or tensor.dtype in (torch.bool, torch.bfloat16):
        return None
    if tensor.layout is not torch.strided or tensor.requires_grad or not 0 < tensor.numel() <= MAX_ELEMENTS:
        return None
    rows, length = tensor.size(0), tensor.size(1)
    numpy = sys.modules.get("numpy")
    if numpy is None or rows < 2 or length < MIN_LENGTH:
        return None
    values = tensor.numpy()
    last = values[:, -1].reshape(rows, -1)
    if frames and not (last == last[:, :1]).all(axis=1).any():
        return 0, rows * length
    plain = last[(last == last[:, :1]).all(axis=1), 0]
    found, counts = numpy.unique(plain, return_counts=True)
    pad = found[counts.argmax()]
    same = values == pad if tokens else (values == pad).all(axis=2)
    runs = numpy.cumprod(same[:, ::-1], axis=1).sum(axis=1)  # of the padding's value, at the end of each row
    padded = int(runs.sum())
    inside = int(same.sum()) - padded
    rest = rows * length - padded
    if runs.max() < 2 or runs.min() == runs.max() or not rest or inside > MAX_INSIDE * rest:
        return 0, rows * length
    return padded, rows * length
