"""Fine-tune a tiny BERT with the Hugging Face Trainer."""

from parts import Topics, make_model
from transformers import Trainer, TrainingArguments

WORKERS = 0

arguments = TrainingArguments(
    output_dir="out",
    max_steps=12,
    per_device_train_batch_size=8,
    eval_strategy="steps",
    eval_steps=6,
    save_strategy="no",
    dataloader_num_workers=WORKERS,
    optim="adamw_torch",
    report_to=[],
    use_cpu=True,
    disable_tqdm=True,
)
trainer = Trainer(
    model=make_model(),
    args=arguments,
    train_dataset=Topics(0, 128),
    eval_dataset=Topics(128, 160),
)
trainer.train()
