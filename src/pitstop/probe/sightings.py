"""The sightings file: one JSON line per thing seen, written at once; and small numbers for objects."""

import json
import os
import traceback
import weakref

MAX_FAULTS = 50


class Sightings:
    """Appends sightings of this process. No descriptor is kept, for the recorder's reason."""

    def __init__(self, recorder_stem, folder):
        self._folder = folder
        self._stem = recorder_stem
        self._faults = 0

    @property
    def path(self):
        """Where this process writes; the name follows a fork."""
        return os.path.join(self._folder, self._stem() + ".sightings.jsonl")

    def touch(self):
        """Make the file, which tells the parent that the probe is connected."""
        with open(self.path, "a", encoding="utf-8"):
            pass

    def write(self, kind, **fields):
        """Append one sighting; values that JSON does not know are written as their text."""
        line = json.dumps({"kind": kind, **fields}, default=str) + "\n"
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(line)

    def fault(self, where, error):
        """Say that the probe caught an error of its own. Never raises: it is where errors end."""
        self._faults += 1
        if self._faults > MAX_FAULTS:
            return
        try:
            last = traceback.extract_tb(error.__traceback__)[-1:]
            place = "".join(" at %s:%s" % (os.path.basename(frame.filename), frame.lineno) for frame in last)
            self.write("probe_fault", where=where, error="%s: %s%s" % (type(error).__name__, error, place))
        except Exception:  # the folder is gone or the disk is full: there is nowhere to say it
            return


class Numbers:
    """Object -> 1, 2, 3 ... in the order of first sight, by identity and without keeping objects alive.

    `known`: id of the object -> (number, weak reference that removes the entry); hot paths read it themselves.
    """

    def __init__(self):
        self.known = {}
        self._count = 0

    def get(self, thing):
        """Return the number of `thing`, or 0 if it has none yet."""
        entry = self.known.get(id(thing))
        return entry[0] if entry is not None else 0

    def is_alive(self, number):
        """Tell whether a thing of this number still exists."""
        return any(entry[0] == number for entry in list(self.known.values()))

    def give(self, thing):
        """Return the number of `thing`, giving it the next one if it has none."""
        return self.get(thing) or self.share(thing, None)

    def share(self, thing, number):
        """Give `thing` the number of another thing, or the next free one for None."""
        key = id(thing)
        if number is None:
            self._count += 1
            number = self._count
        self.known[key] = (number, weakref.ref(thing, lambda _gone: self.known.pop(key, None)))
        return number
