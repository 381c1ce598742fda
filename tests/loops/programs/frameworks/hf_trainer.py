"""Hugging Face Trainer, its arguments in code: accumulation, evaluation and checkpoints while it trains."""

from hf_parts import Topics, make_model
from transformers import Trainer, TrainingArguments


def main():
    arguments = TrainingArguments(
        output_dir="out",
        max_steps=30,
        per_device_train_batch_size=8,
        per_device_eval_batch_size=16,
        gradient_accumulation_steps=2,
        eval_strategy="steps",
        eval_steps=10,
        save_steps=15,
        logging_steps=10,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    )
    trainer = Trainer(model=make_model(), args=arguments, train_dataset=Topics(0, 256), eval_dataset=Topics(256, 320))
    result = trainer.train()
    print(f"steps {result.global_step}")


if __name__ == "__main__":
    main()
