"""Which of the sets measured so far are best, and which of them are confirmed."""

from pitstop.tune.search_actions import Key
from pitstop.tune.search_screening import difference_error, pays, usable
from pitstop.tune.search_walk import View

__all__ = ["best_known", "choose_finalists", "ranked"]

_NO_DOUBT = 3.0  # standard errors above the baseline: then the confirmation hardly fails for having picked wrongly


def best_known(view: View) -> Key:
    """Return the best set measured so far that pays, for when the budget forbids more; () without any."""
    found = ranked(view)
    return found[0] if found else ()


def choose_finalists(best: Key, *, view: View) -> tuple[Key, ...]:
    """Return the sets to confirm, the best first: it alone where screening left no doubt that it is faster.

    Otherwise those that noise does not tell from it stand beside it, since the choice among them was by noise.
    """
    estimates, most = view.table.estimates, view.facts.options.max_finalists
    estimate = estimates[best]
    if most == 1 or estimate.log_ratio > _NO_DOUBT * estimate.standard_error:
        return (best,)
    close = [
        key
        for key in ranked(view)
        if key != best and estimate.log_ratio - estimates[key].log_ratio < difference_error(estimate, estimates[key])
    ]
    return (best, *close[: most - 1])


def ranked(view: View) -> list[Key]:
    """Return the usable sets that pay and that no gate forbids, the best first."""
    estimates = view.table.estimates
    found = [
        key
        for key, estimate in estimates.items()
        if usable(key, table=view.table)
        and key not in view.forbidden
        and not view.excluded & set(key)
        and pays(estimate, None, facts=view.facts)
    ]
    return sorted(found, key=lambda key: (-estimates[key].log_ratio, len(key)))
