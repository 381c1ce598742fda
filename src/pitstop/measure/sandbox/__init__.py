"""Trials that cannot touch the user's files or the network: choosing a protection, and the place in which one trial runs."""

from pitstop.measure.sandbox.choose import plan_sandbox
from pitstop.measure.sandbox.plan import SandboxPlan, describe
from pitstop.measure.sandbox.scratch import remove_tree, sweep
from pitstop.measure.sandbox.seed import collect_seed

__all__ = ["SandboxPlan", "collect_seed", "describe", "plan_sandbox", "remove_tree", "sweep"]
