"""What the style transfer example would download or ship: the weights of VGG-16 in torch's cache, and a picture for the style."""

import subprocess
from pathlib import Path

from PIL import Image
from skimage import data

from programs.environments import python_of

__all__ = ["make_style", "make_vgg16"]

FILE = "vgg16-397923af.pth"
SAVE = "import sys, torch, torchvision; torch.manual_seed(0); torch.save(torchvision.models.vgg16().state_dict(), sys.argv[1])"


def make_vgg16(home: Path) -> None:
    """Write random weights of VGG-16, where a program with TORCH_HOME=`home` finds them instead of downloading."""
    folder = home / "hub" / "checkpoints"
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([str(python_of("torchvision")), "-c", SAVE, str(folder / FILE)], check=True)


def make_style(folder: Path) -> None:
    """Write `style.jpg`: a photograph that scikit-image ships."""
    Image.fromarray(data.astronaut()).resize((256, 256)).save(folder / "style.jpg")
