"""A run as event files of TensorBoard, by tensorboardX, which needs neither TensorFlow nor PyTorch."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pitstop.errors import WrongUse

__all__ = ["log_to_tensorboard"]


def log_to_tensorboard(
    folder: Path,
    *,
    name: str,
    parameters: Mapping[str, str],
    metrics: Mapping[str, float],
    series: Mapping[str, Sequence[tuple[int, float]]],
) -> Path:
    """Write one run below `folder` and return where. Raises WrongUse where tensorboardX is not installed or nothing can be written."""
    try:
        from tensorboardX import SummaryWriter  # noqa: PLC0415 - optional
    except ImportError as error:
        raise WrongUse("export.not_installed", library="tensorboardX", package="tensorboardX") from error
    place = folder / name
    try:
        with SummaryWriter(logdir=str(place)) as writer:
            rows = "\n".join(f"| {key} | {value} |" for key, value in parameters.items())
            writer.add_text("parameters", f"| | |\n| --- | --- |\n{rows}")
            for key, value in metrics.items():
                writer.add_scalar(key, value, 0)
            for key, points in series.items():
                for step, value in points:
                    writer.add_scalar(key, value, step)
    except OSError as error:
        raise WrongUse("cli.cannot_write", path=str(place), why=error.strerror or str(error)) from error
    return place
