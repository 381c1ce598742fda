import os
import subprocess

from pitstop.measure.sandbox.scratch import new_trial_folder, remove_tree, sweep


def test_folders_of_the_dead_are_swept_and_those_of_the_living_stay(tmp_path):
    ours = new_trial_folder(tmp_path)
    ended = subprocess.Popen(["true"])
    ended.wait()
    dead = tmp_path / f"t-{ended.pid}-123-1"
    dead.mkdir()
    reused = tmp_path / f"t-{os.getpid()}-1-1"  # our number, another start: an earlier process
    reused.mkdir()
    foreign = tmp_path / "notes"
    foreign.mkdir()
    assert sorted(sweep(tmp_path)) == sorted([dead, reused])
    assert ours.exists()
    assert foreign.exists()
    assert sweep(tmp_path / "nowhere") == []


def test_names_are_not_given_twice(tmp_path):
    assert new_trial_folder(tmp_path) != new_trial_folder(tmp_path)


def test_links_in_a_removed_tree_are_not_followed(tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("x")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "link").symlink_to(kept)
    remove_tree(tree)
    assert not tree.exists()
    assert (kept / "file").read_text() == "x"
