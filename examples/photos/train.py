"""Train a small convolutional network to tell photographs apart. Data: make_photos.py."""

import argparse
import random
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset

MEAN = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
STD = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)


class PhotoFolder(Dataset):
    """One sub-folder per class, like torchvision's ImageFolder."""

    def __init__(self, root, image_size, train):
        self.classes = sorted(p.name for p in Path(root).iterdir() if p.is_dir())
        self.samples = [
            (path, i) for i, name in enumerate(self.classes) for path in sorted(Path(root, name).glob("*.jpg"))
        ]
        self.image_size = image_size
        self.train = train

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        image = Image.open(path).convert("RGB")
        if self.train:
            image = self.random_resized_crop(image)
            if random.random() < 0.5:
                image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        else:
            image = image.resize((self.image_size, self.image_size), Image.Resampling.BICUBIC)
        pixels = torch.from_numpy(np.array(image)).permute(2, 0, 1).float() / 255
        return (pixels - MEAN) / STD, label

    def random_resized_crop(self, image):
        side = min(image.size) * random.uniform(0.6, 1.0)
        left = random.uniform(0, image.width - side)
        top = random.uniform(0, image.height - side)
        box = (left, top, left + side, top + side)
        return image.resize((self.image_size, self.image_size), Image.Resampling.BICUBIC, box=box)


class PhotoNet(nn.Module):
    """Three blocks of convolution and pooling, then two fully connected layers."""

    def __init__(self, num_classes, image_size, hidden=1024):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(
            nn.Flatten(),
            nn.Dropout(0.5),
            nn.Linear(64 * (image_size // 8) ** 2, hidden),
            nn.ReLU(),
            nn.Linear(hidden, num_classes),
        )

    def forward(self, x):
        return self.classifier(self.features(x))


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    correct = total = 0
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        correct += (model(images).argmax(dim=1) == labels).sum().item()
        total += len(labels)
    return correct / total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="data")
    parser.add_argument("--epochs", type=int, default=7)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--image-size", type=int, default=96)
    parser.add_argument("--lr", type=float, default=5e-4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--checkpoint", default="checkpoint.pt")
    args = parser.parse_args()

    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    train_set = PhotoFolder(Path(args.data, "train"), args.image_size, train=True)
    val_set = PhotoFolder(Path(args.data, "val"), args.image_size, train=False)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=args.batch_size)

    model = PhotoNet(len(train_set.classes), args.image_size).to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        model.train()
        start = time.time()
        for step, (images, labels) in enumerate(train_loader):
            images, labels = images.to(device), labels.to(device)
            logits = model(images)
            loss = criterion(logits, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 10 == 0:
                print(f"epoch {epoch} step {step}/{len(train_loader)} loss {loss.item():.4f}")
        accuracy = evaluate(model, val_loader, device)
        print(f"epoch {epoch} val_accuracy {accuracy:.4f} time {time.time() - start:.1f}s")
        torch.save(model.state_dict(), args.checkpoint)


if __name__ == "__main__":
    main()
