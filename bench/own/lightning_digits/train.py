"""Handwritten digits that are turned, moved and noisy: a convolutional network trained by Lightning."""

import argparse
import math

import lightning
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset


class Digits(Dataset):
    """Scikit-learn's digits, enlarged to 32x32; training samples are turned and moved anew each time."""

    def __init__(self, images, labels, *, augment):
        self.images, self.labels, self.augment = images, labels, augment

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        image = self.images[index][None]
        turn, dx, dy = ((torch.rand(3) - 0.5) * torch.tensor([0.7, 0.3, 0.3])).tolist() if self.augment else (0, 0, 0)
        sine, cosine = math.sin(turn), math.cos(turn)
        grid = functional.affine_grid(
            torch.tensor([[[cosine, -sine, dx], [sine, cosine, dy]]]), (1, 1, 32, 32), align_corners=False
        )
        image = functional.grid_sample(image[None], grid, align_corners=False)[0]
        if self.augment:
            image = image + 0.1 * torch.randn_like(image)
        return image, self.labels[index]


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
        )

    def forward(self, x):
        return functional.relu(x + self.body(x))


class Classifier(lightning.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.lr = lr
        self.network = nn.Sequential(
            nn.Conv2d(1, 24, 3, stride=2, padding=1),
            Block(24),
            nn.Conv2d(24, 48, 3, stride=2, padding=1),
            Block(48),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Dropout(0.1),
            nn.Linear(48, 10),
        )

    def forward(self, images):
        return self.network(images)

    def training_step(self, batch, _):
        images, labels = batch
        loss = functional.cross_entropy(self(images), labels)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, _):
        images, labels = batch
        self.log("accuracy", (self(images).argmax(1) == labels).float().mean())

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.lr, weight_decay=0.01)
        steps = int(self.trainer.estimated_stepping_batches)
        return [optimizer], [
            {"scheduler": torch.optim.lr_scheduler.OneCycleLR(optimizer, self.lr, steps), "interval": "step"}
        ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    lightning.seed_everything(args.seed)
    found = load_digits()
    images = functional.interpolate(torch.tensor(found.images / 16, dtype=torch.float32)[:, None], 32, mode="bilinear")
    labels = torch.tensor(found.target)
    train = Digits(images[:1500, 0], labels[:1500], augment=True)
    test = Digits(images[1500:, 0], labels[1500:], augment=False)
    train_loader = DataLoader(train, batch_size=args.batch_size, shuffle=True, num_workers=args.workers)
    test_loader = DataLoader(test, batch_size=128)
    trainer = lightning.Trainer(
        max_epochs=args.epochs,
        accelerator="cpu",
        enable_progress_bar=False,
        enable_model_summary=False,
        logger=False,
        check_val_every_n_epoch=5,
        default_root_dir="out",
    )
    trainer.fit(Classifier(args.lr), train_loader, test_loader)
    print(f"accuracy {float(trainer.callback_metrics['accuracy']):.3f}")


if __name__ == "__main__":
    main()
