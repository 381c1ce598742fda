"""A setting that comes from a framework's configuration is changed there: on the launch line, or at the call that makes it."""

import msgspec
import pytest

from pitstop.records import Program
from pitstop.treat import CannotEdit, View, build_change, propose_all
from treat.golden import answers_of, view_of


def proposal(name: str, treatment: str):
    return next(item for item in reversed(answers_of(name)[0]) if item.treatment == treatment)


def with_values(view: View, **values) -> View:
    settings = tuple(msgspec.structs.replace(seen, values={**seen.values, **values}) for seen in view.evidence.settings)
    return msgspec.structs.replace(view, evidence=msgspec.structs.replace(view.evidence, settings=settings))


def reason(view: View, treatment: str) -> str:
    return next(item.reason for item in propose_all(view)[1] if item.treatment == treatment)


def test_what_the_framework_already_does_is_not_proposed():
    view = with_values(view_of("hf_arguments"), bf16=True)
    assert reason(view, "bf16-autocast") == "TrainingArguments already has bf16=True"


def test_a_setting_that_rules_out_another_is_respected():
    view = with_values(view_of("hf_arguments"), fp16=True)
    assert "fp16" in reason(view, "bf16-autocast")


def test_settings_from_a_file_are_named_and_not_guessed_at():
    """`HfArgumentParser.parse_json_file(...)`: neither a call of TrainingArguments nor an option."""
    view = view_of("hf_command_line")
    view = msgspec.structs.replace(view, evidence=msgspec.structs.replace(view.evidence, options=()))
    assert "dataloader_num_workers=" in " ".join(item.reason for item in propose_all(view)[1])
    with pytest.raises(CannotEdit, match="optim='adamw_torch_fused'"):
        build_change((proposal("hf_command_line", "fused-optimizer"),), view)


def test_options_behind_a_wrapper_that_takes_no_more_are_not_appended():
    view = msgspec.structs.replace(view_of("hf_command_line"), program=Program(argv=("bash", "run.sh"), cwd="/case"))
    with pytest.raises(CannotEdit, match="bf16=True"):
        build_change((proposal("hf_command_line", "bf16-autocast"),), view)


def test_an_option_with_an_equals_sign_on_the_line_is_replaced_and_others_are_added():
    change = build_change((proposal("hf_command_line", "loader-workers"),), view_of("hf_command_line"))
    assert change.replaced_arguments == {"--dataloader_num_workers": "2"}
    assert change.arguments == ("--dataloader_persistent_workers", "True")
    assert not change.files


def test_a_program_that_trains_by_itself_beside_a_framework_is_edited_by_itself():
    """TrainingArguments are made, yet the backward is in the program's own source."""
    view = view_of("mnist_argparse")
    settings = view_of("hf_arguments").evidence.settings
    mixed = msgspec.structs.replace(view, evidence=msgspec.structs.replace(view.evidence, settings=settings))
    bf16 = proposal("mnist_argparse", "bf16-autocast")
    assert build_change((bf16,), mixed) == build_change((bf16,), view)


def test_a_key_of_the_configuration_is_overridden_as_one_word():
    change = build_change((proposal("hydra_overrides", "loader-workers"),), view_of("hydra_overrides"))
    assert change.arguments == ("data.num_workers=2",)


@pytest.mark.parametrize("word", ["data.num_workers=0", "+data.num_workers=0", "++data.num_workers=0"])
def test_an_override_on_the_line_is_replaced(word):
    view = view_of("hydra_overrides")
    argv = ("before.py", word)
    environment = msgspec.structs.replace(view.evidence.environment, argv=argv)
    evidence = msgspec.structs.replace(view.evidence, environment=environment)
    view = msgspec.structs.replace(view, evidence=evidence, program=Program(argv=("python", *argv), cwd="/case"))
    change = build_change((proposal("hydra_overrides", "loader-workers"),), view)
    assert change.replaced_arguments == {word.partition("=")[0]: "2"}
    assert change.arguments == ()


def test_two_keys_that_may_be_meant_are_not_guessed_at():
    view = view_of("hydra_overrides")
    option = next(item for item in view.evidence.options if item.dest == "data.num_workers")
    other = msgspec.structs.replace(option, dest="evaluation.num_workers", flags=("evaluation.num_workers",))
    evidence = msgspec.structs.replace(view.evidence, options=(*view.evidence.options, other))
    change = build_change(
        (proposal("hydra_overrides", "loader-workers"),), msgspec.structs.replace(view, evidence=evidence)
    )
    assert change.arguments == ()
    assert "num_workers=2" in change.files["/case/before.py"]


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("default", "torch.compile(Classifier())"),
        ("max-autotune", 'torch.compile(Classifier(), mode="max-autotune")'),
        ("dynamic", "torch.compile(Classifier(), dynamic=True)"),
    ],
)
def test_modes_of_compiling_reach_the_framework(mode, words):
    chosen = msgspec.structs.replace(proposal("lightning_trainer", "compile"), setting={"mode": mode})
    assert words in build_change((chosen,), view_of("lightning_trainer")).files["/case/before.py"]


def test_a_mode_that_the_framework_cannot_say_is_not_tried():
    view, compiled = view_of("hf_command_line"), proposal("hf_command_line", "compile")
    tuned = msgspec.structs.replace(compiled, setting={"mode": "max-autotune"})
    assert build_change((tuned,), view).arguments[-2:] == ("--torch_compile_mode", "max-autotune")
    with pytest.raises(CannotEdit, match="dynamic"):
        build_change((msgspec.structs.replace(compiled, setting={"mode": "dynamic"}),), view)
