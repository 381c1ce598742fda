"""Which loaders feed training and which feed evaluation only."""

from collections import Counter
from collections.abc import Iterable

from pitstop.records import Event, EventKind, LoaderSighting
from pitstop.treat.contract import LoaderRoles, View

__all__ = ["evaluation_loaders", "loader_roles", "training_loaders"]

_WORK = (EventKind.FORWARD, EventKind.BACKWARD, EventKind.OPTIMIZER)


def loader_roles(events: Iterable[Event]) -> LoaderRoles:
    """Tell loaders apart by what follows their batches in the training process, before the next batch is asked for.

    Fetches with no model work between them belong together (two loaders zipped). A loader feeds training where at least
    half of its batches are followed by a backward; where none is, but a forward is, it feeds evaluation.
    """
    fetched: Counter[int] = Counter()
    trained: Counter[int] = Counter()
    waiting: list[int] = []
    worked = False
    for event in sorted(events, key=lambda event: event.start_ns):
        if event.kind is EventKind.FETCH:
            if worked:
                waiting, worked = [], False
            waiting.append(event.arg)
            fetched[event.arg] += 1
        elif event.kind is EventKind.EPOCH_END:
            waiting = [loader for loader in waiting if loader != event.arg]  # asked, and there was no batch
        elif event.kind is EventKind.BACKWARD:
            trained.update(waiting)
            waiting, worked = [], True
        elif event.kind in _WORK:
            worked = True
    training = frozenset(loader for loader, count in fetched.items() if 2 * trained[loader] >= count)
    return LoaderRoles(training=training, evaluation=frozenset(fetched) - training)


def training_loaders(view: View) -> tuple[LoaderSighting, ...]:
    """Return the loaders that feed training; without roles, those with a random sampler, else the first one."""
    loaders = view.evidence.loaders
    if view.roles is not None:
        return tuple(loader for loader in loaders if loader.id in view.roles.training)
    shuffled = tuple(loader for loader in loaders if loader.sampler_class and _shuffles(loader.sampler_class))
    return shuffled or loaders[:1]


def evaluation_loaders(view: View) -> tuple[LoaderSighting, ...]:
    """Return the loaders that feed evaluation only; without roles, those of a kept order where another is shuffled."""
    if view.roles is not None:
        return tuple(loader for loader in view.evidence.loaders if loader.id in view.roles.evaluation)
    training = {loader.id for loader in training_loaders(view)}
    return tuple(loader for loader in view.evidence.loaders if loader.id not in training)


def _shuffles(sampler_class: str) -> bool:
    return any(word in sampler_class.rsplit(".", 1)[-1] for word in ("Random", "Distributed", "Shuffle"))
