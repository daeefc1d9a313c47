"""How many of the likely label errors are errors? Measured on real images with wrong labels.

    .venv/bin/python -m benchmarks.label_errors [--seeds 5]

Images of Fashion-MNIST are drawn at random, and 5 % of their labels are made wrong: by any other
class, or by the class that a classifier trained on other images would be most likely to mistake it
for. The list is made as a round makes it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets import FeatureSplit, Part, feature_split
from model.arrays import Labels, Rows
from model.calibration import calibrate
from model.classifier import train
from model.held_out import held_out_answers
from uherding_backend.insights import suspected

LABELS = (500, 1000, 2000)
WRONG = 0.05
FIRST = 20
SEEN_BY_CONFUSER = 2000

Mistake = Callable[[FeatureSplit, Rows, np.random.Generator], Labels]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    seeds = range(parser.parse_args().seeds)
    split = feature_split("fashion-mnist", Part.JUDGED, "patches")
    say(f"| labels | made wrong | into | listed | wrong of these | of the first {FIRST} | found |")
    say("|---|---|---|---|---|---|---|")
    for labels in LABELS:
        for name, mistake in MISTAKES.items():
            figures = np.array([judged(split, labels, mistake, seed) for seed in seeds])
            means, spreads = figures.mean(axis=0), figures.std(axis=0, ddof=1)
            pairs = zip(100 * means[1:], 100 * spreads[1:], strict=True)
            shares = (f"{mean:.0f} ± {spread:.0f} %" for mean, spread in pairs)
            wrong = round(WRONG * labels)
            say(f"| {labels:,} | {wrong} | {name} | {means[0]:.0f} | {' | '.join(shares)} |")


def judged(
    split: FeatureSplit, count: int, mistake: Mistake, seed: int
) -> tuple[int, float, float, float]:
    """Length of the list, its precision, that of its beginning, and its recall."""
    generator = np.random.default_rng(seed)
    drawn = generator.permutation(len(split.pool))[:count]
    labels = split.pool_labels[drawn].copy()
    wrong = generator.permutation(count)[: round(WRONG * count)]
    labels[wrong] = mistake(split, drawn[wrong], generator)
    answers = held_out_answers(labels, calibrate(split.pool[drawn], labels, seed=seed))
    found = np.array([one.item for one in suspected(answers)] if answers else [], dtype=np.int64)
    hits = np.isin(found, wrong)
    return len(found), share(hits), share(hits[:FIRST]), share(np.isin(wrong, found))


def any_other(split: FeatureSplit, rows: Rows, generator: np.random.Generator) -> Labels:
    """A slip of the mouse."""
    classes = len(np.unique(split.pool_labels))
    return (split.pool_labels[rows] + generator.integers(1, classes, size=len(rows))) % classes


def likeliest_other(split: FeatureSplit, rows: Rows, generator: np.random.Generator) -> Labels:
    """An error of judgement: what these images resemble most beside what they are."""
    seen = generator.permutation(len(split.test))[:SEEN_BY_CONFUSER]
    classifier = train(split.test[seen], split.test_labels[seen])
    logits = classifier.logits(split.pool[rows])
    right = np.searchsorted(classifier.classes, split.pool_labels[rows])
    logits[np.arange(len(rows)), right] = -np.inf
    return np.asarray(classifier.classes[logits.argmax(axis=1)])


def share(hits: NDArray[np.bool_]) -> float:
    return float(hits.mean()) if len(hits) else 0.0


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


MISTAKES: dict[str, Mistake] = {"any other": any_other, "the likeliest other": likeliest_other}


if __name__ == "__main__":
    main()
