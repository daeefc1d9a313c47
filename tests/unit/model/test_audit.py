from __future__ import annotations

import numpy as np
import pytest

from model.arrays import Features, Labels
from model.audit import LEAST_AUDITED, audited_accuracy, compare_with_random
from model.classifier import train


def cloud(
    count: int, seed: int, *, spread: float = 1.0, weights: tuple[float, ...] = (0.4, 0.3, 0.3)
) -> tuple[Features, Labels]:
    """Items of three classes that overlap."""
    generator = np.random.default_rng(seed)
    centres = np.random.default_rng(7).normal(size=(3, 8))
    labels = generator.choice(3, size=count, p=weights)
    points = centres[labels] + generator.normal(scale=spread, size=(count, 8))
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    return unit.astype(np.float32), labels.astype(np.int64)


def test_accuracy_on_the_slice_counts_right_answers() -> None:
    features, labels = cloud(60, seed=1)
    classifier = train(*cloud(100, seed=2))
    answers = classifier.classes[classifier.logits(features).argmax(axis=1)]

    estimate = audited_accuracy(answers, labels)

    assert estimate is not None
    assert estimate.value == pytest.approx((answers == labels).mean())
    assert estimate.tested == 60


def test_an_empty_slice_says_nothing() -> None:
    _, labels = cloud(10, seed=1)

    assert audited_accuracy(labels[:0], labels[:0]) is None


def test_the_slice_is_unbiased_where_chosen_items_are_not() -> None:
    """Simulated projects: hard items are chosen, accuracy on the whole pool is the truth."""
    held, off = [], []
    for seed in range(200):
        features, labels = cloud(800, seed=seed)
        generator = np.random.default_rng(seed)
        audited = generator.permutation(800)[:60]
        rest = np.setdiff1d(np.arange(800), audited)
        classifier = train(features[rest[:80]], labels[rest[:80]])
        answers = classifier.classes[classifier.logits(features).argmax(axis=1)]
        truth = (answers == labels).mean()
        estimate = audited_accuracy(answers[audited], labels[audited])
        assert estimate is not None
        held.append(estimate.low <= truth <= estimate.high)
        off.append(estimate.value - truth)

    assert np.mean(held) >= 0.92  # it says 95 %; 200 projects have a standard error of 1.5 points
    assert abs(np.mean(off)) < 3 * np.std(off) / np.sqrt(200)


@pytest.mark.parametrize(
    ("chosen", "audited"), [(100, LEAST_AUDITED - 1), (LEAST_AUDITED // 2, LEAST_AUDITED)]
)
def test_too_few_labels_are_not_compared(chosen: int, audited: int) -> None:
    assert compare_with_random(cloud(chosen, 1), cloud(audited, 2), seed=0) is None


def test_labels_of_one_class_lose_against_random_ones() -> None:
    features, labels = cloud(300, seed=1, spread=0.3)
    poor = labels == 0
    both = np.r_[np.flatnonzero(poor)[:59], np.flatnonzero(~poor)[:1]]

    compared = compare_with_random((features[both], labels[both]), cloud(60, 2, spread=0.3), seed=0)

    assert compared is not None
    assert compared.labels == 48
    assert compared.tested == 60
    assert compared.high < 0.0
    assert compared.difference == pytest.approx(compared.chosen - compared.random)


def test_good_labels_win_against_random_ones() -> None:
    """Every class is labelled, where random labels mostly are of one class."""
    rare = (0.9, 0.05, 0.05)
    chosen = cloud(60, seed=1, spread=0.3)
    compared = [
        compare_with_random(chosen, cloud(50, seed, spread=0.3, weights=rare), seed=seed)
        for seed in range(3, 9)
    ]

    assert np.mean([one.difference for one in compared if one]) > 0.0


def test_labels_that_are_random_too_are_seldom_called_different() -> None:
    called = []
    for seed in range(60):
        compared = compare_with_random(cloud(40, 2 * seed), cloud(50, 2 * seed + 1), seed=seed)
        assert compared is not None
        called.append(not compared.low <= 0.0 <= compared.high)

    assert np.mean(called) <= 0.10  # it says 5 %
