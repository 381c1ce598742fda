"""`pitstop export`: a stored run into a tracker of experiments."""

from pathlib import Path

from pitstop.api.stored import stored_result
from pitstop.errors import WrongUse
from pitstop.messages import say
from pitstop.records.results import ProfileResult, TuneResult
from pitstop.report.run_log import run_log
from pitstop.store.mlflow_log import log_to_mlflow
from pitstop.store.tensorboard_log import log_to_tensorboard

__all__ = ["export_run"]


def export_run(
    root: Path, *, wanted: str | None, mlflow: str | None, experiment: str, tensorboard: Path | None
) -> tuple[str, ...]:
    """Log run `wanted` (default: the newest) where asked; returns a line for each place. Raises WrongUse."""
    if mlflow is None and tensorboard is None:
        raise WrongUse("export.nowhere")
    result = stored_result(root, wanted=wanted)
    if not isinstance(result, ProfileResult | TuneResult):
        raise WrongUse("export.no_profile")
    log = run_log(result)
    series = {one.name: one.points for one in log.series}
    said = []
    if mlflow is not None:
        run_id = log_to_mlflow(
            mlflow,
            experiment=experiment,
            name=log.name,
            parameters=log.parameters,
            metrics=log.metrics,
            series=series,
            files=log.files,
        )
        said.append(say("export.logged_mlflow", name=log.name, run=run_id, experiment=experiment, place=mlflow))
    if tensorboard is not None:
        place = log_to_tensorboard(
            tensorboard, name=log.name, parameters=log.parameters, metrics=log.metrics, series=series
        )
        said.append(say("export.logged_tensorboard", name=log.name, place=place, folder=tensorboard))
    return tuple(said)
