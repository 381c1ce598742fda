"""The outside programs that are measured. Options are the programs' own; they only keep runs short on two cores."""

from pathlib import Path

from programs.digits import make_mnist
from programs.import_graph import make_cora
from programs.outside import Outside
from programs.photographs import make_bsds300, make_image_folder
from programs.prose import make_wikitext
from programs.sines import make_sines
from programs.weights import make_style, make_vgg16

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
        arguments=("main.py", "--epochs", "60"),
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
        arguments=("main.py", "--epochs", "1", "--batch-size", "16"),
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
        name="mnist_hogwild",
        folder="mnist_hogwild",
        arguments=("main.py", "--epochs", "10"),
        budget="10m",
        environment="torchvision",
        data=((make_mnist, "data"),),
        note="two processes train one model in shared memory, without locks",
    ),
    Outside(
        name="imagenet",
        folder="imagenet",
        arguments=("main.py", "--dummy", "--batch-size", "4", "--epochs", "1", "--workers", "2"),
        budget="20m",
        environment="torchvision",
        note="ResNet-18 on the program's own random images",
    ),
    Outside(
        name="fast_neural_style",
        folder="fast_neural_style",
        arguments=(
            *("neural_style/neural_style.py", "train", "--dataset", "photos", "--style-image", "style.jpg"),
            *("--save-model-dir", "models", "--epochs", "2", "--batch-size", "2", "--image-size", "128"),
        ),
        budget="20m",
        environment="torchvision",
        data=(
            (make_image_folder, "fast_neural_style/photos"),
            (make_style, "fast_neural_style"),
            (make_vgg16, "../torch-home"),
        ),
        variables={"TORCH_HOME": "{work}/torch-home"},
        note="the loss network's weights are random ones: the trained ones cannot be downloaded here, and cost the same time",
    ),
    Outside(
        name="reinforce",
        folder="reinforcement_learning",
        arguments=("reinforce.py",),
        budget="10m",
        environment="science",
        note="an episode of CartPole for each step: steps grow longer as the policy gets better",
    ),
    Outside(
        name="actor_critic",
        folder="reinforcement_learning",
        arguments=("actor_critic.py",),
        budget="10m",
        environment="science",
        note="as reinforce, with a value head",
    ),
    Outside(
        name="time_sequence_prediction",
        folder="time_sequence_prediction",
        arguments=("train.py",),
        budget="30m",
        environment="science",
        data=((make_sines, "time_sequence_prediction"),),
        variables={
            "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"
        },  # its data is an array, which torch 2.6 and later refuse to unpickle
        note="L-BFGS with a closure; two LSTM cells stepped in a Python loop over a thousand points, in float64",
    ),
    Outside(
        name="regression",
        folder="regression",
        arguments=("main.py",),
        environment="torch",
        note="ends by itself within a second: hardly anything to tune",
    ),
)
