"""Which code logs: libraries by their files, `print` by the line of the source."""

import logging
import sys
from types import SimpleNamespace

import pytest

from pitstop.probe.loggers import is_logging, prints
from pitstop.probe.sampler import LOGS, Sampler
from pitstop.probe.waits import HOST_TO_DEVICE, SYNC
from pitstop.records import GAP_CATEGORIES


@pytest.mark.parametrize(
    ("path", "logs"),
    [
        (logging.__file__, True),
        ("/venv/lib/python3.11/site-packages/tqdm/std.py", True),
        ("/venv/lib/python3.11/site-packages/torch/utils/tensorboard/writer.py", True),
        ("/venv/lib/python3.11/site-packages/matplotlib/figure.py", True),
        ("/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py", False),
        ("/home/me/rich.py", False),
        ("/home/me/my_logging/train.py", False),
    ],
)
def test_a_library_is_known_by_its_files(path, logs):
    assert is_logging(path) is logs


def test_prints_are_known_by_their_line(tmp_path):
    source = tmp_path / "train.py"
    source.write_text("x = 1\n    print(x)\nprinter(x)\n")
    assert [prints(str(source), line) for line in (1, 2, 3, 4)] == [False, True, False, False]
    assert prints("<string>", 1) is False


def test_a_sample_inside_a_library_that_logs_says_so(tmp_path):
    """The sampler looks at real frames: a handler that takes a sample while it is writing."""
    session = SimpleNamespace(folder=str(tmp_path), is_worker=False, fault=None, recorder=None)
    sampler = Sampler(session, 100, {})

    class Taking(logging.Handler):
        def emit(self, _record):  # code of a user's inside the library: not the library's
            sampler._take(sys._getframe())

        def handle(self, record):
            return super().handle(record)

    taken = {}

    class Buffer:
        def write(self, _text):
            taken["frame"] = sys._getframe(1)  # logging's own emit
            sampler._take(taken.pop("frame"))

        def flush(self):
            pass

    logger = logging.Logger("test")  # noqa: LOG001 - outside of the hierarchy, so that pytest does not see it
    logger.addHandler(logging.StreamHandler(Buffer()))
    logger.error("written")
    kinds = {key[0] for key in sampler._counts}
    assert kinds == {LOGS}
    logger.handlers = [Taking()]
    sampler._counts.clear()
    logger.error("taken")
    assert {key[0] for key in sampler._counts} == {"python"}


def test_both_sides_call_it_the_same():
    assert set(GAP_CATEGORIES) == {LOGS, SYNC, HOST_TO_DEVICE}
