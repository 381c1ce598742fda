"""Hugging Face Trainer, its arguments from the command line (HfArgumentParser)."""

from dataclasses import dataclass, field

from hf_parts import Topics, make_model
from transformers import HfArgumentParser, Trainer, TrainingArguments


@dataclass
class DataArguments:
    pieces: int = field(default=256, metadata={"help": "How many pieces of text to train on."})


def main():
    data_arguments, arguments = HfArgumentParser((DataArguments, TrainingArguments)).parse_args_into_dataclasses()
    trainer = Trainer(model=make_model(), args=arguments, train_dataset=Topics(0, data_arguments.pieces))
    result = trainer.train()
    print(f"steps {result.global_step}")


if __name__ == "__main__":
    main()
