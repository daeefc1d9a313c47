"""Floors well below what was measured, so that they catch breakage and not noise."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import uherding_backend
from model.arrays import Features, Images
from model.features.patches import PatchExtractor

FASHION = Path(uherding_backend.__file__).parent / "demo" / "data" / "fashion-mnist.npz"
LABELS, DRAWS = 100, 3
POOL, HELD_OUT = 400, 400


def coloured(grey: NDArray[Any]) -> Images:
    return np.repeat(grey.astype(np.uint8)[..., None], 3, axis=3)


def learned_rows(images: Images) -> Features:
    """Of an extractor that has seen the pool, which comes first, and no label."""
    extractor = PatchExtractor.fit(images[:POOL], seed=0, on_progress=lambda _: None)
    return extractor.extract(images)


def accuracy(rows: Features, classes: NDArray[Any]) -> float:
    """On the held-out rows, of a linear classifier with few labels of the pool; mean of draws."""
    scores = []
    for seed in range(DRAWS):
        chosen = np.random.default_rng(seed).permutation(POOL)[:LABELS]
        classifier = LogisticRegression(C=10, max_iter=1000).fit(rows[chosen], classes[chosen])
        scores.append(classifier.score(rows[POOL:], classes[POOL:]))
    return float(np.mean(scores))


def test_100_labels_are_enough_for_most_of_fashion_mnist() -> None:
    with np.load(FASHION, allow_pickle=False) as data:
        grey = np.concatenate([data["pool"][:POOL], data["held_out"][:HELD_OUT]])
        classes = np.concatenate([data["pool_labels"][:POOL], data["held_out_labels"][:HELD_OUT]])
    images = coloured(np.pad(grey, ((0, 0), (2, 2), (2, 2))))

    score = accuracy(learned_rows(images), classes)

    assert score > 0.66  # measured: 0.73


def test_100_labels_are_enough_for_most_digits() -> None:
    data = load_digits()
    images = coloured(np.clip(data.images * 16, 0, 255)).repeat(4, 1).repeat(4, 2)
    chosen = slice(POOL + HELD_OUT)

    score = accuracy(learned_rows(images[chosen]), data.target[chosen])

    assert score > 0.75  # measured: 0.83
