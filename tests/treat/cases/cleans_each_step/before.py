"""Frees memory in every step, in all the ways that people write."""
import gc
from gc import collect as tidy_up

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    data = TensorDataset(torch.randn(64, 8), torch.randint(0, 2, (64,)))
    loader = DataLoader(data, batch_size=16)
    model = nn.Linear(8, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    total = 0.0
    for epoch in range(3):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()

            # free the memory of this step
            gc.collect()
            torch.cuda.empty_cache()
            del x, y; gc.collect()  # just in case
            if epoch >= 0:
                tidy_up()
        gc.collect()
    print(total)


main()
