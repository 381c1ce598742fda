"""Treatments of devices and allocators: when each is worth a trial, what is refused and why, and that the switches act."""

import subprocess
import sys

import msgspec
import pytest

from pitstop.records import CallSighting, CannotApply, Site
from pitstop.treat import CannotEdit, View, build_change, launch_line, treatment_named
from pitstop.treat.malloc_reuse import MallocReuse
from treat.golden import view_of


def on(name: str, *, forwards: dict | None = None, **environment: object) -> View:
    """A case on another machine."""
    view = view_of(name)
    assert view.evidence.environment is not None
    evidence = msgspec.structs.replace(
        view.evidence,
        environment=msgspec.structs.replace(view.evidence.environment, **environment),
        forwards=tuple(msgspec.structs.replace(forward, **(forwards or {})) for forward in view.evidence.forwards),
    )
    return msgspec.structs.replace(view, evidence=evidence)


def with_two_shapes(view: View) -> View:
    """The training module is called from a second place, with larger inputs."""
    first = view.evidence.forwards[0]
    second = msgspec.structs.replace(first, input_shapes=tuple((*shape[:-1], 99) for shape in first.input_shapes))
    return msgspec.structs.replace(view, evidence=msgspec.structs.replace(view.evidence, forwards=(first, second)))


def refusal(name: str, view: View) -> str:
    answer = treatment_named(name).propose(view)
    assert isinstance(answer, CannotApply)
    return answer.reason


def names(name: str, view: View) -> list[str]:
    answer = treatment_named(name).propose(view)
    assert not isinstance(answer, CannotApply)
    return [item.name for item in answer]


@pytest.mark.parametrize(
    ("treatment", "view", "said"),
    [
        ("tf32", on("vae"), "CUDA device"),
        ("fp16-scaler", on("vae"), "CUDA device"),
        ("fp16-scaler", on("on_gpu"), "computes in bfloat16"),
        ("fp16-scaler", on("on_gpu", device_capabilities=()), "not known"),
        ("fp16-scaler", on("on_gpu", device_capabilities=((6, 1),)), "6.1"),
        ("fp16-scaler", on("on_old_gpu", forwards={"autocast": "torch.float16"}), "already uses autocast"),
        ("fp16-scaler", on("on_old_gpu", forwards={"parameter_dtypes": ("torch.float16",)}), "no parameter is float32"),
        ("non-blocking", on("vae"), "CUDA device"),
        ("non-blocking", on("rnn_or_transformer", forwards={"device": "cuda:0"}), "no DataLoader"),
        ("tf32", on("on_gpu", device_capabilities=((8, 6), (7, 5))), "compute capability 7.5"),
        ("tf32", on("on_gpu", allow_tf32=True), "already"),
        ("tf32", on("on_gpu", matmul_precision="medium"), "already"),
        ("tf32", on("on_gpu", forwards={"parameter_dtypes": ("torch.bfloat16",)}), "no parameter is float32"),
        ("tf32", on("on_gpu", torch="1.11.0"), "1.12"),
        ("bf16-matmul", on("on_gpu"), "no training module runs on the CPU"),
        ("bf16-matmul", on("on_matrix_units", cpu_flags=("avx512_bf16",)), "amx_bf16"),
        ("bf16-matmul", on("on_matrix_units", matmul_precision="medium"), "already"),
        ("bf16-matmul", on("on_matrix_units", forwards={"parameter_dtypes": ("torch.float64",)}), "float32"),
        ("bf16-matmul", on("on_matrix_units", torch="2.0.1"), "2.1"),
        ("cudnn-benchmark", on("crlf"), "CUDA device"),
        ("cudnn-benchmark", on("on_gpu", forwards={"num_conv": 0}), "no 2-d convolutions"),
        ("cudnn-benchmark", on("on_gpu", cudnn_benchmark=True), "already"),
        ("cudnn-benchmark", on("on_gpu", deterministic=True), "deterministic"),
        ("cudnn-benchmark", on("on_gpu", cudnn_deterministic=True), "deterministic"),
        ("cudnn-benchmark", with_two_shapes(on("on_gpu")), "several shapes"),
        ("expandable-segments", on("vae"), "CUDA device"),
        ("expandable-segments", on("on_gpu", device_allocator_settings=("PYTORCH_ALLOC_CONF",)), "PYTORCH_ALLOC_CONF"),
        ("expandable-segments", on("on_gpu", torch="2.1.0"), "2.2"),
        ("expandable-segments", on("rnn_or_transformer", forwards={"device": "cuda:0"}), "keep their shape"),
        ("allocator-preload", on("vae"), "no other allocator"),
        ("allocator-preload", on("on_gpu", preloads=True), "LD_PRELOAD"),
        ("allocator-preload", on("on_gpu", allocator="tcmalloc"), "from tcmalloc"),
        ("allocator-preload", on("on_gpu", allocator_settings=("MALLOC_CONF",)), "MALLOC_CONF"),
        ("allocator-preload", on("on_gpu", page_faults_per_step=0.0), "page faults"),
    ],
)
def test_it_says_why_it_cannot_apply(treatment, view, said):
    if "page faults" in said:
        ledger = msgspec.structs.replace(view.ledger, wall_ns=10_000_000 * view.ledger.steps)
        view = msgspec.structs.replace(view, ledger=ledger)
    assert said in refusal(treatment, view)


def test_shapes_that_vary_ask_for_one_graph_and_forbid_captured_ones():
    assert names("compile", on("on_gpu")) == [
        "compile",
        "compile=reduce-overhead",
        "compile=max-autotune-no-cudagraphs",
    ]
    varied = names("compile", with_two_shapes(on("on_gpu")))
    assert varied == ["compile", "compile=dynamic", "compile=max-autotune-no-cudagraphs"]
    assert names("compile", on("crlf")) == ["compile"]
    assert names("compile", with_two_shapes(on("crlf"))) == ["compile", "compile=dynamic"]


@pytest.mark.parametrize(
    ("name", "mode", "written"),
    [
        ("on_gpu", "reduce-overhead", 'model.compile(mode="reduce-overhead")'),
        ("on_gpu", "dynamic", "model.compile(dynamic=True)"),
        ("on_matrix_units", "dynamic", "@th.compile(dynamic=True)\n"),
        ("on_matrix_units", "max-autotune-no-cudagraphs", '@th.compile(mode="max-autotune-no-cudagraphs")\n'),
    ],
)
def test_a_mode_is_an_argument_of_compile(name, mode, written):
    view = on(name)
    answer = treatment_named("compile").propose(view)
    assert not isinstance(answer, CannotApply)
    proposal = msgspec.structs.replace(answer[0], setting={"mode": mode})
    (text,) = build_change((proposal,), view).files.values()
    assert written in text


def test_modes_exclude_each_other_and_so_do_the_two_answers_to_page_faults():
    view = on("on_gpu")
    compiled = treatment_named("compile").propose(view)
    assert not isinstance(compiled, CannotApply)
    assert len({item.group for item in compiled}) == 1
    preload, reuse = treatment_named("allocator-preload").propose(view), MallocReuse().propose(view)
    assert not isinstance(preload, CannotApply)
    assert not isinstance(reuse, CannotApply)
    assert preload[0].group == reuse[0].group
    assert preload[0].ceiling == reuse[0].ceiling


@pytest.mark.parametrize(("torch", "name"), [("2.9.0", "PYTORCH_ALLOC_CONF"), ("2.5.1", "PYTORCH_CUDA_ALLOC_CONF")])
def test_segments_grow_under_the_name_that_this_torch_reads(torch, name):
    view = with_two_shapes(on("rnn_or_transformer", forwards={"device": "cuda:0"}, torch=torch))
    answer = treatment_named("expandable-segments").propose(view)
    assert not isinstance(answer, CannotApply)
    _argv, environment = launch_line(view.program, build_change(answer, view))
    assert environment[name] == "expandable_segments:True"


def test_a_program_that_empties_its_cache_may_have_lost_memory_between_tensors():
    view = on("rnn_or_transformer", forwards={"device": "cuda:0"})
    site = Site(path="/case/before.py", line=1)
    call = CallSighting(id=1, function="torch.cuda.empty_cache", stack=(site,), calls=1, total_ns=1, steps=9)
    view = msgspec.structs.replace(view, evidence=msgspec.structs.replace(view.evidence, calls=(call,)))
    assert names("expandable-segments", view) == ["expandable-segments"]


def test_jemalloc_comes_before_tcmalloc():
    paths = ("/opt/lib/libtcmalloc_minimal.so.4", "/opt/lib/libjemalloc.so")
    assert names("allocator-preload", on("vae", loadable_allocators=paths)) == ["allocator-preload=jemalloc"]
    assert names("allocator-preload", on("vae", loadable_allocators=paths[:1])) == ["allocator-preload=tcmalloc"]


@pytest.mark.parametrize(
    ("treatment", "switch"),
    [
        ("tf32", "torch.set_float32_matmul_precision('highest')"),
        ("cudnn-benchmark", "torch.backends.cudnn.benchmark = False"),
    ],
)
def test_a_switch_in_another_file_might_come_later(treatment, switch):
    view = on("on_gpu")
    view = msgspec.structs.replace(view, sources={**view.sources, "/case/setup.py": f"import torch\n{switch}\n"})
    answer = treatment_named(treatment).propose(view)
    assert not isinstance(answer, CannotApply)
    with pytest.raises(CannotEdit, match=r"setup\.py"):
        build_change(answer, view)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("first.step()", "scaler = 1; first.step()", "something else"),
        ("first.step()", "weight.grad.zero_(); first.step()", "uses gradients"),
        ("first.step()", "if epoch: first.step()", "on one line|backward and step"),
        ("first.step()", "first.step(closure)", "backward and step"),
        ("first.step()", "first.zero_grad()", "backward and step"),
        ("loss.backward()", "loss.backward(retain_graph=True)", "backward and step"),
        ("torch.randn(6, 8)", "torch.randn(6, 8); clip = lambda: nn.utils.clip_grad_value_([], 1)", "uses gradients"),
        ("import torch\n", "import torch; from torch.amp import GradScaler\n", "GradScaler"),
    ],
)
def test_a_scaler_is_put_only_where_every_use_of_gradients_is_known(before, after, said):
    view = on("on_old_gpu")
    ((path, text),) = view.sources.items()
    assert before in text
    view = msgspec.structs.replace(view, sources={path: text.replace(before, after)})
    answer = treatment_named("fp16-scaler").propose(view)
    assert not isinstance(answer, CannotApply)
    with pytest.raises(CannotEdit, match=said):
        build_change(answer, view)


def test_before_torch_2_3_the_scaler_lives_in_cuda():
    view = on("on_old_gpu", torch="2.2.0")
    answer = treatment_named("fp16-scaler").propose(view)
    assert not isinstance(answer, CannotApply)
    (text,) = build_change(answer, view).files.values()
    assert "scaler = torch.cuda.amp.GradScaler()" in text


BATCH = "        images, labels = images.to(device), labels.to(device)\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("images = images.to(device)", "images = images.to(device, non_blocking=True)"),
        ("images = images.cuda()", "images = images.cuda(non_blocking=True)"),
        ("images = images.to(device=device); images.to(device)", "images.to(device, non_blocking=True)"),
        ("pair = images, labels; one = images[0]; one.to(device)", "one.to(device, non_blocking=True)"),
        ("images = images.to(torch.float32)", None),
        ("images = images.to(device, non_blocking=False)", None),
        ("images = images.to(device, torch.float32, False)", None),
        ("weight = weight.to(device)", None),
    ],
)
def test_copies_of_the_batch_do_not_wait(before, after):
    view = on("on_gpu")
    ((path, text),) = view.sources.items()
    view = msgspec.structs.replace(view, sources={path: text.replace(BATCH, f"        {before}\n")})
    answer = treatment_named("non-blocking").propose(view)
    assert not isinstance(answer, CannotApply)
    if after is None:
        with pytest.raises(CannotEdit, match="no blocking copy"):
            build_change(answer, view)
        return
    (edited,) = build_change(answer, view).files.values()
    assert after in edited
    assert "pin_memory=True" in edited


@pytest.mark.torch
def test_the_precision_reaches_onednn():
    """Whether its kernel then uses matrix units is the processor's business; that it is told is torch's."""
    code = (
        "import torch; torch.set_float32_matmul_precision('medium'); a = torch.ones(64, 64)\n"
        "with torch.backends.mkldnn.verbose(torch.backends.mkldnn.VERBOSE_ON): a @ a"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "attr-fpmath:bf16" in done.stdout


@pytest.mark.gpu
@pytest.mark.torch
def test_tf32_rounds_the_factors_of_products_on_a_gpu():
    import torch

    if not torch.cuda.is_available() or torch.cuda.get_device_capability() < (8, 0):
        pytest.skip("no GPU with TensorFloat32 units")
    factors = torch.randn(256, 256, device="cuda")
    exact = factors @ factors
    try:
        torch.set_float32_matmul_precision("high")
        assert not torch.equal(factors @ factors, exact)
    finally:
        torch.set_float32_matmul_precision("highest")
