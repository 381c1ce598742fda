"""A tiny text classifier from a configuration, and text from the standard library: nothing is downloaded."""

import pydoc_data.topics

import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification


class Topics(Dataset):
    """Pieces of Python's own documentation; the label says whether the piece comes from the first half of the topics."""

    def __init__(self, first, last, length=32):
        texts = list(pydoc_data.topics.topics.values())
        self.items = []
        for number in range(first, last):
            text = texts[number % len(texts)]
            at = (number * 37) % max(1, len(text) - length)
            self.items.append((text[at : at + length].ljust(length), int(number % len(texts) < len(texts) // 2)))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        text, label = self.items[index]
        return {"input_ids": torch.tensor([min(ord(letter), 127) for letter in text]), "labels": label}


def make_model():
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=128, hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128, num_labels=2
    )
    return BertForSequenceClassification(config)
