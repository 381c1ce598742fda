"""The program's own argparse options, with the values of this run: where a setting lives that is no literal in the source."""

import functools
import json
import os


def install(argparse, session):
    """Patch `ArgumentParser.parse_known_args`, which `parse_args` and sub-parsers go through."""
    original = argparse.ArgumentParser.parse_known_args

    @functools.wraps(original)
    def parse_known_args(self, args=None, namespace=None):
        result = original(self, args, namespace)
        try:
            _write(argparse, session, self, result[0])
        except Exception as error:
            session.fault("argparse", error)
        return result

    argparse.ArgumentParser.parse_known_args = parse_known_args


def _write(argparse, session, parser, namespace):
    for action in parser._actions:
        if action.dest == argparse.SUPPRESS or isinstance(action, (argparse._HelpAction, argparse._VersionAction)):
            continue
        session.sightings.write(
            "argparse",
            dest=action.dest,
            flags=list(action.option_strings),
            value=_plain(getattr(namespace, action.dest, None)),
            takes_value=action.nargs != 0,
            default=_plain(action.default),
        )


def _plain(value):
    """Return `value` where JSON can say it, the text of a path, and None for everything else."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return None
    return value
