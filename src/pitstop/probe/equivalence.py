"""Equivalence mode of the probe: the program's own computation, recorded or computed again from the same state.

Runs in the user's interpreter, once `import torch` is complete, in runs that are never timed. One run records N steps (losses,
sample ids, batches' hashes, optimizer settings), then, without restarting, computes given steps again from recorded
weights, batches and random states and compares losses, gradients and parameter updates (`equivalence_replay`). It writes
`equivalence-<rank>.json` (read by `pitstop.tune.gates_material`) and `capture-*.pt`, `reference-*.pt` into the probe folder and
ends the program with `os._exit(0)`. Whatever goes wrong here is written under `faults`, and the program goes on.
"""

import sys

from . import equivalence_hooks, equivalence_seeds
from .equivalence_session import Session

__all__ = ["install"]


def install(config, recorder=None):  # noqa: ARG001
    """Watch and steer this process as `config` says; call once, right after `import torch`.

    `config` keys: `folder` (where files go), `seed_offset` (added to every seed), `steps` (N, recorded), `captures` (how many
    steps to keep for replay, 0 = none), `capture_steps` (which, optional), `capture_bytes` (most to keep on disk), `replay`
    (list of variants to compute again after the N steps), `replay_from` (probe folder of the recording, None = this run's
    own), `in_phase` (replay number i at step `capture_steps[i]` and not after the N steps: for programs that make their own
    batches, which come again only at the same step), `by_hand` (no optimizer: what follows a backward, up to the next call of
    a module, is the update), `reference_from` (folder of the fp64 references, default `replay_from`), `stop_after_steps` (ends
    the program even when the replay is not through; None = when through).
    `recorder` is the probe's own; equivalence mode needs nothing of it.
    """
    torch = sys.modules["torch"]
    session = Session(torch, config)
    equivalence_seeds.install(torch, int(config.get("seed_offset") or 0))
    equivalence_hooks.install(torch, session)
    return session
