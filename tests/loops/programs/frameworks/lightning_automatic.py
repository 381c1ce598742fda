"""Lightning with automatic optimization: validation in the middle of the epoch, checkpoints, accumulation."""

import sys
from pathlib import Path

import lightning as L
import torch

sys.path.insert(0, str(Path(__file__).parent.parent))
from digits import loader, network


class Classifier(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = network()

    def forward(self, images):
        return self.net(images)

    def training_step(self, batch, batch_idx):
        images, labels = batch
        loss = torch.nn.functional.cross_entropy(self(images), labels)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        images, labels = batch
        self.log("accuracy", (self(images).argmax(1) == labels).float().mean())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    L.seed_everything(0, verbose=False)
    model = Classifier()
    trainer = L.Trainer(
        max_epochs=3,
        accelerator="cpu",
        devices=1,
        val_check_interval=0.5,
        accumulate_grad_batches=2,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=2,
    )
    trainer.fit(model, loader(shuffle=True), loader(many=64, batch=32))
    print(f"steps {trainer.global_step}")
