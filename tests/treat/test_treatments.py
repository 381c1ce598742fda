"""What every treatment must have: words in both languages, a page, cases; and what each of them refuses."""

import re
from pathlib import Path

import msgspec
import pytest

from pitstop.messages import say
from pitstop.messages.catalogue import texts
from pitstop.records import AnomalySighting, CallSighting, CannotApply, DenormalSighting, Site
from pitstop.treat import TREATMENTS, CannotEdit, build_change, propose_all, treatment_named
from treat.golden import NAMES, answers_of, read_expected, view_of

DOCS = Path(__file__).parents[2] / "docs" / "treatments"
HEADINGS = [
    "What it sees",
    "Why it is slow",
    "How it is detected",
    "How it is fixed",
    "What it can gain",
    "When it is wrong",
]
HEADINGS_ZH = ["看到什么", "为什么慢", "如何检测", "如何修复", "能带来多少收益", "何时不适用"]
LAYERS = {"data", "model", "compute", "communication", "memory", "environment"}

each = pytest.mark.parametrize("treatment", TREATMENTS, ids=lambda treatment: treatment.name)


@each
def test_it_has_a_page_with_the_usual_headings(treatment):
    page = (DOCS / f"{treatment.name}.md").read_text("utf-8")
    assert re.findall(r"^## (.+)$", page, re.MULTILINE) == HEADINGS
    sections = re.split(r"^## .+$", page, flags=re.MULTILINE)[1:]
    assert all(len(section.split()) >= 15 for section in sections)


@each
def test_its_page_in_chinese_has_the_same_sections_and_the_same_edit(treatment):
    page, english = ((DOCS / f"{treatment.name}{suffix}.md").read_text("utf-8") for suffix in (".zh", ""))
    assert re.findall(r"^## (.+)$", page, re.MULTILINE) == HEADINGS_ZH
    sections = re.split(r"^## .+$", page, flags=re.MULTILINE)[1:]
    assert all(len(re.findall(r"[\u4e00-\u9fff]", section)) >= 15 for section in sections)
    edits = re.compile(r"```diff\n.*?```", re.DOTALL)
    assert edits.findall(page) == edits.findall(english)


def test_no_page_is_left_of_a_treatment_that_is_gone():
    names = {treatment.name for treatment in TREATMENTS}
    assert {path.stem for path in DOCS.glob("*.md")} == names | {f"{name}.zh" for name in names}


@each
def test_it_speaks_both_languages(treatment):
    for text in (treatment.title, treatment.explanation):
        assert text.say(lang="en").isascii()
        assert re.search(r"[\u4e00-\u9fff]", text.say(lang="zh"))
    assert treatment.layer in LAYERS


@each
def test_some_case_shows_it_refused_and_some_case_shows_its_edit(treatment):
    together = "".join(map(read_expected, NAMES))
    assert f"cannot {treatment.name}:" in together or treatment.name in ("compile", "threads")
    assert f"can {treatment.name}" in together or treatment.name in (
        "pin-memory",
        "gc-freeze",
        "empty-cache-off",
        "flush-denormal",
    )


def test_names_are_unique_and_asked_for_by_name():
    names = [treatment.name for treatment in TREATMENTS]
    assert len(set(names)) == len(names)
    assert treatment_named("compile").name == "compile"
    with pytest.raises(KeyError, match="loader-workers"):
        treatment_named("magic")


def test_proposal_names_are_unique_within_a_program():
    for name in NAMES:
        proposals, _ = answers_of(name)
        assert len({item.name for item in proposals}) == len(proposals)


def test_reasons_exist_in_both_languages():
    keys = [{key for key in texts(lang) if key.startswith("treat.")} for lang in ("en", "zh")]
    assert keys[0] == keys[1]
    fields = [{key: set(re.findall(r"{(\w+)}", texts(lang)[key])) for key in keys[0]} for lang in ("en", "zh")]
    assert fields[0] == fields[1]
    assert say("treat.no_script", lang="zh") == "程序没有主脚本"


def changed(name, **fields):
    """A case whose forwards say something else."""
    view = view_of(name)
    forwards = tuple(msgspec.structs.replace(forward, **fields) for forward in view.evidence.forwards)
    return msgspec.structs.replace(view, evidence=msgspec.structs.replace(view.evidence, forwards=forwards))


def with_torch(view, torch):
    environment = msgspec.structs.replace(view.evidence.environment, torch=torch)
    return msgspec.structs.replace(view, evidence=msgspec.structs.replace(view.evidence, environment=environment))


@pytest.mark.parametrize(
    ("treatment", "view", "reason"),
    [
        ("bf16-autocast", changed("vae", parameter_dtypes=("torch.complex64",)), "complex64"),
        ("bf16-autocast", changed("vae", traced=True), "traced"),
        ("bf16-autocast", changed("vae", autocast="torch.float16"), "already uses autocast"),
        ("compile", changed("vae", compiled=True), "already compiled"),
        ("compile", changed("vae", traced=True), "traced"),
        ("compile", with_torch(view_of("vae"), "1.13.1"), "2.0"),
        ("channels-last", changed("crlf", channels_last=True), "already in the channels-last"),
        ("channels-last", changed("crlf", input_shapes=((4, 1, 6),)), "4-dimensional"),
        ("fused-optimizer", with_torch(view_of("vae"), "2.3.0"), "no fused kernel on cpu"),
        ("fused-optimizer", view_of("sequential_flat"), "RMSprop"),
        ("fused-optimizer", view_of("iterable_dataset"), "sparse"),
        ("pin-memory", view_of("vae"), "CUDA"),
    ],
)
def test_it_says_why_it_cannot_apply(treatment, view, reason):
    answer = treatment_named(treatment).propose(view)
    assert isinstance(answer, CannotApply)
    assert reason in answer.reason


def test_memory_is_pinned_where_the_model_is_on_a_gpu():
    view = changed("option_on_line", device="cuda:0")
    answer = treatment_named("pin-memory").propose(view)
    assert not isinstance(answer, CannotApply)
    (text,) = build_change(answer, view).files.values()
    assert "pin_memory=True" in text


@pytest.mark.parametrize("name", ["vae", "trainer_class", "dcgan", "flat_notebook", "crlf", "tabs", "chinese"])
def test_the_collector_is_frozen_right_after_the_last_optimizer_is_made(name):
    view = view_of(name)
    shares = {**view.ledger.categories_ns, "gc": 10, "forward": view.ledger.categories_ns["forward"] - 10}
    view = msgspec.structs.replace(view, ledger=msgspec.structs.replace(view.ledger, categories_ns=shares))
    (proposal,) = answer = treatment_named("gc-freeze").propose(view)
    assert proposal.ceiling == pytest.approx(1 / 0.9)
    (text,) = build_change(answer, view).files.values()
    lines = [line.strip() for line in text.splitlines()]
    assert "import gc" in lines
    at = lines.index("gc.collect()")
    assert lines[at + 1] == "gc.freeze()"
    assert any("optim." in line or "Adam" in line or "SGD" in line for line in lines[at - 3 : at])


FREEZING = """import torch
{head}
def train(data{parameter}):
    {loop}
        model = torch.nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        return optimizer
{call}
"""


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, None),
        ({"head": "import gc"}, None),
        ({"head": "import gc as collector"}, None),
        ({"loop": "for fold in range(3):"}, "again and again"),
        ({"loop": "while True:"}, "again and again"),
        ({"call": "for fold in range(3):\n    train(fold)"}, "again and again"),
        ({"call": "done = [train(fold) for fold in range(3)]"}, "again and again"),
        ({"parameter": ", gc=1.0"}, "something else"),
        ({"head": "gc = 'gradient clip'"}, "something else"),
        ({"call": "train(1)\nimport gc"}, "something else"),
    ],
)
def test_the_collector_is_frozen_once_and_under_its_own_name(fields, reason):
    source = FREEZING.format(**{"head": "", "parameter": "", "loop": "if True:", "call": "train(1)"} | fields)
    lines = source.splitlines()
    outer = next(number for number, line in enumerate(lines, start=1) if "train(" in line and "def" not in line)
    inner = next(number for number, line in enumerate(lines, start=1) if "SGD(" in line)
    view = view_of("vae")
    stack = (Site(path="/case/x.py", line=outer), Site(path="/case/x.py", line=inner))
    optimizer = msgspec.structs.replace(view.evidence.optimizers[0], stack=stack, optimizer_class="torch.optim.sgd.SGD")
    shares = {**view.ledger.categories_ns, "gc": 10, "forward": view.ledger.categories_ns["forward"] - 10}
    view = msgspec.structs.replace(
        view,
        sources={"/case/x.py": source},
        ledger=msgspec.structs.replace(view.ledger, categories_ns=shares),
        evidence=msgspec.structs.replace(view.evidence, optimizers=(optimizer,)),
    )
    proposals = treatment_named("gc-freeze").propose(view)
    if reason is None:
        (text,) = build_change(proposals, view).files.values()
        assert ".freeze()" in text
    else:
        with pytest.raises(CannotEdit, match=reason):
            build_change(proposals, view)


@pytest.mark.parametrize(
    ("line", "edited"),
    [
        ("from torch.autograd import set_detect_anomaly as sda; sda(True)", "sda(False)"),
        ("torch.autograd.set_detect_anomaly(mode=IS_ON)", "set_detect_anomaly(mode=False)"),
        ("from torch.autograd import detect_anomaly as da; guard = da()", "torch.autograd.set_detect_anomaly(False)"),
        ("guard = torch.autograd.anomaly_mode.detect_anomaly()", "torch.autograd.set_detect_anomaly(False)"),
    ],
)
def test_anomaly_detection_is_switched_off_under_any_name(line, edited):
    view = view_of("anomaly_on")
    function = "set_detect_anomaly" if "set_detect" in line else "detect_anomaly"
    seen = AnomalySighting(id=1, stack=(Site(path="/case/x.py", line=2),), function=function)
    view = msgspec.structs.replace(
        view,
        sources={"/case/x.py": f"import torch\n{line}\n"},
        evidence=msgspec.structs.replace(view.evidence, anomalies=(seen,)),
    )
    (text,) = build_change(treatment_named("anomaly-off").propose(view), view).files.values()
    assert edited in text


def cleaning(line: str, function: str = "torch.cuda.empty_cache", **fields):
    """A program on a GPU whose every step executes `line`, the third of its loop."""
    view = view_of("vae")
    source = f"import gc\nimport torch\nwhile True:\n    step()\n    {line}\n"
    seen = CallSighting(
        **{"id": 1, "function": function, "calls": 100, "total_ns": 100, "steps": 100} | fields,
        stack=(Site(path="/case/x.py", line=5),),
    )
    forwards = tuple(msgspec.structs.replace(forward, device="cuda:0") for forward in view.evidence.forwards)
    return msgspec.structs.replace(
        view,
        sources={"/case/x.py": source},
        evidence=msgspec.structs.replace(view.evidence, calls=(seen,), forwards=forwards),
    )


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("torch.cuda.empty_cache()  # why", "    step()\n"),
        ("x = 1; torch.cuda.empty_cache()", "    step()\n    x = 1\n"),
        ("torch.cuda.empty_cache(); x = 1", "    step()\n    x = 1\n"),
        ("if x:\n        torch.cuda.empty_cache()", "    step()\n    if x:\n        pass\n"),
    ],
)
def test_a_call_is_taken_out_and_what_stands_around_it_stays(line, left):
    view = cleaning(line)
    site = Site(path="/case/x.py", line=5 + line.count("\n"))
    view = msgspec.structs.replace(
        view,
        evidence=msgspec.structs.replace(
            view.evidence, calls=(msgspec.structs.replace(view.evidence.calls[0], stack=(site,)),)
        ),
    )
    (text,) = build_change(treatment_named("empty-cache-off").propose(view), view).files.values()
    assert text == f"import gc\nimport torch\nwhile True:\n{left}"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("freed = torch.cuda.empty_cache()", "result"),
        ("if x: torch.cuda.empty_cache()", "one line"),
        ("release_memory()", "release_memory"),
    ],
)
def test_a_call_that_is_no_statement_of_the_program_stays(line, reason):
    view = cleaning(line)
    with pytest.raises(CannotEdit, match=reason):
        build_change(treatment_named("empty-cache-off").propose(view), view)


@pytest.mark.parametrize(
    ("name", "view"),
    [
        ("empty-cache-off", cleaning("torch.cuda.empty_cache()", calls=1)),
        ("gc-collect-off", cleaning("gc.collect()", "gc.collect", calls=1)),
        ("gc-collect-off", cleaning("gc.collect()", "gc.collect", total_ns=0)),
    ],
)
def test_a_call_that_is_rare_or_costs_nothing_stays(name, view):
    assert isinstance(treatment_named(name).propose(view), CannotApply)


def with_denormals(source: str, *, denormal: int = 500, flushes: bool = False):
    view = view_of("vae")
    seen = DenormalSighting(of="gradients", step=1024, numbers=1000, denormal=denormal)
    environment = msgspec.structs.replace(view.evidence.environment, script="/case/x.py", flushes_denormals=flushes)
    return msgspec.structs.replace(
        view,
        sources={"/case/x.py": source},
        evidence=msgspec.structs.replace(view.evidence, denormals=(seen,), environment=environment),
    )


@pytest.mark.parametrize(
    ("source", "edited"),
    [
        ("import torch\n\nmain()\n", "import torch\n\ntorch.set_flush_denormal(True)\n\nmain()\n"),
        ("import torch as th\nmain()\n", "import torch as th\n\nth.set_flush_denormal(True)\nmain()\n"),
        (
            "from torch import nn\nmain()\n",
            "import torch\nfrom torch import nn\n\ntorch.set_flush_denormal(True)\nmain()\n",
        ),
        ("import torch\ntorch.set_flush_denormal(False)\n", "import torch\ntorch.set_flush_denormal(True)\n"),
    ],
)
def test_denormals_are_flushed_before_any_operation(source, edited):
    view = with_denormals(source)
    (text,) = build_change(treatment_named("flush-denormal").propose(view), view).files.values()
    assert text == edited


def test_denormals_are_flushed_only_where_they_are():
    few = treatment_named("flush-denormal").propose(with_denormals("import torch\n", denormal=0))
    already = treatment_named("flush-denormal").propose(with_denormals("import torch\n", flushes=True))
    assert isinstance(few, CannotApply)
    assert isinstance(already, CannotApply)
    assert few.reason != already.reason


def test_autocast_names_the_device_of_the_model():
    view = changed("vae", device="cuda:1")
    answer = treatment_named("bf16-autocast").propose(view)
    assert not isinstance(answer, CannotApply)
    (text,) = build_change(answer, view).files.values()
    assert "torch.autocast(device_type='cuda', dtype=torch.bfloat16)" in text


def test_a_program_with_a_grad_scaler_arranges_its_own_precision():
    view = view_of("vae")
    path, text = next(iter(view.sources.items()))
    view = msgspec.structs.replace(view, sources={path: f"{text}\nscaler = torch.amp.GradScaler('cpu')\n"})
    _, refused = propose_all(view)
    assert "GradScaler" in next(item.reason for item in refused if item.treatment == "bf16-autocast")


def test_before_torch_2_2_forward_and_loss_are_compiled_as_a_function():
    view = with_torch(view_of("vae"), "2.1.2")
    answer = treatment_named("compile").propose(view)
    assert not isinstance(answer, CannotApply)
    (text,) = build_change(answer, view).files.values()
    assert "@torch.compile\ndef compute_loss(data):" in text
    assert "model.compile()" not in text
