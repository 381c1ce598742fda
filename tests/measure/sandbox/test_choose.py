"""A sandbox is chosen by what works; where nothing does, pitstop refuses and says what it tried."""

import msgspec
import pytest

from pitstop.errors import CouldNotMeasure
from pitstop.measure.sandbox import SandboxPlan, choose, describe, plan_sandbox


@pytest.fixture
def project(tmp_path):
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.fixture
def plan(project):
    return plan_sandbox(project_root=project, scratch=project / ".pitstop" / "scratch")


def test_the_chosen_plan_protects_files_and_network(plan):
    assert plan.kind in {"overlay", "copy"}
    assert plan.network in {"loopback", "no-tcp"}
    assert describe(plan)


def test_allow_network_leaves_it_open(project):
    plan = plan_sandbox(project_root=project, scratch=project / ".pitstop" / "scratch", allow_network=True)
    assert plan.network == "open"


def test_nothing_is_left_of_the_attempts(project, plan):
    assert [path.name for path in project.iterdir()] == [".pitstop"]
    assert not list((project / ".pitstop" / "scratch").glob("t-*"))


def _failing(*stages: str):
    """An attempt that fails at the given stages for as long as a plan asks for them."""

    def attempt(plan: SandboxPlan, _project_root: object) -> tuple[str, str] | None:
        asked = {
            "mount_namespace": plan.kind == "overlay",
            "user_namespace": plan.user_namespace,
            "pid_namespace": plan.pid_namespace,
            "network_namespace": plan.network == "loopback",
            "overlay": plan.kind == "overlay" and plan.upper == "scratch",
            "landlock": plan.landlock,
        }
        return next(((stage, "refused") for stage in stages if asked[stage]), None)

    return attempt


@pytest.mark.parametrize(
    ("stages", "expected"),
    [
        ((), {"kind": "overlay", "pid_namespace": True, "network": "loopback", "upper": "scratch"}),
        (("pid_namespace",), {"kind": "overlay", "pid_namespace": False}),
        (("overlay",), {"kind": "overlay", "upper": "tmpfs"}),
        (("network_namespace",), {"kind": "overlay", "network": "no-tcp"}),
        (("mount_namespace",), {"kind": "copy", "network": "loopback"}),
        (
            ("mount_namespace", "user_namespace", "network_namespace"),
            {"kind": "copy", "network": "no-tcp", "user_namespace": False},
        ),
        (("landlock",), {"kind": "overlay", "landlock": False}),
    ],
)
def test_what_fails_is_done_without_as_little_as_possible(project, monkeypatch, stages, expected):
    """The kernel with the newest Landlock; each refusal as a container or an administrator makes it."""
    monkeypatch.setattr(choose, "_attempt", _failing(*stages))
    monkeypatch.setattr(choose.landlock, "abi", lambda: 7)
    plan = plan_sandbox(project_root=project, scratch=project / ".pitstop" / "scratch")
    assert {name: getattr(plan, name) for name in expected} == expected


@pytest.mark.parametrize(("abi", "stages"), [(0, ("mount_namespace",)), (3, ("mount_namespace", "network_namespace"))])
def test_without_protection_it_refuses_and_says_what_was_tried(project, monkeypatch, abi, stages):
    monkeypatch.setattr(choose, "_attempt", _failing(*stages))
    monkeypatch.setattr(choose.landlock, "abi", lambda: abi)
    scratch = project / ".pitstop" / "scratch"
    with pytest.raises(CouldNotMeasure) as caught:
        plan_sandbox(project_root=project, scratch=scratch)
    assert caught.value.key == "sandbox.nothing_protects"
    assert stages[0] in caught.value.values["tried"]
    unsafe = plan_sandbox(project_root=project, scratch=scratch, unsafe=True)
    assert (unsafe.kind, unsafe.landlock, unsafe.network, len(unsafe.notes)) == ("copy", False, "open", 1)


@pytest.mark.parametrize("kind", ["overlay", "copy", "none"])
@pytest.mark.parametrize("network", ["loopback", "no-tcp", "open"])
def test_every_plan_can_be_described(kind, network):
    assert describe(SandboxPlan(kind=kind, network=network))


def test_a_plan_that_lets_a_write_through_is_caught(project):
    """The attempt writes for real: a sandbox that protects nothing fails at the stage "protection"."""
    (project / ".pitstop").mkdir()
    plan = SandboxPlan(kind="none", scratch=str(project / ".pitstop"))
    assert choose._attempt(plan, project)[0] == "protection"
    assert [path.name for path in project.iterdir()] == [".pitstop"]


def test_plans_can_be_stored(plan):
    assert msgspec.json.decode(msgspec.json.encode(plan), type=SandboxPlan) == plan
