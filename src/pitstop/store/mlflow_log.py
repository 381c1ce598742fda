"""A run as a run of MLflow. `pip install mlflow-skinny` is enough; nothing else of pitstop needs it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pitstop.errors import WrongUse

__all__ = ["log_to_mlflow"]

_LONGEST = 6000  # characters of a parameter, MLflow's own limit
_BATCH = 1000  # metrics in one call, MLflow's own limit


def log_to_mlflow(
    uri: str,
    *,
    experiment: str,
    name: str,
    parameters: Mapping[str, str],
    metrics: Mapping[str, float],
    series: Mapping[str, Sequence[tuple[int, float]]],
    files: Sequence[str],
) -> str:
    """Write one run into the tracking store at `uri` and return its id. Files that are not there are left out.

    Raises WrongUse where MLflow is not installed or the store does not take it.
    """
    try:
        from mlflow.entities import Metric  # noqa: PLC0415 - optional
        from mlflow.exceptions import MlflowException  # noqa: PLC0415
        from mlflow.tracking import MlflowClient  # noqa: PLC0415
    except ImportError as error:
        raise WrongUse("export.not_installed", library="MLflow", package="mlflow-skinny") from error
    client: Any = MlflowClient(tracking_uri=uri)
    try:
        known = client.get_experiment_by_name(experiment)
        place = known.experiment_id if known is not None else client.create_experiment(experiment)
        run_id = str(client.create_run(place, run_name=name).info.run_id)
        for key, value in parameters.items():
            client.log_param(run_id, key, value[:_LONGEST])
        points = [Metric(key, value, 0, 0) for key, value in metrics.items()]
        points += [Metric(key, value, 0, step) for key, values in series.items() for step, value in values]
        for first in range(0, len(points), _BATCH):
            client.log_batch(run_id, metrics=points[first : first + _BATCH])
        for file in files:
            if Path(file).is_file():
                client.log_artifact(run_id, file)
        client.set_terminated(run_id)
    except (MlflowException, OSError) as error:
        raise WrongUse("export.not_taken", place=uri, why=str(error).partition("\n")[0]) from error
    return run_id
