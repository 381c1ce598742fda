"""`import pitstop` in an interpreter that has no pitstop: a module with `step`, and nothing else of us."""

import sys
from typing import Any


class Provided:
    """A meta path finder at the end of the path, so that a pitstop that is installed is the one imported."""

    def find_spec(self, name, path=None, target=None):  # noqa: ARG002 - the import system's signature
        """Find the module `pitstop`; submodules and everything else are not here."""
        if name != "pitstop":
            return None
        loader: Any = self
        return type(__spec__)(name, loader, origin="provided by the pitstop that watches")

    def create_module(self, spec):
        """Let the import system make the module."""

    def exec_module(self, module):
        """Fill the module."""
        from . import api

        module.__doc__ = "What a program may say to the pitstop that watches it."
        module.__all__ = ["step"]
        module.step = api.step


def provide():
    """Make `import pitstop` work in this process."""
    sys.meta_path.append(Provided())
