"""Check out the folders of pytorch/examples that are measured, at one commit, without their bundled data."""

import subprocess
from pathlib import Path

from programs.outside import EXAMPLES, Outside

__all__ = ["COMMIT", "check_out", "unmodified"]

SOURCE = "https://github.com/pytorch/examples"
COMMIT = "77f55b912142e11fcfdf5b530231fb9c52f181e8"


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout


def check_out(programs: tuple[Outside, ...], *, source: str = SOURCE) -> None:
    """Fill `bench-work/examples` from `source` (an address or a git directory); folders that are there stay as they are."""
    if not (EXAMPLES / ".git").is_dir():
        EXAMPLES.parent.mkdir(parents=True, exist_ok=True)
        _git("clone", "--quiet", "--no-checkout", source, str(EXAMPLES))
    for folder in sorted({program.folder for program in programs}):
        if not any((EXAMPLES / folder).glob("*.py")):
            # The text that word_language_model ships is not wanted: it is licensed apart, and large.
            _git("-C", str(EXAMPLES), "checkout", "--quiet", COMMIT, "--", f":(glob){folder}/**/*.py")


def unmodified(folder: str) -> bool:
    """Whether every Python file of `folder` still is what COMMIT has."""
    root = Path(_git("-C", str(EXAMPLES), "rev-parse", "--show-toplevel").strip())
    changed = _git("-C", str(root), "diff", "--name-only", COMMIT, "--", f":(glob){folder}/**/*.py")
    return not [line for line in changed.splitlines() if (root / line).exists()]
