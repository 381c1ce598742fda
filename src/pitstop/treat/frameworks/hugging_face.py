"""Hugging Face transformers: `TrainingArguments`, in the source or on the launch line (HfArgumentParser)."""

from pitstop.treat.frameworks.contract import VALUE, Framework

__all__ = ["HUGGING_FACE"]

HUGGING_FACE = Framework(
    packages=("transformers",),
    class_name="TrainingArguments",
    arguments={
        "workers": {"dataloader_num_workers": VALUE, "dataloader_persistent_workers": True},
        "pinned": {"dataloader_pin_memory": True},
        "bf16": {"bf16": True},
        "compile": {"torch_compile": True, "torch_compile_mode": VALUE},
        "fused": {"optim": "adamw_torch_fused"},
    },
    impossible=("dynamic",),  # torch.compile(dynamic=True)
    excludes={"bf16": ("fp16",)},
)
