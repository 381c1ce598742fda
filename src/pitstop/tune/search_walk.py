"""Algorithms written as if measuring were a function call, and still without state.

Such an algorithm is a generator: it yields what it wants to know and is sent the answer. `walk` runs it from its
beginning on what is known, up to the first thing that is not: that is what must be done next. So nothing of the algorithm
needs to be stored, and a replay of the observations repeats it.
"""

from collections.abc import Callable, Generator
from typing import TypeVar

import msgspec

from pitstop.stats.screening import ScreenEstimate
from pitstop.tune.search_actions import Key
from pitstop.tune.search_facts import Facts, Table

__all__ = ["Measuring", "Unknown", "View", "Wanted", "walk"]

Question = TypeVar("Question")
Answer = TypeVar("Answer")
Result = TypeVar("Result")


class Wanted(msgspec.Struct, frozen=True):
    """A set of which a walk wants to know the estimate from at least so many runs."""

    key: Key
    runs: int = 1


class Unknown(msgspec.Struct, frozen=True):
    """The set that must be measured (or checked) before a walk can go on."""

    key: Key


class View(msgspec.Struct, frozen=True, kw_only=True):
    """What a walk may look at. `excluded` proposals and `forbidden` sets failed a numerics gate, or the program is too short for them."""

    facts: Facts
    table: Table
    excluded: frozenset[str] = frozenset()
    forbidden: frozenset[Key] = frozenset()


Measuring = Generator[Wanted, ScreenEstimate | None, Result]  # None: the set failed or needs too much memory


def walk(steps: Generator[Question, Answer, Result], known: Callable[[Question], Answer | Unknown]) -> Result | Unknown:
    """Run `steps` on what is known; return its result, or the first thing that is not known."""
    try:
        wanted = next(steps)
        while True:
            answer = known(wanted)
            if isinstance(answer, Unknown):
                return answer
            wanted = steps.send(answer)
    except StopIteration as end:
        result: Result = end.value
        return result
