"""Make the demo's images from Debian's `dataset-fashion-mnist`: 2,000 to label, 1,000 held out.

Run once, by hand: `python tools/make_demo_data.py`; the result is in the repository.
"""

import gzip
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SOURCE = Path("/usr/share/datasets/fashion-mnist")
TARGET = Path(__file__).parents[1] / "uherding_backend" / "demo" / "data" / "fashion-mnist.npz"


def read(name: str, header: int) -> NDArray[np.uint8]:
    """The bytes of an IDX file after its header."""
    return np.frombuffer(gzip.decompress((SOURCE / name).read_bytes())[header:], dtype=np.uint8)


def draw(part: str, count: int, seed: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """A random sample of images (count, 28, 28) and their classes."""
    images = read(f"{part}-images-idx3-ubyte.gz", 16).reshape(-1, 28, 28)
    labels = read(f"{part}-labels-idx1-ubyte.gz", 8)
    rows = np.random.default_rng(seed).choice(len(labels), count, replace=False)
    return images[rows], labels[rows]


if __name__ == "__main__":
    pool, pool_labels = draw("train", 2000, seed=1)
    held_out, held_out_labels = draw("t10k", 1000, seed=2)
    np.savez_compressed(
        TARGET,
        pool=pool,
        pool_labels=pool_labels,
        held_out=held_out,
        held_out_labels=held_out_labels,
    )
