"""Our own programs: small but real ones for what pytorch/examples has none of, each in bench/own/<name> with data that is installed anyway."""

from programs.outside import Outside

__all__ = ["OWN_PROGRAMS"]

OWN_PROGRAMS = (
    Outside(
        name="trainer_modules",
        folder="trainer_modules",
        arguments=(
            *("train.py", "--output_dir", "out", "--report_to", "none", "--use_cpu", "True", "--disable_tqdm", "True"),
            *("--save_strategy", "no", "--per_device_train_batch_size", "8", "--num_train_epochs", "4"),
        ),
        environment="loops",
        own=True,
        budget="8m",
        note="Hugging Face Trainer: a small BERT says which package a function of Python's standard library is from",
    ),
    Outside(
        name="lightning_digits",
        folder="lightning_digits",
        arguments=("train.py", "--epochs", "25"),
        environment="loops",
        own=True,
        budget="8m",
        note="Lightning: a convolutional network on scikit-learn's digits, turned, moved and noisy",
    ),
    Outside(
        name="torchrun_code",
        folder="torchrun_code",
        arguments=("-m", "torch.distributed.run", "--nproc_per_node", "2", "train.py", "--epochs", "2"),
        environment="loops",
        own=True,
        budget="8m",
        note="torchrun, two processes and gloo: a character model of Python's own source, by DistributedDataParallel",
    ),
    Outside(
        name="dqn_snake",
        folder="dqn_snake",
        arguments=("train.py", "--updates", "4000"),
        environment="loops",
        own=True,
        budget="8m",
        note="deep Q-learning of Snake, the environment written in Python and numpy: samples from a replay memory, no loader",
    ),
    Outside(
        name="hydra_denoise",
        folder="hydra_denoise",
        arguments=("train.py", "model.width=8", "training.epochs=25"),
        environment="loops",
        own=True,
        budget="8m",
        note="Hydra: a U-shaped network frees digits from noise; its settings come from conf/config.yaml",
    ),
)
