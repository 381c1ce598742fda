"""A trial cannot change the user's files, whatever it tries, wherever they are."""

import os
import sys
from pathlib import Path

import pytest

from pitstop.records import Change

# Every way to change a file that was thought of. Each runs by itself; its name is printed with what came of it.
ATTACKS = """
import ctypes, fcntl, json, mmap, os, shutil, socket, subprocess, sys
home = sys.argv[1]
note, model, project = home + "/notes.txt", home + "/models/best.ckpt", home + "/project"
libc = ctypes.CDLL(None, use_errno=True)

def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

def through_mmap():
    with open(model, "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory[0:4] = b"gone"

def through_descriptor():
    descriptor = os.open(model, os.O_RDONLY)
    with open(f"/proc/self/fd/{descriptor}", "r+b") as file:
        file.write(b"gone")

def through_folder_descriptor():
    folder = os.open(home + "/models", os.O_RDONLY | os.O_DIRECTORY)
    with open(os.open("best.ckpt", os.O_WRONLY | os.O_TRUNC, dir_fd=folder), "wb") as file:
        file.write(b"gone")

def through_hard_link():
    os.link(model, home + "/models/second")
    with open(home + "/models/second", "r+b") as file:
        file.write(b"gone")

def through_symbolic_link():
    os.symlink(model, "link-to-model")
    with open("link-to-model", "wb") as file:
        file.write(b"gone")

def through_root_of(pid):
    with open(f"/proc/{pid}/root{model}", "r+b") as file:
        file.write(b"gone")

def through_child():
    subprocess.run(["sh", "-c", f"echo gone > {model}"], check=True)

def by_handle():
    handle = (ctypes.c_uint32 * 34)(128)
    mount_id = ctypes.c_int()
    checked(libc.name_to_handle_at(-100, model.encode(), handle, ctypes.byref(mount_id), 0))
    for folder in (home, "/", "/tmp"):
        descriptor = libc.open_by_handle_at(os.open(folder, os.O_RDONLY), handle, os.O_RDWR)
        checked(descriptor)
        os.write(descriptor, b"gone")

attacks = {
    "overwrite": lambda: open(model, "wb").write(b"gone"),
    "append": lambda: open(note, "a").write("gone"),
    "mmap": through_mmap,
    "descriptor": through_descriptor,
    "folder descriptor": through_folder_descriptor,
    "hard link": through_hard_link,
    "symbolic link": through_symbolic_link,
    "link of the project": lambda: open(project + "/latest", "wb").write(b"gone"),
    "root of pid 1": lambda: through_root_of(1),
    "root of self": lambda: through_root_of("self"),
    "root of the parent": lambda: through_root_of(os.getppid()),
    "child": through_child,
    "by handle": by_handle,
    "truncate": lambda: os.truncate(note, 0),
    "chmod": lambda: os.chmod(model, 0o777),
    "chown": lambda: os.chown(model, os.getuid(), os.getgid()),
    "utime": lambda: os.utime(model, (0, 0)),
    "xattr": lambda: os.setxattr(model, "user.gone", b"1"),
    "new file": lambda: open(home + "/new", "x").close(),
    "new folder": lambda: os.mkdir(home + "/new folder"),
    "replace": lambda: os.replace(note, model),
    "rename folder": lambda: shutil.move(home + "/models", home + "/moved"),
    "unlink": lambda: os.unlink(home + "/project/train.py"),
    "remove all": lambda: shutil.rmtree(home, ignore_errors=False),
}
came_of_it = {}
for name, attack in attacks.items():
    try:
        attack()
        came_of_it[name] = "done"
    except Exception as error:
        came_of_it[name] = type(error).__name__
print(json.dumps(came_of_it))
"""


def _attack(trials) -> dict[str, str]:
    import json

    run = trials.run("", argv=(sys.executable, "-c", ATTACKS, str(trials.home.path)))
    assert run.exit_code == 0, trials.stderr
    return json.loads(trials.stdout)


def test_no_attack_on_files_reaches_them(trials):
    """The fixture compares every byte, mode, owner, time and attribute afterwards; here: the attacks really took place."""
    came_of_it = _attack(trials)
    assert len(came_of_it) == 24
    if trials.plan.kind == "copy":
        refused = {"overwrite", "append", "mmap", "descriptor", "child", "truncate", "new file", "replace", "hard link"}
        assert all(came_of_it[name] != "done" for name in refused), came_of_it
    else:
        real = {"overwrite", "append", "mmap", "child", "truncate", "chmod", "new file", "replace", "unlink"}
        assert all(came_of_it[name] == "done" for name in real), came_of_it


def test_attacks_fail_on_layers_in_memory_too(trials_in):
    came_of_it = _attack(trials_in("tmpfs"))
    assert came_of_it["overwrite"] == "done"


def test_a_program_sees_its_own_writes(trials_in):
    """To the program the overlay looks like the real disk: what it writes it can read, what it deletes is gone."""
    trials = trials_in("overlay")
    model = trials.home.path / "models" / "best.ckpt"
    run = trials.run(
        f"""
import os, pathlib
model = pathlib.Path({str(model)!r})
assert model.read_bytes().startswith(b"precious")
model.write_bytes(b"new")
other = model.parent.parent / "notes.txt"
os.replace(model, other)
assert other.read_bytes() == b"new"
assert not model.exists()
os.mkdir("epoch.tmp"); open("epoch.tmp/weights", "w").close(); os.rename("epoch.tmp", "epoch")
assert os.listdir("epoch") == ["weights"]
"""
    )
    assert run.exit_code == 0, trials.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="in a user namespace overlayfs answers EXDEV, as between two disks")
def test_a_folder_that_was_there_before_can_be_renamed(trials_in):
    trials = trials_in("overlay")
    models = trials.home.path / "models"
    run = trials.run(f"import os; os.rename({str(models)!r}, 'moved'); print(os.listdir('moved'))")
    assert (run.exit_code, trials.stdout) == (0, "['best.ckpt']\n"), trials.stderr


def test_a_fresh_layer_for_every_trial(trials):
    """What one trial wrote is not there for the next: no resuming from a trial's checkpoint."""
    text = "import os; print(os.path.exists('resume.ckpt')); open('resume.ckpt', 'w').write('x')"
    for _ in range(2):
        assert trials.run(text).exit_code == 0
        assert trials.stdout == "False\n"


def test_the_changed_source_runs_and_the_original_stays(trials):
    script = str(trials.home.project / "train.py")
    change = Change(files={script: "import sys, os\nprint('edited', sys.argv[1:], os.environ['ADDED'])\n"})
    change = Change(files=change.files, env={"ADDED": "yes"}, arguments=("--more",), replaced_arguments={"-j": "4"})
    run = trials.run("", argv=(sys.executable, script, "-j", "0"), change=change)
    assert run.exit_code == 0, trials.stderr
    assert trials.stdout == "edited ['-j', '4', '--more'] yes\n"


def test_a_changed_file_keeps_its_mode(trials):
    script = trials.home.project / "run.sh"
    script.write_text("#!/bin/sh\necho original\n")
    script.chmod(0o755)
    trials.home.before = trials.home.digest()
    run = trials.run("", argv=(str(script),), change=Change(files={str(script): "#!/bin/sh\necho edited\n"}))
    assert (run.exit_code, trials.stdout) == (0, "edited\n"), trials.stderr


def test_temporary_files_can_be_made_and_are_gone(trials):
    run = trials.run("import tempfile; f = tempfile.NamedTemporaryFile(delete=False); f.write(b'x'); print(f.name)")
    assert run.exit_code == 0, trials.stderr
    assert not Path(trials.stdout.strip()).exists()


@pytest.mark.parametrize("kind", ["overlay", "copy"])
def test_read_only_folders_and_depth_do_not_keep_a_trial_from_being_removed(trials_in, kind):
    """The fixture checks that the trial folder is gone. 1,100 is deeper than Python can recurse."""
    trials = trials_in(kind)
    text = """
import os
os.makedirs("locked/inner"); open("locked/inner/file", "w").close()
os.chmod("locked/inner", 0); os.chmod("locked", 0)
for _ in range(1100):
    os.mkdir("deeper"); os.chdir("deeper")
"""
    assert trials.run(text).exit_code == 0, trials.stderr


def test_a_seed_is_found_as_if_it_had_always_been_there(trials, tmp_path):
    seed = tmp_path / "seed"
    inside = seed / trials.home.project.relative_to("/") / "data" / "decoded.cache"
    inside.parent.mkdir(parents=True)
    inside.write_text("decoded")
    text = "f = open('data/decoded.cache', 'r+'); print(f.read()); f.write('!'); import os; print(sorted(os.listdir('data')))"
    for _ in range(2):
        assert trials.run(text, seed=seed).exit_code == 0, trials.stderr
        assert trials.stdout == "decoded\n['decoded.cache', 'samples.bin']\n"
    assert inside.read_text() == "decoded", "the seed serves all trials and is changed by none"


def test_a_seed_is_copied_where_overlays_cannot_be_stacked(trials_in, tmp_path):
    trials = trials_in("tmpfs")
    seed = tmp_path / "seed"
    inside = seed / trials.home.project.relative_to("/") / "data" / "decoded.cache"
    inside.parent.mkdir(parents=True)
    inside.write_text("decoded")
    assert trials.run("print(open('data/decoded.cache').read())", seed=seed).exit_code == 0, trials.stderr
    assert trials.stdout == "decoded\n"


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["overlay", "copy"])
def test_torch_saves_into_the_layer(trials_in, kind):
    """torch.save and a loader's workers, which Python's audit hooks do not see."""
    trials = trials_in(kind)
    model = trials.home.path / "models" / "best.ckpt"
    script = trials.home.project / "train.py"
    text = f"""
import torch, torch.utils.data as data
class Samples(data.Dataset):
    def __len__(self): return 4
    def __getitem__(self, index):
        try: open({str(trials.home.path / "notes.txt")!r}, "a").write("worker")
        except PermissionError: pass
        return torch.ones(2)
if __name__ == "__main__":
    print(sum(batch.sum().item() for batch in data.DataLoader(Samples(), num_workers=2)))
    torch.save({{"weights": torch.ones(3)}}, "local.ckpt")
    try: torch.save(torch.ones(3), {str(model)!r}); print("saved")
    except (OSError, RuntimeError): print("refused")
"""
    run = trials.run("", argv=(sys.executable, str(script)), change=Change(files={str(script): text}))
    assert run.exit_code == 0, trials.stderr
    assert trials.stdout == f"8.0\n{'saved' if kind == 'overlay' else 'refused'}\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root could undo anything")
@pytest.mark.parametrize("kind", ["overlay", "no-pid-namespace", "copy"])
def test_root_in_a_trial_cannot_undo_the_sandbox(trials_in, kind):
    """Mounts, devices, modules, kernel settings, tracing: all refused, and nothing is mounted or made outside."""
    trials = trials_in(kind)
    run = trials.run(
        f"""
import ctypes, os, stat, sys
libc = ctypes.CDLL(None, use_errno=True)
def refused(what, result):
    assert result < 0, what
refused("umount", libc.umount2(b"/", 2))
refused("mount", libc.mount(b"none", b"/mnt", b"tmpfs", 0, None))
refused("remount", libc.mount(b"none", b"/", None, 32, None))
refused("module", libc.syscall(175, 0, 0, b""))
refused("ptrace", libc.ptrace(16, {os.getpid()}, 0, 0))
root = os.stat("/").st_dev
for name, attempt in {{
    "mknod": lambda: os.mknod("disk", stat.S_IFBLK | 0o600, os.makedev(254, 0)),
    "block device": lambda: open("/dev/vda", "r+b"),
    "core pattern": lambda: open("/proc/sys/kernel/core_pattern", "w"),
    "sysrq": lambda: open("/proc/sysrq-trigger", "w"),
    "kernel memory": lambda: open("/dev/mem", "r+b"),
    "cgroup": lambda: os.mkdir("/sys/fs/cgroup/memory/pitstop-test"),
    "chroot": lambda: os.chroot("/tmp"),
    "another's memory": lambda: open("/proc/{os.getpid()}/mem", "r+b"),
    "another's root": lambda: open("/proc/{os.getpid()}/root{trials.home.path}/notes.txt", "w"),
}}.items():
    try:
        attempt()
    except OSError:
        continue
    sys.exit(name)
"""
    )
    assert run.exit_code == 0, trials.stderr
