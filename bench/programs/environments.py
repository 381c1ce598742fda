"""The Python environments that the measured programs run in."""

import subprocess
from pathlib import Path

from programs.outside import ROOT

__all__ = ["python_of"]

ENVIRONMENTS = {
    # torchvision has no release that fits torch 2.13.0, the one in .venv; so the programs that need it get a pair that fits.
    "torchvision": ("torch==2.14.1", "torchvision==0.29.1", "six", "requests", "numpy"),
    "science": ("torch==2.13.0", "gymnasium", "matplotlib", "numpy"),
}


def python_of(environment: str) -> Path:
    """Return the interpreter of `environment` ("torch": .venv, "loops": as by `make loops-env`), made first if it is not there yet."""
    if environment == "torch":
        return ROOT / ".venv" / "bin" / "python"
    if environment == "loops":  # the tests' own, with versions that are written down
        subprocess.run(["make", "-s", "-C", str(ROOT), "loops-env"], check=True)
        return ROOT / ".venvs" / "loops" / "bin" / "python"
    folder = ROOT / ".venvs" / environment
    stamp = folder / ".complete"
    if not stamp.exists():
        subprocess.run(["python3.11", "-m", "venv", str(folder)], check=True)
        subprocess.run([str(folder / "bin" / "pip"), "install", "--quiet", *ENVIRONMENTS[environment]], check=True)
        stamp.write_text("\n".join(ENVIRONMENTS[environment]))
    return folder / "bin" / "python"
