"""The loaders that feed training and those that feed evaluation only, as treatments want them."""

from pitstop.records import LoaderSighting
from pitstop.treat.contract import View

__all__ = ["evaluation_loaders", "training_loaders"]


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
