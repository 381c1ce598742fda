"""Libraries that log, plot and show progress: their frames in stack samples, and their calls that are known to be slow.

Most of what they do is seen by the sampling thread at no cost to the program. Timed are only calls that write or draw; those
that merely take a number down (a metric object's `update`) are not.
"""

import functools
import os
from typing import Any

from .recorder import LOGGING
from .sites import absolute

_PARTS = (
    "/tqdm/",
    "/logging/__init__.py",
    "/logging/handlers.py",
    "/tensorboard/",
    "/tensorboardX/",
    "/wandb/",
    "/mlflow/",
    "/matplotlib/",
    "/loguru/",
    "/structlog/",
    "/rich/",
    "/comet_ml/",
    "/neptune/",
    "/clearml/",
    "/visdom/",
)
# Module whose import to wait for -> the class in it -> methods that write or draw.
_WRITER = ("add_scalar", "add_scalars", "add_histogram", "add_image", "add_images", "add_figure", "add_text", "flush")
_CALLS = (
    ("torch.utils.tensorboard.writer", "SummaryWriter", _WRITER),
    ("tensorboardX.writer", "SummaryWriter", _WRITER),
    ("matplotlib.figure", "Figure", ("savefig",)),
    ("wandb.sdk.wandb_run", "Run", ("log",)),
    ("mlflow.tracking.client", "MlflowClient", ("log_metric", "log_batch", "log_param", "log_figure", "log_artifact")),
    ("tqdm.std", "tqdm", ("refresh",)),
    ("logging", "Logger", ("handle",)),
)
_known: dict = {}


def is_logging(filename):
    """Tell whether code of that file belongs to a library that logs, plots or shows progress."""
    known = _known.get(filename)
    if known is None:
        path = filename.replace(os.sep, "/")
        known = _known[filename] = any(part in path for part in _PARTS)
    return known


@functools.lru_cache(maxsize=4096)
def prints(filename, line):
    """Tell whether that line of the user's source is a `print`. Reads the file: not for the hot path."""
    try:
        with open(absolute(filename), "rb") as file:
            for number, text in enumerate(file, start=1):
                if number == line:
                    return text.lstrip().startswith(b"print(")
    except OSError:
        return False
    return False


def install(session, calls, own):
    """Watch the slow calls of each library once the program has imported it."""
    for module, kind, names in _CALLS:
        session.watch.when(module, _watcher(calls, own, kind, names))


def _watcher(calls, own, kind, names):
    def watch(module):
        owner: Any = getattr(module, kind, None)
        for name in names:
            if owner is not None and callable(owner.__dict__.get(name)):
                title = "%s.%s" % (kind, name)
                calls.watch((owner, name), function=title, own=own, kind=LOGGING, category="logging")

    return watch
