"""How should the temperature be found with few labels? Measured on the tuning images.

    .venv/bin/python -m benchmarks.calibration [--draws 20]

For random draws of 10 to 200 labels each way finds a temperature; it is then applied to the
classifier that was trained on all of these labels, and judged on thousands of other images.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets import FeatureSplit, Part, feature_split
from model.arrays import Features, Labels, Logits
from model.calibration import (
    TEMPERATURES,
    best_temperature,
    expected_calibration_error,
    log_loss,
    softmax,
)
from model.classifier import train

SETTINGS = (
    ("fashion-mnist", "patches"),
    ("cifar10", "patches"),
    ("cifar10", "efficientnet-lite0"),
)
LABELS = (10, 20, 50, 100, 200)
BELOW_ONE = np.concatenate([np.arange(2, 10) / 10, TEMPERATURES])

HeldOut = tuple[Logits, NDArray[np.int64]]
Find = Callable[[Features, Labels, np.random.Generator], float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=20)
    draws = parser.parse_args().draws
    say("| labels | way | temperature | ECE on other images | log-loss |")
    say("|---|---|---|---|---|")
    splits = [feature_split(dataset, Part.TUNING, name) for dataset, name in SETTINGS]
    for labels in LABELS:
        for name, find in WAYS.items():
            figures = np.array(
                [judged(split, labels, seed, find) for split in splits for seed in range(draws)]
            )
            mean, error = figures.mean(axis=0), figures.std(axis=0) / np.sqrt(len(figures))
            say(
                f"| {labels} | {name} | {np.median(figures[:, 0]):.1f} "
                f"({np.quantile(figures[:, 0], 0.1):.1f} to {np.quantile(figures[:, 0], 0.9):.1f}) "
                f"| {mean[1]:.3f} ± {error[1]:.3f} | {mean[2]:.3f} ± {error[2]:.3f} |"
            )


def judged(split: FeatureSplit, count: int, seed: int, find: Find) -> tuple[float, float, float]:
    """Temperature, and the calibration error and log-loss that it gives on the test images."""
    generator = np.random.default_rng(seed)
    rows = generator.permutation(len(split.pool))[:count]
    labels = split.pool_labels[rows]
    temperature = find(split.pool[rows], labels, generator)
    classifier = train(split.pool[rows], labels)
    logits = np.full((len(split.test), split.pool_labels.max() + 1), -np.inf)
    logits[:, classifier.classes] = classifier.logits(split.test)
    probabilities = softmax(logits, temperature)
    error = expected_calibration_error(probabilities, split.test_labels)
    return temperature, error, log_loss(probabilities, split.test_labels)


def halves(features: Features, labels: Labels, generator: np.random.Generator) -> HeldOut:
    """Logits of one random half by a classifier trained on the other."""
    order = generator.permutation(len(labels))
    return _held_out(features, labels, order[: len(labels) // 2], order[len(labels) // 2 :])


def five_halves(features: Features, labels: Labels, generator: np.random.Generator) -> HeldOut:
    return _pooled([halves(features, labels, generator) for _ in range(5)])


def five_folds(features: Features, labels: Labels, generator: np.random.Generator) -> HeldOut:
    parts = np.array_split(generator.permutation(len(labels)), 5)
    everything = np.arange(len(labels))
    return _pooled(
        [_held_out(features, labels, np.setdiff1d(everything, part), part) for part in parts]
    )


def _held_out(
    features: Features, labels: Labels, seen: NDArray[np.int64], held_out: NDArray[np.int64]
) -> HeldOut:
    classifier = train(features[seen], labels[seen])
    classes = np.unique(labels)
    logits = np.full((len(held_out), len(classes)), -np.inf)
    logits[:, np.searchsorted(classes, classifier.classes)] = classifier.logits(features[held_out])
    return logits, np.searchsorted(classes, labels[held_out])


def _pooled(parts: list[HeldOut]) -> HeldOut:
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


WAYS: dict[str, Find] = {
    "none: 1": lambda *_: 1.0,
    "one split in halves (the paper's)": lambda f, y, g: best_temperature(*halves(f, y, g)),
    "five folds": lambda f, y, g: best_temperature(*five_folds(f, y, g)),
    "five splits in halves": lambda f, y, g: best_temperature(*five_halves(f, y, g)),
    "five splits in halves, also below 1": lambda f, y, g: best_temperature(
        *five_halves(f, y, g), BELOW_ONE
    ),
}


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
