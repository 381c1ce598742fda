"""What one bad process does to a comparison of 8 pairs, and what throwing the farthest pair away would do instead.

`python bench/simulate_outliers.py`: false wins at margin 0 without any effect, power for a gain of 10 %, and the coverage of the
95 % interval, for plain t and for t after dropping the pair farthest from the median. Printed in docs/statistics.md.
"""

import math

import numpy as np

from pitstop.stats.paired import student_critical

PAIRS, COMPARISONS, SD = 8, 100_000, 0.02
GAIN = math.log(1.10)


def main() -> None:
    rng = np.random.default_rng(1)
    print(
        "| processes slowed by 30 % unnoticed | rule | false wins, margin 0 | 95 % interval covers | power for 1.10x over 2 % |"
    )
    print("|---|---|---|---|---|")
    for chance in (0.0, 0.05, 0.15):
        noise = pair_noise(rng, chance=chance)
        for name, rule in (("keep all", lambda one: one), ("drop the farthest", drop_farthest)):
            mean, half = interval(rule(noise))
            false_wins = (mean - half > 0).mean()
            covered = (np.abs(mean) < half).mean()
            power = (mean + GAIN - half > math.log1p(0.02)).mean()
            print(f"| {chance:.0%} | {name} | {false_wins:.1%} | {covered:.1%} | {power:.0%} |")


def pair_noise(rng: np.random.Generator, *, chance: float) -> np.ndarray:
    sides = SD * rng.standard_normal((2, COMPARISONS, PAIRS))
    sides += 0.3 * (rng.random(sides.shape) < chance)
    return sides[0] - sides[1]


def drop_farthest(ratios: np.ndarray) -> np.ndarray:
    distance = np.abs(ratios - np.median(ratios, axis=1, keepdims=True))
    keep = np.arange(PAIRS) != distance.argmax(axis=1)[:, None]
    return ratios[keep].reshape(COMPARISONS, PAIRS - 1)


def interval(ratios: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    pairs = ratios.shape[1]
    half = student_critical(0.025, df=pairs - 1) * ratios.std(axis=1, ddof=1) / math.sqrt(pairs)
    return ratios.mean(axis=1), half


if __name__ == "__main__":
    main()
