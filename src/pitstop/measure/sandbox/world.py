"""The place in which one trial runs: its folders, its launch line and environment, and what is left of it afterwards."""

import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from pitstop.errors import CouldNotMeasure
from pitstop.measure.ending import MARK
from pitstop.measure.launch_line import OFFLINE, changed_arguments
from pitstop.measure.sandbox.inside.lay import lay
from pitstop.measure.sandbox.plan import SandboxPlan
from pitstop.measure.sandbox.project_copy import copy_project, moved_text
from pitstop.measure.sandbox.scratch import new_trial_folder, remove_tree
from pitstop.records import Change, Program

__all__ = ["World"]

_LONGEST_TMPDIR = 60  # sockets of multiprocessing get 40 characters more and may have 107


class World:
    """One trial's place. `project` is where the program sees its project: the same path, or the copy's."""

    def __init__(self, plan: SandboxPlan, *, project_root: Path, change: Change) -> None:
        if plan.kind == "none" and change.paths:
            raise CouldNotMeasure("sandbox.no_place_for_files", paths=", ".join(change.paths))
        self.plan = plan
        self.project_root = project_root
        self.change = change
        self.folder = new_trial_folder(Path(plan.scratch))
        self.layers = self.folder / "layers"
        self.project = project_root
        self.mark = self.folder.name
        self._short_tmpdir: Path | None = None
        try:
            (self.folder / "root").mkdir()
            self.layers.mkdir()
            self._cache = self.folder / "cache"
            if plan.kind == "copy":
                self.project = self.folder / "project"
                copy_project(project_root, self.project)
                self._write_files()
        except BaseException:
            self.remove()
            raise

    def program(self, program: Program) -> tuple[tuple[str, ...], str]:
        """Return the argument vector and working directory of the trial."""
        argv = changed_arguments(program.argv, self.change)
        return tuple(self._moved(word) for word in argv), self._moved(program.cwd)

    def environment(self, env: dict[str, str]) -> dict[str, str]:
        """Return the trial's environment: offline, with temporary files and compiler caches of its own."""
        changed = {**env, **self.change.env, MARK: self.mark}
        if self.plan.network != "open":
            changed.update(OFFLINE)
        if self.plan.kind == "copy":
            for name, value in changed.items():
                changed[name] = self._moved(value)
            changed["TMPDIR"] = str(self._tmpdir())
        if self.plan.kind != "none":
            changed["TORCHINDUCTOR_CACHE_DIR"] = f"{self._cache_inside()}/inductor"
            changed["TRITON_CACHE_DIR"] = f"{self._cache_inside()}/triton"
        return changed

    def take_cache(self, compile_cache: Path | None) -> None:
        """Make the trial's private compiler cache: a copy of `compile_cache` where there is one, else empty."""
        if compile_cache is not None and compile_cache.is_dir():
            shutil.copytree(compile_cache, self._cache, symlinks=True)
        else:
            self._cache.mkdir()

    def publish_cache(self, compile_cache: Path) -> None:
        """After a clean end: make the trial's cache the common one, unless there is one already."""
        if not compile_cache.exists() and any(self._cache.iterdir()):
            compile_cache.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(OSError):  # another trial was first
                self._cache.rename(compile_cache)

    def take_seed(self, seed: Path | None) -> None:
        """Copy mode: put the seed's files of the project into the copy. Overlays take the seed as a layer instead."""
        if seed is not None and self.plan.kind == "copy":
            source = seed / self.project_root.relative_to("/")
            if source.is_dir():
                shutil.copytree(source, self.project, symlinks=True, dirs_exist_ok=True)

    def launch(self, *, probe_folder: Path | None, seed: Path | None, keep_layers: Path | None) -> dict[str, Any]:
        """Return the launcher's orders that concern the sandbox (see `inside/main.py`)."""
        plan = self.plan
        overlay = plan.kind == "overlay"
        if keep_layers is not None:
            keep_layers.mkdir(parents=True)
        binds = [(str(self._cache), self._cache_inside())]
        writable = [str(self.folder), "/dev/shm", "/dev/pts", "/dev/ptmx", "/dev/tty"]  # noqa: S108
        if self._short_tmpdir is not None:
            writable.append(str(self._short_tmpdir))
        if probe_folder is not None:
            binds.append((str(probe_folder), str(probe_folder)))
            writable.append(str(probe_folder))
        return {
            "kind": plan.kind,
            "user_namespace": plan.user_namespace,
            "pid_namespace": plan.pid_namespace,
            "network_namespace": plan.network == "loopback",
            "refuse_tcp": plan.network == "no-tcp",
            "landlock": plan.landlock,
            "freeze_metadata": plan.freeze_metadata,
            "root": str(self.folder / "root"),
            "layers": str(self.layers),
            "tmpfs_bytes": plan.disk_limit_bytes if overlay and plan.upper == "tmpfs" else None,
            "keep_layers": str(keep_layers) if keep_layers and plan.upper == "tmpfs" else None,
            "seed": str(seed) if seed is not None and overlay else None,
            "scratch": plan.scratch,
            "binds": binds if overlay else [],
            "files": dict(self.change.files) if overlay else {},
            "laid": dict(self.change.laid) if overlay else {},
            "removed": list(self.change.removed) if overlay else [],
            "required": [str(self.project_root)],
            "writable": writable,
        }

    def written_bytes(self) -> int:
        """Return the disk space that the trial's files take; walks them, so ask only when the disk says it may be much."""
        total, folders = 0, [str(self.folder)]
        while folders:  # no recursion: a program may nest deeper than Python can
            with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_blocks * 512
        return total

    def keep_layers(self, destination: Path) -> None:
        """Move the layers to `destination` (for `collect_seed`), unless they are there already."""
        if self.plan.kind == "overlay" and self.plan.upper == "scratch":
            self.layers.rename(destination)

    def remove(self) -> None:
        """Remove everything of the trial's; raises OSError if something resists."""
        remove_tree(self.folder)
        if self._short_tmpdir is not None:
            remove_tree(self._short_tmpdir)

    def _write_files(self) -> None:
        laid = {str(self._inside(path)): source for path, source in self.change.laid.items()}
        lay(laid, removed=[str(self._inside(path)) for path in self.change.removed], kept_folder=str(self.project))
        for path, text in self.change.files.items():
            place = self._inside(path)
            if place.is_symlink():  # a large file, or a link that leads out of the project
                place.unlink()
            place.write_text(text, encoding="utf-8", newline="")

    def _inside(self, path: str) -> Path:
        """Return where `path` lies in the copy. Raises CouldNotMeasure where it is not in it, or below a link that leads out of it."""
        moved = Path(self._moved(path))
        if str(moved) == path or not moved.parent.resolve().is_relative_to(self.project.resolve()):
            raise CouldNotMeasure("sandbox.file_outside_copy", path=path, project=self.project_root)
        return moved

    def _moved(self, text: str) -> str:
        if self.plan.kind != "copy":
            return text
        return moved_text(text, project=str(self.project_root), target=str(self.project))

    def _cache_inside(self) -> str:
        """One path for every trial where it can be: compiled code may name the folder that it lies in."""
        return f"{self.plan.scratch}/compile-cache" if self.plan.kind == "overlay" else str(self._cache)

    def _tmpdir(self) -> Path:
        if self._short_tmpdir is None:
            place = self.folder / "tmp"
            if len(str(place)) <= _LONGEST_TMPDIR:
                place.mkdir(exist_ok=True)
                return place
            self._short_tmpdir = Path(tempfile.mkdtemp(prefix="pitstop-"))
        return self._short_tmpdir
