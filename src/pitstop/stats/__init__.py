"""Statistics of speed: paired comparison, looks, power, screening, percentiles, quietness. Pure functions of values."""

from pitstop.stats.busy import Limits, Quietness, judge_quietness, speed_drift
from pitstop.stats.decide import Decision, compare, decide, decide_all
from pitstop.stats.holm import holm
from pitstop.stats.paired import PairedEstimate, estimate, log_ratios, order_of_pairs, t_interval
from pitstop.stats.percentiles import Percentile, effective_sample_size, percentile, samples_needed
from pitstop.stats.power import (
    detectable_speedup,
    pairs_to_show_equivalent,
    pairs_to_show_faster,
    power_equivalent,
    power_faster,
    sequential_power,
)
from pitstop.stats.screening import ScreenEstimate, TimedRun, noise_sd, screen
from pitstop.stats.sequential import Plan, critical_values, repeated_interval

__all__ = [
    "Decision",
    "Limits",
    "PairedEstimate",
    "Percentile",
    "Plan",
    "Quietness",
    "ScreenEstimate",
    "TimedRun",
    "compare",
    "critical_values",
    "decide",
    "decide_all",
    "detectable_speedup",
    "effective_sample_size",
    "estimate",
    "holm",
    "judge_quietness",
    "log_ratios",
    "noise_sd",
    "order_of_pairs",
    "pairs_to_show_equivalent",
    "pairs_to_show_faster",
    "percentile",
    "power_equivalent",
    "power_faster",
    "repeated_interval",
    "samples_needed",
    "screen",
    "sequential_power",
    "speed_drift",
    "t_interval",
]
