"""Fine-tune a tiny BERT; every setting of the Hugging Face Trainer is an option of this script."""

from parts import Topics, make_model
from transformers import HfArgumentParser, Trainer, TrainingArguments


def main():
    (arguments,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
    trainer = Trainer(model=make_model(), args=arguments, train_dataset=Topics(0, 128))
    trainer.train()


if __name__ == "__main__":
    main()
