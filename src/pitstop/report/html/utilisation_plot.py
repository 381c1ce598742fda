"""Use of the processors over the run, as one filled line in a box of 100 x 100."""

from typing import Any

import msgspec

from pitstop.report import numbers

MOST_POINTS = 300


class UtilisationPlot(msgspec.Struct, frozen=True, kw_only=True):
    """`points` and `area` are SVG point lists; the box's height is all usable cores busy."""

    points: str
    area: str
    end_text: str


def utilisation_plot(timeline: Any) -> UtilisationPlot | None:
    """Return the plot of [[seconds, share], ...], or None where that is missing or too short (under 3 points)."""
    if not isinstance(timeline, list | tuple):
        return None
    known = [(float(point[0]), float(point[1])) for point in timeline if _is_point(point)]
    if len(known) < 3 or known[-1][0] <= known[0][0]:
        return None
    known = known[:: -(-len(known) // MOST_POINTS)]
    start, span = known[0][0], known[-1][0] - known[0][0]
    places = [
        (round(100 * (at - start) / span, 2), round(100 * (1 - min(max(part, 0.0), 1.0)), 2)) for at, part in known
    ]
    points = " ".join(f"{x:g},{y:g}" for x, y in places)
    return UtilisationPlot(points=points, area=f"0,100 {points} 100,100", end_text=numbers.duration(span * 1e9))


def _is_point(point: Any) -> bool:
    return (
        isinstance(point, list | tuple) and len(point) == 2 and all(isinstance(value, int | float) for value in point)
    )
