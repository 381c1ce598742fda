"""What pitstop has to find in each program of `programs/`: the same in a profile and in a timing trial."""

from typing import NamedTuple


class Loop(NamedTuple):
    """`micro`: backwards per step, None where the optimizer decides. `samples`: of all steps together.

    `trains`, `evaluates`: batch sizes of the loaders that do. `ticks`: what a trial, which knows only what it has seen, counts per step.
    """

    steps: int
    clock: str = "optimizer"
    micro: int | None = 1
    samples: int = 0
    trains: tuple[int | None, ...] = ()
    evaluates: tuple[int | None, ...] = ()
    ticks: int = 1


LOOPS = {
    "lbfgs": Loop(15, micro=None, samples=960, trains=(64,)),
    "step_closure": Loop(40, samples=640, trains=(16,)),
    "grad_scaler": Loop(40, samples=640, trains=(16,)),
    "nested_validation": Loop(30, micro=2, samples=960, trains=(16,), evaluates=(32,)),
    "several_optimizers": Loop(20, micro=4, samples=960, trains=(16,), ticks=3),
    "two_loaders": Loop(40, samples=1920, trains=(16, 32), evaluates=(16,)),
    "hand_sgd": Loop(40, "backward", samples=640, trains=(16,), evaluates=(16,)),
    "functional": Loop(40, "backward", samples=640, trains=(16,)),
    "evaluate": Loop(60, "forward", samples=960, trains=(16,)),
    "serve": Loop(80, "forward"),
    "generate": Loop(24, "forward"),
    "reinforce": Loop(40),
    "own_steps": Loop(60, "step"),
    "data_first": Loop(40, samples=960, trains=(16,)),
}
# Not one child process per loop in every run of the tests: these stand for the kinds that differ in what ends a step.
FAST = ("nested_validation", "hand_sgd", "generate", "own_steps")

# accelerate copies loaders with a batch sampler, so that they know no batch size.
# Programs of real frameworks (programs/frameworks), with their arguments; run by the interpreter of `make loops-env`.
_COMMAND_LINE = "--output_dir out --max_steps 20 --report_to none --use_cpu True --disable_tqdm True"
FRAMEWORKS = {
    "hf_trainer": ((), Loop(30, micro=2, samples=488, trains=(None,), evaluates=(None,))),
    "hf_command_line": (tuple(_COMMAND_LINE.split()), Loop(20, samples=168, trains=(None,))),
    "lightning_automatic": ((), Loop(30, micro=2, samples=960, trains=(16,), evaluates=(32,))),
    "lightning_manual": ((), Loop(40, micro=2, samples=640, trains=(16,))),
    "accelerate_loop": ((), Loop(40, samples=640, trains=(16,), evaluates=(32,))),
    "ignite_engine": ((), Loop(60, samples=960, trains=(16,), evaluates=(32,))),
    "cartpole": ((), Loop(60)),
    "hydra_program": (("data.batch_size=32",), Loop(20, samples=640, trains=(32,))),
}
CHECKPOINTS = {"hf_trainer": 10, "lightning_automatic": 3, "ignite_engine": 3}
