"""`pitstop export`: said where it cannot; read back by the trackers' own readers where they are installed (`make exports-env`)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from pitstop.report.json import to_json
from report.samples import photo_tune

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venvs" / "exports" / "bin" / "python"
READ_MLFLOW = """
import json, sys
from mlflow.tracking import MlflowClient
client = MlflowClient(tracking_uri=sys.argv[1])
(run,) = client.search_runs([client.get_experiment_by_name("photos").experiment_id])
history = client.get_metric_history(run.info.run_id, "step/time_ms")
print(json.dumps({"metrics": run.data.metrics, "params": run.data.params, "status": run.info.status, "points": len(history),
                  "files": [one.path for one in client.list_artifacts(run.info.run_id)]}))
"""
READ_TENSORBOARD = """
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
found = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0})
found.Reload()
print(json.dumps({name: [(one.step, one.value) for one in found.Scalars(name)] for name in found.Tags()["scalars"]}))
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / ".pitstop" / "runs" / "20261130-141200-train"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text("{}")
    (folder / "report.html").write_text("<p>report</p>")
    (folder / "tune.json").write_bytes(to_json(msgspec.structs.replace(photo_tune(), run_folder=str(folder))))
    return folder


def export(python: Path | str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [str(python), "-m", "pitstop", "export", "--lang", "en", *options]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False)


def test_where_to_has_to_be_said(run, tmp_path):
    done = export(sys.executable, tmp_path)
    assert done.returncode == 2
    assert "--mlflow URI" in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(not PYTHON.exists(), reason="make exports-env makes the environment with the trackers' libraries")
class TestTrackers:
    def read(self, code: str, argument: str) -> dict:
        done = subprocess.run([PYTHON, "-c", code, argument], capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def test_mlflow_reads_back_what_was_logged(self, run, tmp_path):
        uri = f"sqlite:///{tmp_path}/mlflow.db"
        done = export(PYTHON, tmp_path, "--mlflow", uri, "--experiment", "photos")
        assert done.returncode == 0, done.stderr
        found = self.read(READ_MLFLOW, uri)
        assert found["status"] == "FINISHED"
        assert found["metrics"]["ledger/data_wait_share"] == pytest.approx(0.618)
        assert found["metrics"]["tune/speedup"] == pytest.approx(photo_tune().prescription.speedup)
        assert found["params"]["torch"] == "2.13.0"
        assert found["points"] > 100
        assert set(found["files"]) >= {"report.html", "tune.json"}

    def test_tensorboard_reads_back_what_was_logged(self, run, tmp_path):
        done = export(PYTHON, tmp_path, "--tensorboard", str(tmp_path / "logs"))
        assert done.returncode == 0, done.stderr
        found = self.read(READ_TENSORBOARD, str(tmp_path / "logs" / run.name))
        assert found["ledger/data_wait_share"][0][1] == pytest.approx(0.618)
        assert found["step/time_ms"][-1][0] == len(photo_tune().baseline.step_times_ns)

    def test_a_store_that_does_not_answer_is_one_line(self, run, tmp_path):
        done = export(PYTHON, tmp_path, "--mlflow", "sqlite:////proc/no/such/mlflow.db")
        assert done.returncode == 2, done.stderr
        assert "Traceback" not in done.stderr
