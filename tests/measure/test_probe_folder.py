"""What the parent hands the probe and what it makes of the folder afterwards."""

import json
import struct

import msgspec
import pytest

from pitstop.measure.probe_folder import ProbeConfig, prepare_probe, read_probe
from pitstop.records import EventKind as K
from pitstop.records import ModuleNames


def write_events(folder, stem, *kinds, role=1):
    records = [struct.pack("<BBHIqqq", kind, 0, 0, 1, 10 + n, 11 + n, 0) for n, kind in enumerate(kinds)]
    header = struct.pack("<8sIIQ40x", b"PITSTOP1", 32, role, int(stem.split("-")[0]))
    (folder / f"{stem}.events").write_bytes(header + b"".join(records))


def write_sightings(folder, stem, *sightings):
    (folder / f"{stem}.sightings.jsonl").write_bytes(b"".join(msgspec.json.encode(seen) + b"\n" for seen in sightings))


def roles(folder):
    return {process.pid: process.role for process in read_probe(folder, project_root="/p").processes}


def test_the_environment_puts_the_door_in_front_of_the_users_path(tmp_path):
    config = ProbeConfig(mode="clock", project_root="/p", stop_after_steps=5)
    added = prepare_probe(tmp_path, config, {"PYTHONPATH": "/mine", "HOME": "/h"})
    assert set(added) == {"PITSTOP_PROBE_DIR", "PYTHONPATH"}
    inject, users = added["PYTHONPATH"].split(":")
    assert inject.endswith("/probe/inject")
    assert users == "/mine"
    written = json.loads((tmp_path / "config.json").read_text())
    assert (written["schema"], written["mode"], written["stop_after_steps"], written["equivalence"]) == (
        1,
        "clock",
        5,
        None,
    )


@pytest.mark.parametrize("env", [{}, {"PYTHONPATH": ""}])
def test_no_path_of_the_users_leaves_no_empty_entry(tmp_path, env):
    added = prepare_probe(tmp_path, ProbeConfig(mode="profile", project_root="/p"), env)
    assert ":" not in added["PYTHONPATH"]


def test_an_empty_folder_is_not_connected(tmp_path):
    prepare_probe(tmp_path, ProbeConfig(mode="profile", project_root="/p"), {})
    read = read_probe(tmp_path, project_root="/p")
    assert (read.connected, read.processes, read.end, read.faults) == (False, (), None, ())
    assert read.evidence.project_root == "/p"


def test_files_of_equivalence_runs_are_no_processes(tmp_path):
    for name in ("equivalence-0.json", "capture-0.pt", "reference-0-bf16.pt"):
        (tmp_path / name).write_bytes(b"x")
    read = read_probe(tmp_path, project_root="/p")
    assert (read.connected, read.faults) == (False, ())


def test_a_missing_folder_is_not_connected(tmp_path):
    assert not read_probe(tmp_path / "gone", project_root="/p").connected


def test_the_training_process_is_the_one_that_steps_most_by_the_best_clock(tmp_path):
    write_events(tmp_path, "10-1", *[K.FORWARD] * 50)
    write_events(tmp_path, "11-2", *[K.OPTIMIZER] * 3)
    write_events(tmp_path, "12-3", *[K.OPTIMIZER] * 2, *[K.BACKWARD] * 9)
    write_events(tmp_path, "13-4", *[K.WORKER_FETCH] * 99, role=2)
    assert roles(tmp_path) == {10: "other", 11: "main", 12: "other", 13: "worker"}


def test_of_equal_ranks_the_first_started_is_main(tmp_path):
    write_events(tmp_path, "99-1000", K.OPTIMIZER)
    write_events(tmp_path, "5-2000", K.OPTIMIZER)
    assert roles(tmp_path) == {99: "main", 5: "other"}


def test_evidence_end_and_samples_are_the_training_process_s(tmp_path):
    write_events(tmp_path, "10-1", K.FORWARD)
    write_events(tmp_path, "11-2", K.OPTIMIZER)
    write_events(tmp_path, "12-3", K.WORKER_FETCH, role=2)
    for stem, steps in (("10-1", 1), ("11-2", 7)):
        (tmp_path / f"{stem}.end.json").write_text(json.dumps({"reason": "exit", "steps": steps}))
    for stem, count in (("10-1", 100), ("11-2", 3), ("12-3", 4)):
        (tmp_path / f"{stem}.samples.json").write_text(json.dumps({"forward|a:1 f": count, f"w|{stem}": 1}))
    read = read_probe(tmp_path, project_root="/p")
    assert read.end.steps == 7
    assert dict(read.stack_samples) == {"forward|a:1 f": 7, "w|11-2": 1, "w|12-3": 1}


def test_a_process_that_trains_nothing_still_says_how_it_ended(tmp_path):
    write_sightings(tmp_path, "10-1")
    (tmp_path / "10-1.end.json").write_text(json.dumps({"reason": "exit", "steps": 0}))
    read = read_probe(tmp_path, project_root="/p")
    assert read.connected
    assert read.end.reason == "exit"


def test_damage_everywhere_raises_nothing_and_is_said(tmp_path):
    write_events(tmp_path, "11-2", K.OPTIMIZER, 250)
    write_sightings(tmp_path, "11-2", ModuleNames(optimizer=1, modules={}))
    (tmp_path / "11-2.end.json").write_text('{"reason": "ex')
    (tmp_path / "11-2.samples.json").write_text("[]")
    (tmp_path / "12-3.events").write_bytes(b"junk")
    read = read_probe(tmp_path, project_root="/p")
    assert len(read.processes) == 2
    assert read.end is None
    assert sorted(fault.split(":")[0] for fault in read.faults) == [
        "11-2.end.json",
        "11-2.events",
        "11-2.samples.json",
        "12-3.events",
    ]
