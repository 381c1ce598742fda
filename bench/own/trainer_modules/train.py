"""Which package of Python's standard library is a piece of code from? A small BERT, made from a configuration, by Hugging Face's Trainer."""

import ast
import re
import sysconfig
from collections import Counter
from pathlib import Path

import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, HfArgumentParser, Trainer, TrainingArguments

PACKAGES = (
    "asyncio",
    "concurrent",
    "ctypes",
    "email",
    "html",
    "http",
    "importlib",
    "json",
    "logging",
    "multiprocessing",
)
PACKAGES += ("tkinter", "unittest", "urllib", "wsgiref", "xml", "xmlrpc")
WORD = re.compile(r"[A-Za-z_]+|\d+|[^\sA-Za-z\d_]")
LENGTH = 96
VOCABULARY = 4000


def functions(package):
    """Yield the source of every function of a package, in the order of file names."""
    root = Path(sysconfig.get_paths()["stdlib"]) / package
    for path in sorted(root.glob("**/*.py")):
        if {"test", "tests", "__pycache__"} & set(path.parts):
            continue
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno - node.lineno >= 3:
                yield "\n".join(text.splitlines()[node.lineno - 1 : node.end_lineno])


class Functions(Dataset):
    """Tokens are looked up when a sample is asked for, as a tokenizer in a data set does."""

    def __init__(self, texts, labels, vocabulary):
        self.texts, self.labels, self.vocabulary = texts, labels, vocabulary

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, index):
        words = WORD.findall(self.texts[index])[: LENGTH - 1]
        ids = [2] + [self.vocabulary.get(word, 1) for word in words]
        mask = [1] * len(ids) + [0] * (LENGTH - len(ids))
        ids += [0] * (LENGTH - len(ids))
        return {
            "input_ids": torch.tensor(ids),
            "attention_mask": torch.tensor(mask),
            "labels": torch.tensor(self.labels[index]),
        }


def load():
    samples = [(text, label) for label, package in enumerate(PACKAGES) for text in list(functions(package))[:200]]
    order = torch.randperm(len(samples), generator=torch.Generator().manual_seed(0)).tolist()
    samples = [samples[index] for index in order]
    held_out = len(samples) // 10
    counts = Counter(word for text, _ in samples[held_out:] for word in WORD.findall(text))
    vocabulary = {word: 3 + index for index, (word, _) in enumerate(counts.most_common(VOCABULARY - 3))}
    texts, labels = zip(*samples, strict=True)
    train = Functions(texts[held_out:], labels[held_out:], vocabulary)
    return train, Functions(texts[:held_out], labels[:held_out], vocabulary)


def accuracy(prediction):
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


def main():
    (args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
    torch.manual_seed(args.seed)
    train, test = load()
    config = BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=96,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=384,
        max_position_embeddings=LENGTH,
        num_labels=len(PACKAGES),
    )
    model = BertForSequenceClassification(config)
    trainer = Trainer(model=model, args=args, train_dataset=train, eval_dataset=test, compute_metrics=accuracy)
    trainer.train()
    print(f"accuracy {trainer.evaluate()['eval_accuracy']:.3f}")


if __name__ == "__main__":
    main()
