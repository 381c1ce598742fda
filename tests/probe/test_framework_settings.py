"""What the probe says of frameworks' settings, with stand-ins for the frameworks; tests/loops has the real ones."""

import enum
import sys
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from pitstop.probe.frameworks import hugging_face, hydra, lightning
from pitstop.probe.pytorch.origins import Origins


@pytest.fixture
def session():
    seen, faults = [], []
    return SimpleNamespace(
        sightings=SimpleNamespace(write=lambda kind, **fields: seen.append((kind, fields))),
        fault=lambda *fault: faults.append(fault),
        seen=seen,
        faults=faults,
    )


class Optim(enum.Enum):
    ADAMW = "adamw_torch"


@dataclass
class TrainingArguments:
    bf16: bool = False
    optim: Optim = Optim.ADAMW

    def __post_init__(self):
        self.dataloader_num_workers = 3


@dataclass
class MoreArguments(TrainingArguments):
    beams: int = 1

    def __post_init__(self):
        super().__post_init__()
        self.beams += 1


def test_training_arguments_are_seen_where_the_user_makes_them(session, monkeypatch):
    monkeypatch.setattr(TrainingArguments, "__post_init__", TrainingArguments.__post_init__)
    hugging_face.install(SimpleNamespace(TrainingArguments=TrainingArguments), session)
    arguments = MoreArguments(bf16=True)
    assert (arguments.beams, arguments.dataloader_num_workers) == (2, 3)
    ((kind, fields),) = session.seen
    assert (kind, fields["framework"], fields["class_name"]) == ("settings", "transformers", "MoreArguments")
    assert fields["values"]["bf16"] is True
    assert fields["values"]["optim"] == "adamw_torch"
    assert fields["values"]["dataloader_num_workers"] == 3
    assert fields["values"]["fp16"] is None
    assert fields["stack"][-1]["path"] == __file__
    assert session.faults == []


def test_a_trainer_is_seen_with_its_precision_under_either_name(session):
    class Trainer:
        def __init__(self, precision="32-true"):
            self.precision = precision

    lightning.install(SimpleNamespace(__name__="pytorch_lightning.trainer.trainer", Trainer=Trainer), session)
    assert Trainer(precision="16-mixed").precision == "16-mixed"
    ((_kind, fields),) = session.seen
    assert (fields["framework"], fields["values"]) == ("pytorch_lightning", {"precision": "16-mixed"})


def test_a_fault_in_looking_is_ours_and_the_programs_call_succeeds(session):
    class Trainer:
        @property
        def precision(self):
            raise RuntimeError("no strategy yet")

    lightning.install(SimpleNamespace(__name__="lightning.pytorch.trainer.trainer", Trainer=Trainer), session)
    assert isinstance(Trainer(), Trainer)
    assert session.seen == []
    assert session.faults[0][0] == "settings of lightning"


def test_every_plain_value_of_a_hydra_configuration_is_a_setting_of_the_launch_line(session, monkeypatch):
    class HydraConfig:
        def set_config(self, config):
            self.config = config

    omegaconf = SimpleNamespace(OmegaConf=SimpleNamespace(to_container=lambda config, resolve: dict(config)))
    monkeypatch.setitem(sys.modules, "omegaconf", omegaconf)
    hydra.install(SimpleNamespace(HydraConfig=HydraConfig), session)
    configured = {"hydra": {"verbose": True}, "data": {"workers": 0, "sizes": [1, 2]}, "seed": None, 3: "odd"}
    kept = HydraConfig()
    kept.set_config(configured)
    assert kept.config is configured
    assert [(fields["dest"], fields["value"], fields["style"]) for _kind, fields in session.seen] == [
        ("data.workers", 0, "override"),
        ("seed", None, "override"),
    ]


class Loader:
    def __init__(self, dataset, num_workers=0, batch_size=4):
        self.dataset, self.num_workers, self.batch_size = dataset, num_workers, batch_size


def frame_in(package: str):
    """A frame of library code that this test calls."""
    scope = {"sys": sys, "__name__": f"{package}.deep"}
    code = compile("def make():\n    return sys._getframe()\n", f"/lib/site-packages/{package}/deep.py", "exec")
    exec(code, scope)  # noqa: S102  code of another file, as an installed package has it
    return scope["make"]()


def test_a_loader_that_a_library_makes_anew_has_the_place_of_the_users():
    origins, data = Origins(), [1, 2]
    users = Loader(data)
    first = origins.of(users, sys._getframe())
    copy = origins.of(Loader(data, batch_size=None), frame_in("accelerate"))
    assert first["library"] is None
    assert copy["stack"] == first["stack"]
    assert (copy["library"], copy["batch_size"]) == (None, 4)


def test_a_loader_that_a_library_makes_by_itself_names_the_library():
    origins = Origins()
    users = Loader([1])
    origins.of(users, sys._getframe())
    made = origins.of(Loader([1]), frame_in("transformers"))
    assert made["library"] == "transformers"
    assert made["stack"][-1]["path"] == __file__


def test_originals_are_not_kept_alive():
    origins, data = Origins(), [1, 2]
    origins.of(Loader(data), sys._getframe())
    assert origins.of(Loader(data), frame_in("accelerate"))["library"] == "accelerate"
