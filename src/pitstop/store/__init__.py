"""Run folders and the tune journal: what is kept on disk, and how it survives kill -9."""

from pitstop.store.journal import Journal
from pitstop.store.run_folder import RunFolder, find_run, new_run_folder

__all__ = ["Journal", "RunFolder", "find_run", "new_run_folder"]
