"""Handwritten digits, trained by several processes: `torchrun --standalone --nproc-per-node 2 train.py`.

Written as many such scripts are: gradients are accumulated over micro-steps, and summed over the ranks after each of them.
"""

import argparse

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

TEST_SAMPLES = 360


def load() -> tuple[TensorDataset, TensorDataset]:
    """Return the digits to train with and those to test with."""
    images, labels = load_digits(return_X_y=True)
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
    x = torch.tensor(images / 16, dtype=torch.float32).view(-1, 1, 8, 8)[order]
    y = torch.tensor(labels)[order]
    return TensorDataset(x[TEST_SAMPLES:], y[TEST_SAMPLES:]), TensorDataset(x[:TEST_SAMPLES], y[:TEST_SAMPLES])


def accuracy(model: nn.Module, data: TensorDataset) -> float:
    """Return the share of `data`, split over the ranks, that the model gets right."""
    x, y = data.tensors
    mine = slice(dist.get_rank(), None, dist.get_world_size())
    with torch.no_grad():
        right = (model(x[mine]).argmax(1) == y[mine]).sum()
    dist.all_reduce(right)
    return right.item() / len(y)


def main() -> None:
    """Train, and print the accuracy after each epoch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--accumulate", type=int, default=4, help="micro-steps per optimizer step")
    parser.add_argument("--width", type=int, default=128)
    args = parser.parse_args()

    dist.init_process_group("gloo")
    torch.manual_seed(0)
    train, test = load()
    sampler = DistributedSampler(train, shuffle=True)
    loader = DataLoader(train, batch_size=args.batch_size, sampler=sampler, drop_last=True)
    net = nn.Sequential(
        nn.Conv2d(1, args.width, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(args.width * 16, args.width),
        nn.ReLU(),
        nn.Linear(args.width, 10),
    )
    model = DistributedDataParallel(net, find_unused_parameters=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for number, (x, y) in enumerate(loader, start=1):
            loss = nn.functional.cross_entropy(model(x), y)
            (loss / args.accumulate).backward()
            if number % args.accumulate == 0:
                optimizer.step()
                optimizer.zero_grad()
        right = accuracy(net, test)
        if dist.get_rank() == 0:
            print(f"epoch {epoch + 1}: accuracy {right:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
