"""Being told of imports, without importing."""

import importlib
import sys

import pytest

from pitstop.probe.import_watch import ImportWatch


@pytest.fixture
def watch(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    faults = []
    made = ImportWatch(lambda where, error: faults.append((where, error)))
    made.faults = faults
    yield made
    if made in sys.meta_path:
        sys.meta_path.remove(made)
    for name in [name for name in sys.modules if name.startswith("watched_")]:
        del sys.modules[name]


def test_the_callback_comes_when_the_module_is_complete(watch, tmp_path):
    (tmp_path / "watched_a.py").write_text("first = 1\nlast = 2\n")
    seen = []
    watch.when("watched_a", lambda module: seen.append(module.last))
    assert seen == []
    module = importlib.import_module("watched_a")
    assert seen == [2]
    assert watch not in sys.meta_path
    assert "exec_module" not in vars(module.__spec__.loader)
    assert module.__loader__ is module.__spec__.loader


def test_a_module_already_there_is_told_at_once(watch):
    seen = []
    watch.when("json", lambda module: seen.append(module.__name__))
    assert seen == ["json"]


def test_an_error_of_ours_is_a_fault_and_the_import_succeeds(watch, tmp_path):
    (tmp_path / "watched_b.py").write_text("x = 1")
    watch.when("watched_b", lambda _module: 1 / 0)
    assert importlib.import_module("watched_b").x == 1
    assert isinstance(watch.faults[0][1], ZeroDivisionError)


def test_an_error_of_the_module_is_the_users(watch, tmp_path):
    (tmp_path / "watched_c.py").write_text("raise KeyError('theirs')")
    seen = []
    watch.when("watched_c", seen.append)
    with pytest.raises(KeyError, match="theirs"):
        importlib.import_module("watched_c")
    assert seen == []
    (tmp_path / "watched_c.py").write_text("repaired = True")
    importlib.invalidate_caches()
    importlib.import_module("watched_c")
    assert [module.repaired for module in seen] == [True]


def test_a_module_that_does_not_exist_fails_as_always(watch):
    watch.when("watched_nowhere", lambda _module: None)
    with pytest.raises(ModuleNotFoundError, match="No module named 'watched_nowhere'"):
        importlib.import_module("watched_nowhere")
