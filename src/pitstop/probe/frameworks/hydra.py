"""Hydra: the composed configuration, whose every value can be overridden on the launch line as `key=value`."""

import functools
import sys

_MOST_VALUES = 512


def install(module, session):
    """Patch `HydraConfig.set_config`, which is given the whole configuration before the program's function runs."""
    kind = module.HydraConfig
    original = kind.set_config

    @functools.wraps(original)
    def set_config(self, config):
        result = original(self, config)
        try:
            _write(session, config)
        except Exception as error:
            session.fault("Hydra", error)
        return result

    kind.set_config = set_config


def _write(session, config):
    """Write what the user configured; Hydra's own node is not the user's."""
    container = sys.modules["omegaconf"].OmegaConf.to_container
    values = {key: value for key, value in container(config, resolve=False).items() if key != "hydra"}
    for number, (path, value) in enumerate(_leaves(values, ())):
        if number >= _MOST_VALUES:
            return
        name = ".".join(path)
        session.sightings.write(
            "argparse", dest=name, flags=[name], value=value, takes_value=True, default=None, style="override"
        )


def _leaves(value, path):
    """Yield (path, value) of every plain value under string keys."""
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(key, str):
                yield from _leaves(item, (*path, key))
    elif value is None or isinstance(value, (bool, int, float, str)):
        yield path, value
