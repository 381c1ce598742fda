"""Files of another version laid over the project, inside the sandbox: whole files with their modes, links, and what is not there."""

import contextlib
import os
import shutil
import stat
from collections.abc import Iterable, Mapping

_CACHE = "__pycache__"


def lay(laid: Mapping[str, str], *, removed: Iterable[str], kept_folder: str) -> None:
    """Remove `removed`, then copy each file or link of `laid` (place -> source) to its place. Raises OSError.

    A folder that is left empty goes too, as with a checkout, since Python takes an empty folder for a package; but never
    `kept_folder` or one above it. What stands in the way of a file (a folder, a link) is removed.
    """
    for path in removed:
        _remove(path)
        _remove_empty(os.path.dirname(path), kept_folder)
    for place, source in laid.items():
        _make_folder(os.path.dirname(place))
        _remove(place)
        if os.path.islink(source):
            os.symlink(os.readlink(source), place)
        else:
            shutil.copyfile(source, place)
            os.chmod(place, stat.S_IMODE(os.stat(source).st_mode))


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
        return
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        os.unlink(path)


def _make_folder(path: str) -> None:
    """Make `path` a folder; a file of the working tree where the other version has a folder gives way."""
    if os.path.isdir(path):
        return
    _make_folder(os.path.dirname(path))
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    os.mkdir(path)


def _remove_empty(folder: str, kept_folder: str) -> None:
    while folder != os.path.dirname(folder) and not _is_below(kept_folder, folder):
        try:
            if os.listdir(folder) == [_CACHE]:
                shutil.rmtree(os.path.join(folder, _CACHE))
            os.rmdir(folder)
        except OSError:  # not empty, or already gone
            return
        folder = os.path.dirname(folder)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
