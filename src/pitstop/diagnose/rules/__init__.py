"""One file per rule: what it sees, and the words for it. Register a new one in `RULES`."""

from pitstop.diagnose.rules import (
    anomaly_detection,
    caches_emptied_each_step,
    checkpoint_share,
    collections_each_step,
    evaluation_share,
    float64_parameters,
    garbage_collection,
    in_memory_tensors,
    loader_in_main_process,
    logging_each_step,
    optimizer_unfused,
    quota_throttled,
    synchronized_each_step,
    threads_over_cpus,
    tracer_attached,
    workers_restarted,
)
from pitstop.diagnose.rules.contract import Facts, Rule

__all__ = ["RULES", "Facts", "Rule"]

RULES: tuple[Rule, ...] = (
    loader_in_main_process.RULE,
    workers_restarted.RULE,
    in_memory_tensors.RULE,
    threads_over_cpus.RULE,
    quota_throttled.RULE,
    anomaly_detection.RULE,
    tracer_attached.RULE,
    float64_parameters.RULE,
    evaluation_share.RULE,
    checkpoint_share.RULE,
    garbage_collection.RULE,
    collections_each_step.RULE,
    caches_emptied_each_step.RULE,
    synchronized_each_step.RULE,
    logging_each_step.RULE,
    optimizer_unfused.RULE,
)
