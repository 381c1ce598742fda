"""Which of several processes trains, where they train together."""

import struct

import msgspec
import pytest

from pitstop.measure.probe_folder import read_probe
from pitstop.records import EnvironmentSighting
from pitstop.records import EventKind as K

MS = 1_000_000


def write_rank(folder, stem, *, rank, step_ns, steps=5, ranks=2):
    records = [struct.pack("<BBHIqqq", K.OPTIMIZER, 0, 0, 1, n * step_ns, n * step_ns, 0) for n in range(1, steps + 1)]
    header = struct.pack("<8sIIQ40x", b"PITSTOP1", 32, 1, int(stem.split("-")[0]))
    (folder / f"{stem}.events").write_bytes(header + b"".join(records))
    environment = EnvironmentSighting(
        pid=1, python="3.12.0", executable="python", argv=(), script=None, main_guard=True, torch="2.13.0", cuda=False,
        device_names=(), intra_op_threads=1, inter_op_threads=1, affinity_cpus=2, cpu_capability=None, start_method=None,
        rank=rank, ranks=ranks, collectives="gloo",
    )  # fmt: skip
    (folder / f"{stem}.sightings.jsonl").write_bytes(msgspec.json.encode(environment) + b"\n")


def roles(folder):
    return {process.pid: (process.role, process.rank) for process in read_probe(folder, project_root="/p").processes}


@pytest.mark.parametrize(("step_of_one", "main"), [(100 * MS, 0), (101 * MS, 0), (103 * MS, 1), (90 * MS, 0)])
def test_the_slowest_rank_counts_and_rank_0_where_none_is_clearly_slower(tmp_path, step_of_one, main):
    write_rank(tmp_path, "20-1", rank=1, step_ns=step_of_one, steps=6)
    write_rank(tmp_path, "21-2", rank=0, step_ns=100 * MS)
    assert roles(tmp_path) == {20: ("rank" if main == 0 else "main", 1), 21: ("main" if main == 0 else "rank", 0)}


def test_processes_that_train_side_by_side_are_no_ranks(tmp_path):
    write_rank(tmp_path, "20-1", rank=None, ranks=1, step_ns=MS)
    write_rank(tmp_path, "21-2", rank=None, ranks=1, step_ns=2 * MS)
    assert roles(tmp_path) == {20: ("main", None), 21: ("other", None)}


def test_of_a_restarted_rank_the_process_that_stepped_more_is_it(tmp_path):
    write_rank(tmp_path, "20-1", rank=0, step_ns=MS, steps=2)
    write_rank(tmp_path, "21-2", rank=0, step_ns=MS, steps=9)
    write_rank(tmp_path, "22-3", rank=1, step_ns=MS, steps=9)
    assert roles(tmp_path) == {20: ("other", None), 21: ("main", 0), 22: ("rank", 1)}
