"""Digits freed from noise by a U-shaped network; configured by Hydra (conf/config.yaml, overridden as key=value)."""

import hydra
import torch
from omegaconf import DictConfig
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    """Pairs of a digit with noise and gaps, and without; both 32x32."""

    def __init__(self, images, noise):
        self.images, self.noise = images, noise

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        clean = self.images[index]
        gaps = (torch.rand(8, 8) > 0.2).float().repeat_interleave(4, 0).repeat_interleave(4, 1)
        return (clean + self.noise * torch.randn_like(clean)) * gaps, clean


def double(channels_in, channels_out):
    return nn.Sequential(
        nn.Conv2d(channels_in, channels_out, 3, padding=1),
        nn.GroupNorm(4, channels_out),
        nn.SiLU(),
        nn.Conv2d(channels_out, channels_out, 3, padding=1),
        nn.GroupNorm(4, channels_out),
        nn.SiLU(),
    )


class Network(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.down, self.deep, self.bottom = double(1, width), double(width, 2 * width), double(2 * width, 4 * width)
        self.up_deep, self.up = double(6 * width, 2 * width), double(3 * width, width)
        self.last = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        first = self.down(x)
        second = self.deep(functional.max_pool2d(first, 2))
        third = self.bottom(functional.max_pool2d(second, 2))
        x = self.up_deep(torch.cat([functional.interpolate(third, scale_factor=2), second], 1))
        return self.last(self.up(torch.cat([functional.interpolate(x, scale_factor=2), first], 1)))


def make_loader(images, data):
    return DataLoader(
        Noisy(images, data.noise),
        batch_size=data.batch_size,
        shuffle=True,
        num_workers=data.num_workers,
    )


@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(config: DictConfig) -> None:
    torch.manual_seed(config.seed)
    images = torch.tensor(load_digits().images / 16, dtype=torch.float32)[:, None]
    images = functional.interpolate(images, 32, mode="bilinear")
    loader = make_loader(images[:1500], config.data)
    test = next(iter(DataLoader(Noisy(images[1500:], config.data.noise), batch_size=297)))
    model = Network(config.model.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.training.lr)
    for epoch in range(config.training.epochs):
        model.train()
        for noisy, clean in loader:
            loss = functional.mse_loss(model(noisy), clean)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            error = functional.mse_loss(model(test[0]), test[1]).item()
        print(f"epoch {epoch} loss {loss.item():.4f} test {error:.4f}", flush=True)


if __name__ == "__main__":
    main()
