"""The program that is watched: a plain training loop on one thread, which times itself and writes the result.

The window is timed in the process, from the end of the warm-up to the end of the last step, so that start-up, the watchers'
own start and their reports at exit do not count.
"""

import argparse
import contextlib
import json
import time
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Network(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.middle = nn.Linear(width, width)
        self.outer = nn.Linear(width, 10)

    def forward(self, x):
        return self.outer(torch.relu(self.middle(torch.relu(self.inner(x)))))


def watcher(name, model):
    """Return (a context around the timed steps, a context around each step) for the watchers that need the source changed."""
    if name == "traceml":
        import traceml_ai  # noqa: PLC0415  only in its own variant

        traceml_ai.init(mode="auto")
        return contextlib.nullcontext(), lambda: traceml_ai.trace_step(model)
    if name.startswith("torch-profiler"):
        profile = torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=name.endswith("shapes")
        )
        return profile, contextlib.nullcontext
    return contextlib.nullcontext(), contextlib.nullcontext


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, required=True)
    parser.add_argument("--batch-size", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--warmup", type=int, required=True)
    parser.add_argument("--watch", default="none")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(0)
    total = args.warmup + args.steps
    model = Network(args.width)
    whole, each = watcher(args.watch, model)
    data = TensorDataset(torch.randn(args.batch_size * 64, args.width), torch.randint(10, (args.batch_size * 64,)))
    loader = DataLoader(data, batch_size=None, sampler=BatchIndices(args.batch_size))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    done = 0
    started_ns = ended_ns = 0
    with contextlib.ExitStack() as stack:
        while done < total:
            for inputs, targets in loader:
                with each():
                    loss = criterion(model(inputs), targets)
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                done += 1
                if done == args.warmup:
                    stack.enter_context(whole)
                    started_ns = time.perf_counter_ns()
                if done == total:
                    ended_ns = time.perf_counter_ns()
                    break
    args.out.write_text(json.dumps({"ns_per_step": (ended_ns - started_ns) / args.steps, "loss": loss.item()}))


class BatchIndices:
    """Slices of whole batches, so that the loader costs microseconds and not the step."""

    def __init__(self, batch_size):
        self.batch_size = batch_size

    def __iter__(self):
        return (slice(start, start + self.batch_size) for start in range(0, 64 * self.batch_size, self.batch_size))

    def __len__(self):
        return 64


if __name__ == "__main__":
    main()
