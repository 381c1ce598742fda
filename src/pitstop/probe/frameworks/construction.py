"""Says where an object that holds a framework's settings is made, and with which values."""

import functools
import sys

from ..sites import stack

MOST = 16  # objects described


def watch_construction(session, kind, method, *, framework, names, values):
    """Patch `kind.method`, after which the object has its settings; `values(object, arguments)` returns {name: value}."""
    original = getattr(kind, method)
    seen = [0]

    @functools.wraps(original)
    def constructed(self, *args, **kwargs):
        result = original(self, *args, **kwargs)
        try:
            if seen[0] < MOST:
                seen[0] += 1
                found = values(self, kwargs)
                session.sightings.write(
                    "settings",
                    id=seen[0],
                    framework=framework,
                    class_name=type(self).__name__,
                    stack=stack(sys._getframe(1)),
                    values={name: _plain(found.get(name)) for name in names},
                )
        except Exception as error:
            session.fault("settings of " + framework, error)
        return result

    setattr(kind, method, constructed)


def _plain(value):
    """Return what JSON can say, the value of an enumeration's member, and the text of everything else."""
    value = getattr(value, "value", value)
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
