"""Calls that wait for a device, recognized by their text in a frame that is executing them."""

import sys
from types import SimpleNamespace

import pytest

from pitstop.probe.sampler import Sampler
from pitstop.probe.waits import HOST_TO_DEVICE, SYNC, what_waits

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="positions of calls are known from Python 3.11 on")


class Tensor:
    """Its methods say what the frame that called them is doing."""

    def _asked(self, *_args, **_kwargs):
        frame = sys._getframe(1)
        return what_waits(frame.f_code, frame.f_lasti)

    item = tolist = numpy = cpu = to = cuda = copy_ = sum = _asked

    def __bool__(self):
        return True

    def __float__(self):
        self.asked = self._seen_from(sys._getframe(1))
        return 0.0

    def _seen_from(self, frame):
        return what_waits(frame.f_code, frame.f_lasti)


x = Tensor()
nested = SimpleNamespace(batch=[x])


def send_to_device(value):
    frame = sys._getframe(1)
    return what_waits(frame.f_code, frame.f_lasti)


def test_reads_are_told_from_copies_and_from_everything_else():
    assert x.item() == SYNC
    assert (1, x.tolist())[1] == SYNC
    assert nested.batch[0].cpu() == SYNC
    assert x.to("cpu") == SYNC
    assert x.to("cuda", non_blocking=True) == HOST_TO_DEVICE
    assert x.cuda() == HOST_TO_DEVICE
    assert send_to_device(x) == HOST_TO_DEVICE
    assert x.sum() is None
    assert float(x) == 0.0
    assert x.asked == SYNC
    assert x.to(
        "cuda:0",
        non_blocking=True,
    ) == (HOST_TO_DEVICE)


def test_code_without_a_file_says_nothing():
    namespace = {"x": x}
    exec("found = x.item()", namespace)  # noqa: S102 - as notebooks and launchers do
    assert namespace["found"] is None


@pytest.mark.parametrize(("uses_device", "category"), [(True, SYNC), (False, "python")])
def test_only_a_program_with_a_device_can_wait_for_it(uses_device, category):
    session = SimpleNamespace(is_worker=False)
    sampler = Sampler(session, 100, {})
    sampler.uses_device = lambda: uses_device

    class Sampled:
        def item(self):
            sampler._take(sys._getframe(1))

    Sampled().item()
    assert [key[0] for key in sampler._counts] == [category]
