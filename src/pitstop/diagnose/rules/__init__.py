"""One file per rule: what it sees, and the words for it. Register a new one in `RULES`."""

from pitstop.diagnose.rules import loader_in_main_process, workers_restarted
from pitstop.diagnose.rules.contract import Facts, Rule

__all__ = ["RULES", "Facts", "Rule"]

RULES: tuple[Rule, ...] = (loader_in_main_process.RULE, workers_restarted.RULE)
