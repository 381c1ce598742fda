"""The callbacks, in real Trainers: the run is profiled without `pitstop profile` in front, and trains as it did."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from probed import plain_env

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venvs" / "loops" / "bin" / "python"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.exists(), reason="make loops-env makes the interpreter with the frameworks"),
]
ENVIRONMENT = plain_env(
    HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="", TRANSFORMERS_VERBOSITY="error", PYTHONPATH=str(ROOT / "src"), LANG="C"
)
HUGGING_FACE = """
import sys
import torch
from torch import nn
from transformers import Trainer, TrainingArguments
{importing}

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 512
    def __getitem__(self, index):
        torch.manual_seed(index)
        return {{"x": torch.randn(64), "labels": torch.tensor(index % 4)}}

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 4))
    def forward(self, x, labels):
        logits = self.layers(x)
        return {{"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}}

callbacks = {callbacks}
torch.manual_seed(0)
arguments = TrainingArguments(
    "out", num_train_epochs=4, per_device_train_batch_size=8, report_to="none", save_strategy="no", use_cpu=True,
    logging_strategy="no", disable_tqdm=True,
)
trainer = Trainer(Model(), arguments, train_dataset=Data(), callbacks=callbacks)
trainer.train()
print(float(sum(parameter.double().sum() for parameter in trainer.model.parameters())))
"""
LIGHTNING = """
import torch
from torch import nn
import lightning
{importing}

class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 4))
    def training_step(self, batch, index):
        x, labels = batch
        return nn.functional.cross_entropy(self.layers(x), labels)
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())

callbacks = {callbacks}
torch.manual_seed(0)
data = torch.utils.data.TensorDataset(torch.randn(512, 64), torch.arange(512) % 4)
trainer = lightning.Trainer(
    max_epochs=4, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False, callbacks=callbacks
)
model = Model()
trainer.fit(model, torch.utils.data.DataLoader(data, batch_size=8))
print(float(sum(parameter.double().sum() for parameter in model.parameters())))
"""
CASES = {
    "huggingface": HUGGING_FACE,
    "lightning": LIGHTNING,
}


def train(program: str, framework: str, folder: Path, *, with_callback: bool, under: tuple[str, ...] = ()):
    folder.mkdir()
    text = program.format(
        importing=f"from pitstop.callbacks.{framework} import PitstopCallback" if with_callback else "",
        callbacks="[PitstopCallback()]" if with_callback else "[]",
    )
    (folder / "train.py").write_text(text)
    done = subprocess.run(
        [*under, str(PYTHON), "train.py"],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("framework", CASES)
def test_a_run_is_profiled_and_trains_as_it_did(framework, tmp_path):
    plain = train(CASES[framework], framework, tmp_path / "plain", with_callback=False)
    done = train(CASES[framework], framework, tmp_path / "watched", with_callback=True)
    assert done.stdout.splitlines()[-1] == plain.stdout.splitlines()[-1], "to the last bit"
    (folder,) = (tmp_path / "watched" / ".pitstop" / "runs").iterdir()
    result = json.loads((folder / "profile.json").read_text())
    assert result["steps"]["count"] == 256
    assert result["steps"]["samples_per_step"] == pytest.approx(
        8, rel=0.02
    )  # the first batch was fetched ahead of the first step seen
    assert sum(result["ledger"].values()) == pytest.approx(1)
    assert result["ledger"]["forward"] > 0
    assert result["ledger"]["backward"] > 0
    assert result["memory"]["peak_rss_bytes"] > 1 << 20
    assert "Where the time of a step goes" in done.stderr
    assert (folder / "report.html").exists()


@pytest.mark.parametrize("framework", CASES)
def test_under_pitstop_profile_it_leaves_the_work_to_that(framework, tmp_path):
    under = (sys.executable, "-m", "pitstop", "profile", "--json", "out.json", "--")
    train(CASES[framework], framework, tmp_path / "watched", with_callback=True, under=under)
    assert len(list((tmp_path / "watched" / ".pitstop" / "runs").iterdir())) == 1
    assert json.loads((tmp_path / "watched" / "out.json").read_text())["steps"]["count"] == 256
