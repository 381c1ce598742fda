"""The demo's photographs in the layouts that outside programs look for."""

import importlib.util
import random
from pathlib import Path

from PIL import Image

from programs.outside import ROOT

__all__ = ["make_bsds300", "make_image_folder"]

BSDS_SIZE = (481, 321)


def _photographs() -> dict[str, Path]:
    spec = importlib.util.spec_from_file_location("make_photos", ROOT / "examples" / "photos" / "make_photos.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.PHOTOGRAPHS


def make_bsds300(folder: Path) -> None:
    """Fill `folder`/BSDS300/images/{train,test} with 200 + 100 crops of 481x321, the size and number of BSDS300."""
    _crops(folder / "BSDS300" / "images", {"train": 20, "test": 10}, sizes=(BSDS_SIZE,), classes=False)


def make_image_folder(folder: Path) -> None:
    """Fill `folder` with one sub-folder per photograph of 40 crops of web size, as torchvision's ImageFolder wants."""
    _crops(folder, {"": 40}, sizes=((640, 480), (800, 600)), classes=True)


def _crops(folder: Path, counts: dict[str, int], *, sizes: tuple[tuple[int, int], ...], classes: bool) -> None:
    for name, path in sorted(_photographs().items()):
        photograph = Image.open(path).convert("RGB")
        rng = random.Random(name)
        for split, count in counts.items():
            target = folder / split / (name if classes else "")
            target.mkdir(parents=True, exist_ok=True)
            for index in range(count):
                width, height = rng.choice(sizes)
                scale = min(photograph.width / width, photograph.height / height) * rng.uniform(0.45, 0.95)
                left = rng.uniform(0, photograph.width - width * scale)
                top = rng.uniform(0, photograph.height - height * scale)
                box = (left, top, left + width * scale, top + height * scale)
                crop = photograph.resize((width, height), Image.Resampling.LANCZOS, box=box)
                crop.save(target / f"{name}-{index:03d}.jpg", quality=90)
