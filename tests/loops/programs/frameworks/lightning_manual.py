"""Lightning with manual optimization and two optimizers."""

import sys
from pathlib import Path

import lightning as L
import torch

sys.path.insert(0, str(Path(__file__).parent.parent))
from digits import loader


class Adversaries(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.generator = torch.nn.Sequential(torch.nn.Linear(8, 128), torch.nn.ReLU(), torch.nn.Linear(128, 64))
        self.critic = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 1))

    def training_step(self, batch, batch_idx):
        images, _labels = batch
        of_generator, of_critic = self.optimizers()
        made = self.generator(torch.randn(len(images), 8))
        of_critic.zero_grad()
        self.manual_backward(self.critic(made.detach()).mean() - self.critic(images).mean())
        of_critic.step()
        of_generator.zero_grad()
        self.manual_backward(-self.critic(made).mean())
        of_generator.step()

    def configure_optimizers(self):
        return torch.optim.Adam(self.generator.parameters()), torch.optim.Adam(self.critic.parameters())


if __name__ == "__main__":
    L.seed_everything(0, verbose=False)
    trainer = L.Trainer(
        max_epochs=2,
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Adversaries(), loader())
    print("done")
