"""The outside programs that are measured. Options are the programs' own; they only keep runs short on two cores."""

from pathlib import Path

from programs.digits import make_mnist
from programs.import_graph import make_cora
from programs.outside import Outside
from programs.photographs import make_bsds300, make_image_folder
from programs.prose import make_wikitext

__all__ = ["PROGRAMS"]


def make_empty(folder: Path) -> None:
    """Make the folder that a program writes into."""
    folder.mkdir(exist_ok=True)


PROGRAMS = (
    Outside(
        name="mnist",
        folder="mnist",
        arguments=("main.py", "--epochs", "14"),
        budget="10m",
        environment="torchvision",
        data=((make_mnist, "data"),),
    ),
    Outside(
        name="mnist_rnn",
        folder="mnist_rnn",
        arguments=("main.py", "--epochs", "14"),
        budget="10m",
        environment="torchvision",
        data=((make_mnist, "data"),),
    ),
    Outside(
        name="mnist_forward_forward",
        folder="mnist_forward_forward",
        arguments=("main.py", "--epochs", "300", "--train_size", "1536"),
        environment="torchvision",
        data=((make_mnist, "mnist_forward_forward/data"),),
        note="two layers trained one after the other, each on the whole data at once; the loader gives one batch",
    ),
    Outside(
        name="vae",
        folder="vae",
        arguments=("main.py", "--epochs", "20"),
        budget="10m",
        environment="torchvision",
        data=((make_mnist, "data"), (make_empty, "vae/results")),  # the repository keeps that folder with a .gitignore
    ),
    Outside(
        name="siamese_network",
        folder="siamese_network",
        arguments=("main.py", "--epochs", "4"),
        budget="10m",
        environment="torchvision",
        data=((make_mnist, "data"),),
    ),
    Outside(
        name="dcgan",
        folder="dcgan",
        arguments=("main.py", "--dataset", "folder", "--dataroot", "photos", "--niter", "12", "--batchSize", "32"),
        budget="15m",
        environment="torchvision",
        data=((make_image_folder, "dcgan/photos"),),
        note="two optimizers; two loader workers by its own default",
    ),
    Outside(
        name="super_resolution",
        folder="super_resolution",
        arguments=("main.py", "--upscale_factor", "3", "--batchSize", "4", "--nEpochs", "4", "--lr", "0.001"),
        budget="10m",
        environment="torchvision",
        data=((make_bsds300, "super_resolution/dataset"),),
        note="four loader workers by its own default, on two cores",
    ),
    Outside(
        name="word_language_model",
        folder="word_language_model",
        arguments=("main.py", "--epochs", "3"),
        environment="torch",
        data=((make_wikitext, "word_language_model/data/wikitext-2"),),
        note="makes its own batches and updates parameters by hand: neither loader nor optimizer",
    ),
    Outside(
        name="gat",
        folder="gat",
        arguments=("main.py", "--epochs", "60"),
        budget="20m",
        environment="torchvision",
        data=((make_cora, "gat/cora"),),
        note="whole-graph training without a loader",
    ),
    Outside(
        name="regression",
        folder="regression",
        arguments=("main.py",),
        environment="torch",
        note="ends by itself within a second: hardly anything to tune",
    ),
)
