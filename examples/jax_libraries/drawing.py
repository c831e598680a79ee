"""What the programs of this folder share: their command line, and a figure written to a file."""

import argparse
import pathlib

import matplotlib

matplotlib.use("Agg")  # no display is needed
import matplotlib.pyplot as plt


def options(description, steps):
    """The command line: how many steps, and where the figure goes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--steps", type=int, default=steps, help=f"steps of the training ({steps})")
    folder = pathlib.Path(__file__).parent / "out"
    parser.add_argument("--out", type=pathlib.Path, default=folder, help="folder of the figure")
    return parser


def write(figure, folder, name):
    """Write the figure as ``name``.png into the folder, which is made, and say so."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.png"
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
    print("figure:", path)


def curve(axes, pairs, label, **style):
    """A line through pairs of a step and a value."""
    axes.plot(*zip(*pairs), label=label, **style)
    axes.set_xlabel("step")
