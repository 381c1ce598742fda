"""pytorch-ignite: engines for training and evaluation, handlers, a checkpoint at the end of each epoch."""

import sys
from pathlib import Path

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import ModelCheckpoint
from ignite.metrics import Accuracy

sys.path.insert(0, str(Path(__file__).parent.parent))
from digits import loader, network

torch.manual_seed(0)
model, criterion = network(), torch.nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
trainer = create_supervised_trainer(model, optimizer, criterion)
evaluator = create_supervised_evaluator(model, metrics={"accuracy": Accuracy()})
validation = loader(many=64, batch=32)


@trainer.on(Events.EPOCH_COMPLETED)
def validate(engine):
    evaluator.run(validation)
    print(f"epoch {engine.state.epoch} accuracy {evaluator.state.metrics['accuracy']:.2f}")


trainer.add_event_handler(
    Events.EPOCH_COMPLETED, ModelCheckpoint("checkpoints", "net", require_empty=False), {"model": model}
)
trainer.run(loader(shuffle=True), max_epochs=3)
