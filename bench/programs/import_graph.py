"""A real graph in Cora's files: modules of well-known Python packages, the names they use, and which imports which.

A module stands for a paper, an identifier in it for a word, an import of another module for a citation, and its package
for the subject. Modules that belong to no edge are left out, as in Cora.
"""

import ast
import importlib.util
import re
from collections import Counter
from pathlib import Path

__all__ = ["make_cora"]

PACKAGES = ("networkx", "numpy", "scipy", "skimage", "sklearn", "sympy", "torch")
MOST_OF_ONE = 450
NUM_WORDS = 500
WORD = re.compile(r"[A-Za-z_]{4,}")


def make_cora(folder: Path) -> None:
    """Write cora.content (`id word... subject`, 0/1 words) and cora.cites (`cited citing`) into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    sources = {name: text for package in PACKAGES for name, text in modules_of(package)}
    edges = sorted({(other, name) for name, text in sources.items() for other in imported(name, text) & sources.keys()})
    nodes = sorted({node for edge in edges for node in edge})
    words_of = {node: set(WORD.findall(sources[node])) for node in nodes}
    # The most frequent words are everybody's and say nothing; the package's own name would say everything.
    frequent = Counter(word for words in words_of.values() for word in words if word not in PACKAGES)
    words = [
        word for word, count in sorted(frequent.items(), key=lambda item: (-item[1], item[0])) if count < len(nodes) / 4
    ]
    chosen = sorted(words[:NUM_WORDS])
    number = {node: 1000 + index for index, node in enumerate(nodes)}
    rows = (
        "\t".join([str(number[node]), *("1" if word in words_of[node] else "0" for word in chosen), node.split(".")[0]])
        for node in nodes
    )
    (folder / "cora.content").write_text("\n".join(rows) + "\n")
    (folder / "cora.cites").write_text("".join(f"{number[cited]}\t{number[citing]}\n" for cited, citing in edges))


def modules_of(package: str):
    """Yield (dotted name, source) of a package's modules, tests left out, shortest paths first."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise SystemExit(f"{package} is not installed in this environment")
    root = Path(spec.origin).parent
    paths = [path for path in root.glob("**/*.py") if not {"tests", "testing", "_inductor"} & set(path.parts)]
    for path in sorted(paths, key=lambda path: (len(path.parts), path))[:MOST_OF_ONE]:
        parts = path.relative_to(root.parent).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path.read_text("utf-8")


def imported(name: str, text: str) -> set[str]:
    """Return the dotted names that the module imports (of `from a import b` both a and a.b), without itself."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            start = ".".join(name.split(".")[: -node.level] if node.level else [])
            base = ".".join(part for part in (start, node.module) if part)
            found |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return found - {name}
