"""Configured by Hydra: settings are in conf/config.yaml and overridden as key=value on the command line."""


import hydra
import torch
from omegaconf import DictConfig

from digits import digits, network


def train_loader(data):
    return torch.utils.data.DataLoader(
        digits(320), batch_size=data.batch_size, shuffle=True, num_workers=data.num_workers
    )


@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(config: DictConfig) -> None:
    torch.manual_seed(0)
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=config.training.lr)
    loader = train_loader(config.data)
    for _epoch in range(config.training.epochs):
        for images, labels in loader:
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print("done")


if __name__ == "__main__":
    main()
