"""Make the demo's data: the photographs that scikit-learn and scikit-image ship, cut into JPEG files of ordinary web size.

Every photograph becomes a class of its own: a window of 45-90 % of its sides is cut at a random place and saved at
800x600 or 1024x768, as a web site would store it. Nothing else is done to the pixels. Training crops come from the left 70 % of
a photograph and validation crops from the right 70 %: they overlap in the middle, but validation sees parts never trained on.

    python make_photos.py [--out data] [--train 24] [--val 4] [--seed 0]

The same arguments always give the same files; a folder that is complete is left as it is.
"""

import argparse
import json
import random
import shutil
from pathlib import Path

import skimage.data
import sklearn.datasets
from PIL import Image

SKIMAGE = Path(skimage.data.__file__).parent
SKLEARN = Path(sklearn.datasets.__file__).parent / "images"
PHOTOGRAPHS = {
    "astronaut": SKIMAGE / "astronaut.png",
    "cat": SKIMAGE / "chelsea.png",
    "coffee": SKIMAGE / "coffee.png",
    "galaxies": SKIMAGE / "hubble_deep_field.jpg",
    "flower": SKLEARN / "flower.jpg",
    "motorcycle": SKIMAGE / "motorcycle_left.png",
    "pavilion": SKLEARN / "china.jpg",
    "retina": SKIMAGE / "retina.jpg",
    "rocket": SKIMAGE / "rocket.jpg",
    "tissue": SKIMAGE / "ihc.png",
}
WEB_SIZES = ((800, 600), (1024, 768))
JPEG_QUALITY = 90
WIDTH_OF_A_SPLIT = 0.7  # training sees the left 70 % of a photograph, validation the right 70 %


def cut(photograph: Image.Image, split: str, rng: random.Random) -> Image.Image:
    """One crop of 4:3 at a random place of the split's part, at a random web size."""
    usable = int(photograph.width * WIDTH_OF_A_SPLIT)
    first = 0 if split == "train" else photograph.width - usable
    width, height = rng.choice(WEB_SIZES)
    window = min(usable, photograph.height * 4 / 3) * rng.uniform(0.45, 0.9)
    left = first + rng.uniform(0, usable - window)
    top = rng.uniform(0, photograph.height - window * 3 / 4)
    box = (left, top, left + window, top + window * 3 / 4)
    return photograph.resize((width, height), Image.Resampling.LANCZOS, box=box)


def make(out: Path, counts: dict[str, int], seed: int) -> int:
    """Write all files below `out` and return their number; 0 where they were there already."""
    recipe = {"counts": counts, "seed": seed, "classes": sorted(PHOTOGRAPHS), "version": 4}
    stamp = out / "recipe.json"
    if stamp.exists() and json.loads(stamp.read_text()) == recipe:
        return 0
    for split in counts:
        shutil.rmtree(out / split, ignore_errors=True)
    made = 0
    for name, path in sorted(PHOTOGRAPHS.items()):
        photograph = Image.open(path).convert("RGB")
        rng = random.Random(f"{seed}/{name}")
        for split, count in counts.items():
            folder = out / split / name
            folder.mkdir(parents=True)
            for index in range(count):
                cut(photograph, split, rng).save(folder / f"{index:03d}.jpg", quality=JPEG_QUALITY)
                made += 1
    stamp.write_text(json.dumps(recipe))  # last, so that an interrupted run is made again
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "data")
    parser.add_argument("--train", type=int, default=24, help="training photos per class")
    parser.add_argument("--val", type=int, default=4, help="validation photos per class")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    made = make(args.out, {"train": args.train, "val": args.val}, args.seed)
    print(f"{args.out}: {made} photos made" if made else f"{args.out}: complete, nothing to do")


if __name__ == "__main__":
    main()
