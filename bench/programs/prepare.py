"""Prepare everything that the outside programs need; each part once."""

from programs.catalogue import PROGRAMS
from programs.checkout import SOURCE, check_out
from programs.environments import python_of
from programs.outside import EXAMPLES, WORK, Outside

__all__ = ["prepare"]


def prepare(programs: tuple[Outside, ...] = PROGRAMS, *, source: str = SOURCE) -> None:
    """Check out, make data and environments. A stamp per data folder, written last, tells what is complete."""
    if outside := tuple(program for program in programs if not program.own):
        check_out(outside, source=source)
    stamps = WORK / "made"
    stamps.mkdir(parents=True, exist_ok=True)
    for program in programs:
        python_of(program.environment)
        for maker, where in program.data:
            stamp = stamps / f"{maker.__name__}-{where.replace('/', '+')}"
            if not stamp.exists():
                print(f"{program.name}: {maker.__name__} -> {where}", flush=True)
                maker(EXAMPLES / where)
                stamp.touch()
