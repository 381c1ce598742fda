"""English text in wikitext-2's form, made of the docstrings of Python's standard library."""

import ast
import re
import sys
import sysconfig
from collections import Counter
from pathlib import Path

__all__ = ["make_wikitext"]

TOKEN = re.compile(r"[A-Za-z]+|\d+|[^\sA-Za-z\d]")
NUM_TRAIN_TOKENS = 120_000
NUM_OTHER_TOKENS = 12_000
LEAST_COUNT = 3  # as wikitext does: rarer words become <unk>


def make_wikitext(folder: Path) -> None:
    """Write train.txt, valid.txt and test.txt: lower case, words apart by spaces, rare words as <unk>, one paragraph a line."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = list(paragraphs(Path(sysconfig.get_paths()["stdlib"])))
    counts = Counter(word for line in lines for word in line)
    known = [[word if counts[word] >= LEAST_COUNT else "<unk>" for word in line] for line in lines]
    for name, wanted in (("test", NUM_OTHER_TOKENS), ("valid", NUM_OTHER_TOKENS), ("train", NUM_TRAIN_TOKENS)):
        taken: list[list[str]] = []
        num_tokens = 0
        while num_tokens < wanted:
            if not known:
                raise SystemExit(f"the docstrings of Python {sys.version.split()[0]} are too few for {name}.txt")
            taken.append(known.pop())
            num_tokens += len(taken[-1])
        (folder / f"{name}.txt").write_text("".join(f" {' '.join(line)} \n" for line in taken), encoding="utf-8")


def paragraphs(stdlib: Path):
    """Yield the words of each paragraph of each docstring, in the order of file names."""
    for path in sorted(stdlib.glob("**/*.py")):
        if {"site-packages", "test", "tests", "idle_test"} & set(path.parts):
            continue
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                for paragraph in (ast.get_docstring(node) or "").split("\n\n"):
                    if words := TOKEN.findall(paragraph.lower()):
                        yield words
