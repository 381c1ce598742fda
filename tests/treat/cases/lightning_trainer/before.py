import lightning as L
import torch
from digits import loader, network


class Classifier(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = network()

    def training_step(self, batch, batch_idx):
        images, labels = batch
        return torch.nn.functional.cross_entropy(self.net(images), labels)

    def validation_step(self, batch, batch_idx):
        images, labels = batch
        self.log("accuracy", (self.net(images).argmax(1) == labels).float().mean())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


def main():
    trainer = L.Trainer(max_epochs=2, accelerator="cpu", devices=1, logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Classifier(), loader(shuffle=True), loader(many=64, batch=32))


if __name__ == "__main__":
    main()
