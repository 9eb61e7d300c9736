"""What the programs of the gallery share: the images, the names and colours of their classes, and how a picture is saved.

Each program is called with the picture to write and, for a quick look, a number of images: PROGRAM PICTURE.png [IMAGES]
"""
import gzip
import sys

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402 (after its backend)

FOLDER = "/usr/share/datasets/fashion-mnist"
NAMES = ["T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"]
COLOURS = np.array(["#4e79a7", "#a0cbe8", "#f28e2b", "#ffbe7d", "#59a14f", "#e15759", "#8cd17d", "#b07aa1", "#9c755f",
                    "#ff9da7"])
plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "figure.dpi": 150,
                     "axes.titlesize": 10})


def images(*parts):
    """The images of "train", "t10k" or both: float32 rows of 784 values, and their classes."""
    rows, labels = [], []
    for part in parts:
        with gzip.open(f"{FOLDER}/{part}-images-idx3-ubyte.gz") as file:
            rows.append(np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784))
        with gzip.open(f"{FOLDER}/{part}-labels-idx1-ubyte.gz") as file:
            labels.append(np.frombuffer(file.read(), np.uint8, offset=8))
    count = int(sys.argv[2]) if len(sys.argv) > 2 else None
    return np.concatenate(rows)[:count].astype(np.float32), np.concatenate(labels)[:count]


def show_image(axes, row):
    axes.imshow(row.reshape(28, 28), cmap="gray_r", vmin=0, vmax=255)
    axes.set(xticks=[], yticks=[])
    for side in axes.spines.values():
        side.set_visible(False)


def show_map(axes, places, colours, title, size=0.3):
    """Points in a drawn order that favours none, without axes, as a map's have no meaning."""
    order = np.random.default_rng(1).permutation(len(places))
    axes.scatter(*places[order].T, c=colours[order], s=size, linewidths=0, rasterized=True)
    axes.set(xticks=[], yticks=[], title=title)
    for side in axes.spines.values():
        side.set_visible(False)


def legend_of_classes(figure):
    dots = [plt.Line2D([], [], marker="o", linestyle="", markersize=5, color=colour) for colour in COLOURS]
    figure.legend(dots, NAMES, loc="lower center", ncol=10, frameon=False, fontsize=7.5, handletextpad=0,
                  columnspacing=0.8)


def save(figure):
    """Writes the picture in 256 colours, which takes a third of the space."""
    from PIL import Image

    figure.savefig(sys.argv[1])
    small = Image.open(sys.argv[1]).convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    small.save(sys.argv[1], optimize=True)
