"""Where the program switches on autograd's anomaly detection."""

import functools
import sys

from ..sites import stack, user_frame

_MOST_PLACES = 16


def install(hooked):
    """Patch construction of both of torch's context managers."""
    module = sys.modules["torch.autograd.anomaly_mode"]
    places: set = set()
    for name in ("set_detect_anomaly", "detect_anomaly"):
        _watch(hooked, getattr(module, name), name, places)


def _watch(hooked, switch, name, places):
    original = switch.__init__

    @functools.wraps(original)
    def __init__(self, *args, **kwargs):  # noqa: N807 - takes the place of the real one
        original(self, *args, **kwargs)
        try:
            mode = True if name == "detect_anomaly" else args[0] if args else kwargs.get("mode")
            frame = user_frame(sys._getframe(1))
            if not mode or frame is None or len(places) >= _MOST_PLACES:
                return
            place = frame.f_code, frame.f_lasti
            if place not in places:
                places.add(place)
                hooked.session.sightings.write("anomaly", id=len(places), stack=stack(frame), function=name)
        except Exception as error:
            hooked.session.fault(name, error)

    switch.__init__ = hooked.own(__init__)
