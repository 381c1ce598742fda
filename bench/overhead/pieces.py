"""Where the probe's microseconds go: python bench/overhead/pieces.py [--mode clock|profile] [--rounds 60]

One process runs the 0.4 ms loop with the probe in it and, block of steps by block, puts torch's own functions back in place of one
hook, of all but one, of all and of none, in an order that is shuffled each round. Within a process the differences are measured
twenty times finer than between processes, but what a process pays as a whole (caches, memory) is not in them.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

BLOCK = 200  # steps


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", choices=("clock", "profile"), default="clock")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside:
        inside(args.rounds)
        return
    from overhead.watchers import SAMPLE_HZ  # noqa: PLC0415  the child does without pitstop
    from pitstop.measure.probe_folder import ProbeConfig, prepare_probe  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as name:
        sample_hz = SAMPLE_HZ if args.mode == "profile" else 0
        # A clock is told its last step, as in a trial; this one is never reached.
        last = 1 << 40 if args.mode == "clock" else None
        config = ProbeConfig(mode=args.mode, project_root=name, sample_hz=sample_hz, stop_after_steps=last)
        env = dict(os.environ)
        env.update(prepare_probe(Path(name), config, env))
        command = [sys.executable, __file__, "--inside", "--rounds", str(args.rounds)]
        raise SystemExit(subprocess.run(command, env=env, check=False).returncode)


def inside(rounds):
    """Run the loop and print, per hook, what taking it away saves and what it costs alone (us per step, median over rounds)."""
    import torch  # noqa: PLC0415

    from overhead.loop import BatchIndices, Network  # noqa: PLC0415

    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = Network(64)
    data = torch.utils.data.TensorDataset(torch.randn(32 * 64, 64), torch.randint(10, (32 * 64,)))
    loader = torch.utils.data.DataLoader(data, batch_size=None, sampler=BatchIndices(32))
    criterion = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def block():
        done = 0
        started_ns = time.perf_counter_ns()
        while done < BLOCK:
            for inputs, targets in loader:
                loss = criterion(model(inputs), targets)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                done += 1
                if done == BLOCK:
                    break
        return (time.perf_counter_ns() - started_ns) / BLOCK / 1000

    # Here every step is looked at in detail: pauses would take hooks away behind the measurement's back.
    sys.modules["_pitstop_probe.pytorch.bursts"].SHORT_STEP_NS = 0
    for _ in range(5):
        block()
    hooks = {name: hook for name, hook in find_hooks(torch, Network).items() if hook is not None}
    names = list(hooks)
    variants = {"all": set(names), "none": set()}
    variants |= {f"without {name}": set(names) - {name} for name in names}
    variants |= {f"only {name}": {name} for name in names}
    times = {name: [] for name in variants}
    order = random.Random(0)
    for _ in range(rounds):
        names_now = list(variants)
        order.shuffle(names_now)
        for name in names_now:
            for hook, (put, take) in hooks.items():
                (put if hook in variants[name] else take)()
            block()  # caches and the interpreter's specialised instructions settle
            times[name].append(block())
    none = times["none"]
    print(f"none: {statistics.median(none):.1f} us per step")
    for name, values in times.items():
        base = times["all"] if name.startswith("without") else none
        delta = [value - other for value, other in zip(values, base, strict=True)]
        print(f"{name:24s} {statistics.median(delta):+7.2f}   quartiles {quartiles(delta)}")
    sys.stdout.flush()
    print(json.dumps({"loss": criterion(model(data[0][0][None]), data[0][1][None]).item()}), file=sys.stderr)


def quartiles(values):
    low, _, high = statistics.quantiles(values, n=4)
    return f"{low:+.2f} .. {high:+.2f}"


def find_hooks(torch, network):
    """Return name -> (put in place, take away) for every hook that is there."""
    optim = sys.modules["torch.optim.optimizer"]
    iterators = sys.modules["torch.utils.data.dataloader"]._BaseDataLoaderIter  # noqa: SLF001
    session = sys.modules["_pitstop_probe.api"]._session  # noqa: SLF001
    sampler = getattr(session, "sampler", None)
    return {
        "fetch": _wrapped(iterators, "__next__"),
        "iter": _wrapped(torch.utils.data.DataLoader, "__iter__"),
        "iterator": _wrapped(iterators, "__init__"),
        "forward": _attribute(network, "_compiled_call_impl"),
        "backward": _wrapped(torch.autograd, "backward"),
        "optimizer": _dictionaries(
            optim._global_optimizer_pre_hooks,  # noqa: SLF001
            optim._global_optimizer_post_hooks,  # noqa: SLF001
        ),
        "zero_grad": _wrapped(optim.Optimizer, "zero_grad"),
        "sampler": (sampler.start, sampler.stop) if sampler is not None else None,
    }


def _wrapped(owner, name):
    hook = getattr(owner, name)
    original = getattr(hook, "__wrapped__", None)
    if original is None or "pitstop" not in hook.__code__.co_filename:
        return None
    return (lambda: setattr(owner, name, hook)), (lambda: setattr(owner, name, original))


def _attribute(owner, name):
    if name not in owner.__dict__:
        return None
    hook = owner.__dict__[name]
    return (lambda: setattr(owner, name, hook)), (lambda: delattr(owner, name) if name in owner.__dict__ else None)


def _dictionaries(*dictionaries):
    kept = [dict(dictionary) for dictionary in dictionaries]

    def put():
        for dictionary, items in zip(dictionaries, kept, strict=True):
            dictionary.update(items)

    def take():
        for dictionary in dictionaries:
            dictionary.clear()

    return (put, take) if any(kept) else None


if __name__ == "__main__":
    main()
