"""The program's argparse options as evidence."""

import argparse
from pathlib import Path
from types import SimpleNamespace

import pytest

from pitstop.probe import options


@pytest.fixture
def parse(monkeypatch):
    """Return a function that parses with hooks installed and gives back namespace and what was seen."""
    seen, faults = {}, []
    session = SimpleNamespace(
        sightings=SimpleNamespace(write=lambda kind, **fields: seen.__setitem__(fields["dest"], (kind, fields))),
        fault=lambda *fault: faults.append(fault),
    )
    monkeypatch.setattr(argparse.ArgumentParser, "parse_known_args", argparse.ArgumentParser.parse_known_args)
    options.install(argparse, session)

    def run(parser, *arguments):
        namespace = parser.parse_args(arguments)
        assert faults == []
        return namespace, seen

    return run


def test_options_are_seen_with_flags_value_and_default(parse):
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", "-j", type=int, default=0)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--amp", action="store_true")
    parser.add_argument("model")
    namespace, seen = parse(parser, "-j", "4", "--data", "/d", "resnet")
    assert namespace.workers == 4
    assert set(seen) == {"workers", "data", "amp", "model"}
    kind, workers = seen["workers"]
    assert kind == "argparse"
    assert (workers["flags"], workers["value"], workers["default"], workers["takes_value"]) == (
        ["--workers", "-j"],
        4,
        0,
        True,
    )
    assert seen["data"][1]["value"] == "/d"
    assert seen["amp"][1]["takes_value"] is False
    assert seen["model"][1]["flags"] == []


def test_what_json_cannot_say_is_none(parse):
    parser = argparse.ArgumentParser()
    parser.add_argument("--f", type=lambda text: {1, 2} if text == "set" else float(text))
    assert parse(parser, "--f", "set")[1]["f"][1]["value"] is None
    assert parse(parser, "--f", "nan")[1]["f"][1]["value"] is None


def test_options_of_sub_commands_are_seen(parse):
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("train").add_argument("--lr", type=float, default=0.1)
    _namespace, seen = parse(parser, "train", "--lr", "0.5")
    assert seen["lr"][1]["value"] == 0.5
    assert seen["command"][1]["value"] == "train"


def test_a_wrong_option_ends_the_program_as_always(parse, capsys):
    with pytest.raises(SystemExit) as caught:
        parse(argparse.ArgumentParser(prog="train"), "--unknown")
    assert caught.value.code == 2
    assert "unrecognized arguments: --unknown" in capsys.readouterr().err
