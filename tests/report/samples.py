"""Realistic results to render: a data-bound photo training, an honest zero, a program without steps, and a hostile one."""

import msgspec

from pitstop.records.results import (
    SCHEMA,
    BaselineMemory,
    ConfirmResult,
    EnvironmentResult,
    Finding,
    LedgerStretch,
    NotMeasured,
    Overhead,
    Patched,
    PipelinePart,
    PipelineResult,
    PrescriptionResult,
    ProfileResult,
    ProgramResult,
    Shadow,
    StepStatistics,
    TensorResult,
    TuneResult,
    VerdictResult,
)
from pitstop.records.verdicts import Gate

MIB = 1 << 20
GIB = 1 << 30

DIFF = """\
--- a/train.py
+++ b/train.py
@@ -38,4 +38,11 @@ def main() -> None:
     args = parse()
     train_set = Photos(args.data, split="train")
-    loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
+    loader = DataLoader(
+        train_set,
+        batch_size=args.batch_size,
+        shuffle=True,
+        num_workers=2,
+        persistent_workers=True,
+        prefetch_factor=4,
+    )
     model = SmallResNet(num_classes=len(train_set.classes))
@@ -55,4 +62,4 @@ def main() -> None:
     model.train()
-    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
+    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, foreach=True)
     for epoch in range(args.epochs):
         for images, labels in loader:
"""

HOSTILE = "</script><script>alert(1)</script> & \"quoted\" 'single' {{3*3779}} | `tick` [bold]x[/bold]"
ESCAPES = "\x1b[31mred\x1b[0m \x1b]8;;https://evil.example\x07link\x1b]8;;\x07 \u202egnp.exe\x07 \udcff"


def step_times_ns() -> tuple[int, ...]:
    """412 steps: slow warm-up, then a loader-bound sawtooth with an epoch edge every 100 steps."""
    times = [620_000_000, 190_000_000, 95_000_000, 70_000_000, 58_000_000, 52_000_000, 47_000_000, 44_000_000]
    times += [41_000_000, 40_000_000, 39_500_000, 39_000_000]
    for step in range(400):
        wobble = (step * 7919 % 101) * 60_000
        edge = 55_000_000 if step % 100 == 0 else 0
        times.append(35_200_000 + wobble + (6_500_000 if step % 4 == 0 else 0) + edge)
    return tuple(times)


def photo_pipeline() -> PipelineResult:
    """Decoding, mostly, in the training process; and captions that are padded."""
    return PipelineResult(
        loader="/home/ana/photos/train.py:39",
        num_workers=0,
        measured_batches=16,
        batch_ns=25_000_000,
        sample_mean_ns=740_000,
        sample_median_ns=700_000,
        sample_p90_ns=1_100_000,
        batch_bytes=19 * MIB,
        smallest_batch=32,
        largest_batch=32,
        parts=(
            PipelinePart(name="decode", batch_ns=19_000_000, share=0.76),
            PipelinePart(name="transform", batch_ns=4_500_000, share=0.18),
            PipelinePart(name="collate", batch_ns=1_500_000, share=0.06),
        ),
        tensors=(
            TensorResult(path="[0]", dtypes=("torch.float32",), shapes=((32, 3, 224, 224),), fixed=True),
            TensorResult(path="[1]", dtypes=("torch.int64",), shapes=((32, 17), (32, 21)), fixed=False, padding=0.43),
        ),
        hot=(Shadow(where="/home/ana/photos/photos.py:27 Photos.__getitem__ > PIL/ImageFile.py load", share=0.74),),
    )


def photo_profile() -> ProfileResult:
    """A photo classifier whose loader decodes in the training process."""
    return ProfileResult(
        schema=SCHEMA,
        program=ProgramResult(
            command=("python", "train.py", "--data", "photos", "--epochs", "4"),
            cwd="/home/ana/photos",
            exit_code=0,
            python="3.11.9",
            torch="2.13.0",
        ),
        steps=StepStatistics(
            count=412,
            warmup=12,
            mean_ns=40_400_000,
            median_ns=38_300_000,
            p90_ns=45_100_000,
            clock="optimizer",
            samples_per_step=32.0,
            steps_per_epoch=100,
        ),
        memory=BaselineMemory(peak_rss_bytes=1_532 * MIB, peak_device_bytes=None, peak_pss_bytes=1_488 * MIB),
        utilisation={
            "cpu": 0.54,
            "cpus": 2,
            "timeline": [[t * 0.5, 0.5 + 0.11 * (t * 37 % 11 - 5) / 5] for t in range(36)],
        },
        ledger={
            "data_wait": 0.618,
            "forward": 0.137,
            "backward": 0.171,
            "optimizer": 0.038,
            "gc": 0.004,
            "logging": 0.002,
            "python": 0.021,
            "unknown": 0.009,
            "compile": 0.0,
            "sync": 0.0,
        },
        findings=(
            Finding(
                fault="loader-in-main-process",
                catalogue=("T1", "T4"),
                layer="data",
                share=0.618,
                ceiling_speedup=2.62,
                confidence="high",
                evidence=(
                    "DataLoader at train.py:39 has num_workers=0: each batch is loaded while nothing trains",
                    "81 % of the samples taken while waiting are in PIL.ImageFile.load (photos.py:27)",
                ),
                treatments=("loader-workers",),
                title="The data loader works in the training process: 62 % of each step waits for it",
                next_action="pitstop tune -- python train.py --data photos --epochs 4",
                owner="algorithm",
                rule_of_thumb="Rule of thumb: loading above 30 % of the step is worth a look; here 62 %",
                picture="One cook who also does the shopping: while ingredients are fetched, the stove is cold",
                question="Does anything in __getitem__ forbid loading in other processes (open handles, a global state)?",
                reference="People reported up to 10 times as fast (transformers#20581)",
            ),
            Finding(
                fault="optimizer-loop",
                catalogue=("T17",),
                layer="compute",
                share=0.038,
                ceiling_speedup=1.04,
                confidence="medium",
                evidence=("AdamW updates 62 tensors one by one (train.py:57)",),
                treatments=("fused-optimizer",),
                title="The optimizer updates its tensors one by one",
                next_action="",
            ),
        ),
        not_measured=(
            NotMeasured(what="GPU utilisation", why="no device in this machine that PyTorch uses"),
            NotMeasured(what="CPU frequency", why="/sys/devices/system/cpu/cpufreq is not readable here"),
        ),
        overhead=Overhead(per_step_ns=7_400, share=0.00018),
        step_times_ns=step_times_ns(),
        hot=(
            Shadow(
                where="data_wait|/home/ana/photos/photos.py:27 Photos.__getitem__ > PIL/ImageFile.py load", share=0.49
            ),
            Shadow(where="data_wait|/home/ana/photos/photos.py:31 random_crop", share=0.11),
            Shadow(where="python|/usr/lib/python3.11/json/decoder.py:353 raw_decode", share=0.03),
        ),
        pipeline=(photo_pipeline(),),
        run_folder="/home/ana/photos/.pitstop/runs/20261130-141200-train",
        wall_s=17.9,
        ledger_timeline=tuple(
            LedgerStretch(
                first_step=first,
                last_step=min(first + 6, 412),
                shares=photo_shares(0.75 if first < 12 else 0.6 + 0.06 * (first % 3)),
            )
            for first in range(1, 413, 7)
        ),
        environment=EnvironmentResult(
            executable="/home/ana/venv/bin/python",
            processor="AMD EPYC 9B14",
            processor_features="avx avx2 avx512_bf16 avx512f fma",
            cpus=2,
            memory_bytes=8 * GIB,
            kernel="6.8.0",
            threads=2,
            allocator="glibc 2.36",
            huge_pages="madvise",
        ),
    )


def gpu_profile() -> ProfileResult:
    """The same on a GPU: medians, and the host's ledger beside the device's."""
    profile = photo_profile()
    return msgspec.structs.replace(
        profile,
        ledger_median_ns={category: round(38e6 * share) for category, share in profile.ledger.items()},
        host_ledger={**dict.fromkeys(profile.ledger, 0.0), "data_wait": 0.62, "sync": 0.3, "forward": 0.08},
        device_busy=0.35,
    )


def photo_shares(waiting: float) -> dict:
    """The ledger of some steps of the photo training."""
    return {
        "data_wait": round(waiting, 4),
        "forward": round(0.38 * (1 - waiting), 4),
        "backward": round(0.47 * (1 - waiting), 4),
        "optimizer": round(0.1 * (1 - waiting), 4),
        "unknown": round(0.05 * (1 - waiting), 4),
    }


def photo_verdicts() -> tuple[VerdictResult, ...]:
    """Nine verdicts of every kind, in no order."""
    return (
        VerdictResult(
            treatments=("bf16-autocast",),
            numerics="precision",
            verdict="slower",
            speedup=0.71,
            ci=None,
            predicted=(0.9, 1.4),
            reason="this processor has no bf16 instructions; the convolutions fall back to a slow path",
            pairs=1,
        ),
        VerdictResult(
            treatments=("loader-workers=2", "fused-optimizer"),
            numerics="same-distribution",
            verdict="faster",
            speedup=2.34,
            ci=(2.2113, 2.4781),
            predicted=(2.0, 2.6),
            reason="",
            stage="confirm",
            pairs=6,
        ),
        VerdictResult(
            treatments=("loader-workers=2",),
            numerics="same-distribution",
            verdict="faster",
            speedup=2.27,
            ci=(2.15, 2.41),
            predicted=(1.9, 2.6),
            reason="",
            stage="confirm",
            pairs=6,
            extra_peak_bytes=412 * MIB,
        ),
        VerdictResult(
            treatments=("loader-workers=8",),
            numerics="same-distribution",
            verdict="undecided",
            speedup=2.25,
            ci=None,
            predicted=(1.9, 2.6),
            reason="no better than 2 workers on 2 cores; about 30 more pairs would decide",
            extra_peak_bytes=1640 * MIB,
        ),
        VerdictResult(
            treatments=("fused-optimizer",),
            numerics="same-math",
            verdict="equivalent",
            speedup=1.006,
            ci=(0.9951, 1.0172),
            predicted=(1.0, 1.04),
            reason="within 2 % of the baseline on both sides",
            stage="confirm",
            pairs=6,
        ),
        VerdictResult(
            treatments=("channels-last",),
            numerics="same-math",
            verdict="undecided",
            speedup=1.03,
            ci=None,
            predicted=(0.95, 1.1),
            reason="the screening interval includes 1; about 40 pairs would decide",
        ),
        VerdictResult(
            treatments=("cudnn-benchmark",),
            numerics="exact",
            verdict="invalid",
            speedup=None,
            ci=None,
            predicted=None,
            reason="could not act: no CUDA device",
        ),
        VerdictResult(
            treatments=("compile-step",),
            numerics="same-math",
            verdict="unsafe",
            speedup=1.12,
            ci=None,
            predicted=(1.0, 1.3),
            reason="gradients differ by 41 times the baseline's own error (limit: 4)",
            gates=(
                Gate(
                    name="teacher-forced-gradient",
                    passed=False,
                    measured=41.2,
                    limit=4.0,
                    detail="worst parameter: layer3.0.bn1.weight",
                    power="would have caught a gradient wrong by 1e-05 in any of 4 steps",
                ),
            ),
        ),
        VerdictResult(
            treatments=("intra-op-threads=1",),
            numerics="same-math",
            verdict="slower",
            speedup=0.83,
            ci=None,
            predicted=(0.8, 1.1),
            reason="the convolutions use both cores",
        ),
    )


def photo_tune() -> TuneResult:
    """A tune with a clear winner, checks, a patch and a launch line."""
    return TuneResult(
        schema=SCHEMA,
        baseline=photo_profile(),
        verdicts=photo_verdicts(),
        prescription=PrescriptionResult(
            treatments=("loader-workers=2", "fused-optimizer"),
            speedup=2.34,
            ci=(2.2113, 2.4781),
            equivalence=(
                Gate(
                    name="sample-multiset",
                    passed=True,
                    measured=0.0,
                    limit=0.0,
                    detail="3,200 sample ids in 1 epoch",
                    power="any sample left out, added or repeated in an epoch",
                ),
                Gate(
                    name="trajectory",
                    passed=True,
                    measured=0.0041,
                    limit=0.01,
                    detail="paired over 3 seeds, 100 steps",
                    power="would have caught a lasting loss shift of 0.012 over 100 steps",
                ),
                Gate(name="bit-equal", passed=None, detail="another random stream: not expected to be bit-identical"),
            ),
            patch=".pitstop/runs/20261130-142200-train/pitstop.patch",
            patched=Patched(speedup=2.31, ci=(2.1834, 2.4399), pairs=6, how="end-to-end"),
            break_even_steps=38,
            diff=DIFF,
            command=("python", "train.py", "--data", "photos", "--epochs", "4"),
            env={"OMP_NUM_THREADS": "2"},
            numerics="same-distribution",
            explanations={
                "loader-workers=2": "Two worker processes load and decode the next batches while the current one trains",
                "fused-optimizer": "AdamW updates all tensors in a few calls instead of one by one",
            },
        ),
        wall_s=372.4,
        trials=41,
        cannot_apply={
            "pin-memory": "there is no CUDA device to copy to",
            "amp-fp16": "needs a CUDA device",
        },
        sandbox="overlay in a user namespace, Landlock backstop, loopback-only network",
        run_folder="/home/ana/photos/.pitstop/runs/20261130-142200-train",
        not_measured=(NotMeasured(what="device memory", why="no device"),),
        invalid_trials=3,
    )


def confirmed_tune() -> TuneResult:
    """The same after `tune --confirm`."""
    return msgspec.structs.replace(
        photo_tune(),
        confirm=ConfirmResult(
            pairs=3,
            speedup=2.18,
            ci=(2.05, 2.32),
            metric_name="val accuracy",
            metric_original=(0.913, 0.921, 0.917),
            metric_patched=(0.919, 0.914, 0.922),
        ),
    )


def zero_tune() -> TuneResult:
    """A healthy program: everything tried was decided, and none of it helped."""
    healthy = msgspec.structs.replace(
        photo_profile(),
        ledger={"data_wait": 0.011, "forward": 0.331, "backward": 0.602, "optimizer": 0.041, "unknown": 0.015},
        findings=(),
    )
    none = [verdict for verdict in photo_verdicts() if verdict.verdict not in ("faster", "undecided")]
    return msgspec.structs.replace(
        photo_tune(),
        baseline=healthy,
        reason="nothing was confirmed faster by more than 2%",
        verdicts=tuple(none),
        prescription=PrescriptionResult(
            treatments=(),
            speedup=1.0,
            ci=None,
            equivalence=(),
            patch=None,
            patched=None,
            break_even_steps=None,
        ),
    )


def starved_tune() -> TuneResult:
    """A tune whose budget ended before any change was measured."""
    verdicts = tuple(
        msgspec.structs.replace(
            verdict,
            verdict="undecided",
            stage="screen",
            speedup=None,
            ci=None,
            predicted=None,
            pairs=0,
            gates=(),
            reason="not tried within the time budget",
        )
        for verdict in photo_verdicts()
    )
    return msgspec.structs.replace(zero_tune(), verdicts=verdicts, reason="the machine stayed busy with other work")


def stepless_profile() -> ProfileResult:
    """A program in which no step was found, and that failed by itself."""
    return ProfileResult(
        schema=SCHEMA,
        program=ProgramResult(command=("python", "prepare.py"), cwd="/home/ana", exit_code=3),
        steps=StepStatistics(count=0, warmup=0, mean_ns=None, median_ns=None, p90_ns=None),
        memory=BaselineMemory(peak_rss_bytes=211 * MIB, peak_device_bytes=None),
        utilisation={"cpu": 0.98, "cpus": 2},
        ledger={},
        findings=(),
        not_measured=(NotMeasured(what="steps", why="PyTorch was never imported by this program"),),
        overhead=Overhead(per_step_ns=None, share=None),
        wall_s=2.2,
    )


def hostile_tune() -> TuneResult:
    """Every text that a program, a file name or an error output can put into a result is an attack."""
    text = HOSTILE + ESCAPES
    tune = confirmed_tune()
    profile = msgspec.structs.replace(
        tune.baseline,
        program=ProgramResult(command=("python", text), cwd=text, exit_code=1, python=text, torch=text),
        findings=tuple(
            msgspec.structs.replace(
                finding,
                fault=text,
                title=text,
                next_action=text,
                evidence=(text,),
                catalogue=(text,),
                layer=text,
                confidence=text,
                owner=text,
                rule_of_thumb=text,
                picture=text,
                question=text,
                reference=text,
            )
            for finding in tune.baseline.findings
        ),
        not_measured=(NotMeasured(what=text, why=text),),
        hot=(Shadow(where=text, share=0.5),),
        run_folder=text,
        environment=EnvironmentResult(
            executable=text, processor=text, processor_features=text, devices=(text,), kernel=text, allocator=text
        ),
    )
    gate = Gate(name=text, passed=False, measured=float("nan"), limit=float("inf"), detail=text, power=text)
    return msgspec.structs.replace(
        tune,
        baseline=profile,
        verdicts=(
            msgspec.structs.replace(
                tune.verdicts[0], treatments=(text,), numerics=text, verdict=text, reason=text, gates=(gate,)
            ),
        ),
        prescription=msgspec.structs.replace(
            tune.prescription,
            treatments=(text,),
            equivalence=(gate,),
            patch=text,
            diff=f"--- a/{text}\n+++ b/{text}\n@@ -1 +1 @@ {text}\n-{text}\n+{text}\n \x1b[2Jend\n",
            command=("python", text),
            env={text: text},
            explanations={text: text},
            numerics=text,
        ),
        cannot_apply={text: text},
        sandbox=text,
        run_folder=text,
        not_measured=(NotMeasured(what=text, why=text),),
        confirm=msgspec.structs.replace(tune.confirm, metric_name=text),
    )
