"""The tune journal: durable, ordered, refuses what is not its own."""

import sqlite3
import subprocess
import sys
from datetime import UTC, datetime

import msgspec
import pytest

from pitstop.errors import WrongUse
from pitstop.store import Journal, find_run, new_run_folder


class Seen(msgspec.Struct, frozen=True):
    name: str
    value: int


def test_observations_come_back_in_order(tmp_path):
    journal = Journal.create(tmp_path / "journal.sqlite")
    written = [Seen(name=f"trial {i}", value=i) for i in range(5)]
    for seen in written:
        journal.append(seen)
    assert Journal.open(tmp_path / "journal.sqlite").observations(Seen) == written


def test_facts_are_kept_by_name(tmp_path):
    journal = Journal.create(tmp_path / "journal.sqlite")
    journal.put("plan", {"a": 1})
    journal.put("plan", {"a": 2})
    assert journal.get("plan", dict[str, int]) == {"a": 2}
    assert journal.get("nothing", int) is None


def test_what_was_appended_survives_kill_9(tmp_path):
    code = (
        "import os, signal, sys; from pathlib import Path; from pitstop.store import Journal\n"
        "journal = Journal.create(Path(sys.argv[1]))\n"
        "[journal.append({'n': i}) for i in range(20)]\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    path = tmp_path / "journal.sqlite"
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == -9
    assert Journal.open(path).observations(dict[str, int]) == [{"n": i} for i in range(20)]


@pytest.mark.parametrize("content", [b"not a database at all", b""])
def test_a_file_that_is_no_journal_is_refused(tmp_path, content):
    path = tmp_path / "journal.sqlite"
    path.write_bytes(content)
    with pytest.raises(WrongUse, match=r"journal\.sqlite"):
        Journal.open(path)


def test_another_schema_is_refused(tmp_path):
    path = tmp_path / "journal.sqlite"
    Journal.create(path)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE meta SET value = '99' WHERE name = 'schema'")
    with pytest.raises(WrongUse, match="99"):
        Journal.open(path)


NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_run_folders_have_time_and_name_and_ignore_themselves(tmp_path):
    first = new_run_folder(tmp_path, name="train me/../x", now=NOW)
    second = new_run_folder(tmp_path, name="train me/../x", now=NOW)
    assert first.path.name == "20260102-030405-train-me-..-x"
    assert first.path.parent == tmp_path / ".pitstop" / "runs"
    assert second.path != first.path
    assert (tmp_path / ".pitstop" / ".gitignore").read_text() == "*\n"


def test_a_file_is_there_whole_or_not_at_all(tmp_path):
    folder = new_run_folder(tmp_path, name="x", now=NOW)
    folder.write("run.json", "{}")
    assert (folder.path / "run.json").read_text() == "{}"
    assert [path.name for path in folder.path.iterdir()] == ["run.json"]
    with pytest.raises(WrongUse):
        folder.write("no/such/folder.json", "{}")
    assert [path.name for path in folder.path.iterdir()] == ["run.json"]


def test_a_folder_that_cannot_be_made_is_one_clear_error(tmp_path):
    (tmp_path / ".pitstop").write_text("a file is in the way")
    with pytest.raises(WrongUse, match="read_only_folder"):
        new_run_folder(tmp_path, name="x", now=NOW)


def test_the_newest_run_is_found(tmp_path):
    for second in (1, 3, 2):
        folder = new_run_folder(tmp_path, name="x", now=NOW.replace(second=second))
        folder.write("run.json", "{}")
    assert find_run(tmp_path).path.name.startswith("20260102-030403")
    assert find_run(tmp_path, wanted="20260102-030401-x").path.name == "20260102-030401-x"
    with pytest.raises(WrongUse, match="nowhere"):
        find_run(tmp_path, wanted="nowhere")
