"""Which loaders feed training and which feed evaluation only."""

from collections import Counter
from collections.abc import Iterable

from pitstop.records import Event, EventKind, LoaderRoles

__all__ = ["loader_roles", "training_loaders"]

_WORK = (EventKind.FORWARD, EventKind.OPTIMIZER)
_GRAD_ENABLED = 2


def loader_roles(events: Iterable[Event]) -> LoaderRoles:
    """Tell loaders apart by what follows their batches in the training process, before the next batch is asked for.

    Fetches with no model work between them belong together (two loaders zipped, or a library that asks for one batch ahead). A loader
    feeds training where at least half of its batches are followed by a backward; where too few are, it feeds evaluation.
    Where nothing ever goes backward (inference loops) every loader counts as training.
    """
    following = _Following()
    for event in sorted(events, key=lambda event: event.start_ns):
        following.take(event)
    fetched, trained = following.fetched, following.trained
    if not following.goes_backward:
        return LoaderRoles(training=frozenset(fetched))
    training = frozenset(loader for loader, count in fetched.items() if 2 * trained[loader] >= count)
    return LoaderRoles(training=training, evaluation=frozenset(fetched) - training)


def training_loaders(events: Iterable[Event]) -> frozenset[int]:
    """Return the ids of loaders that feed training (`loader_roles`)."""
    return loader_roles(events).training


class _Following:
    """What has followed the batches so far; `take` the events in time order."""

    def __init__(self) -> None:
        self.fetched: Counter[int] = Counter()
        self.trained: Counter[int] = Counter()
        self.goes_backward = False
        self._waiting: list[int] = []  # batches since the last work
        self._behind: Counter[int] = (
            Counter()
        )  # those worked with before: their losses may be summed up for one backward
        self._over: set[int] = set()  # loaders at their end, whose last batch may still be to come
        self._worked = False

    def take(self, event: Event) -> None:
        if event.kind is EventKind.FETCH:
            self._fetch(event.arg)
        elif event.kind is EventKind.EPOCH_END:
            if self._worked:  # asked, and there was no batch
                self._waiting = [loader for loader in self._waiting if loader != event.arg]
            self._over.add(event.arg)
        elif event.kind is EventKind.BACKWARD:
            self._backward()
        elif event.kind in _WORK:
            self._worked = True
            if event.kind is EventKind.FORWARD and not event.flags & _GRAD_ENABLED:
                self._drop_ended()

    def _fetch(self, loader: int) -> None:
        if self._worked:
            self._behind.update(self._waiting)
            self._waiting, self._worked = [], False
        self._drop_ended()
        self._waiting.append(loader)
        self._over.discard(loader)
        self.fetched[loader] += 1

    def _backward(self) -> None:
        self.goes_backward = True
        self.trained.update(self._waiting)
        if set(self._behind) == set(self._waiting):
            self.trained.update(self._behind)
        self._behind.clear()
        self._waiting, self._worked = [], True

    def _drop_ended(self) -> None:
        self._waiting = [loader for loader in self._waiting if loader not in self._over]
