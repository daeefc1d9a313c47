from __future__ import annotations

import numpy as np
import pytest

from model.arrays import Features, Labels
from model.calibration import Calibration, HeldOut, calibrate, expected_calibration_error, softmax
from model.held_out import held_out_answers, reliability

LABELS = np.array([4, 4, 9, 9])


def calibration(
    rows: list[int], logits: list[list[float]], temperature: float = 1.0
) -> Calibration:
    held_out = HeldOut(np.array(rows), np.array(logits))
    return Calibration(temperature, True, 0.1, 0.1, 0.5, "", held_out)


def clusters(count: int = 120) -> tuple[Features, Labels]:
    generator = np.random.default_rng(0)
    labels = generator.integers(3, size=count)
    points = np.random.default_rng(1).normal(size=(3, 6))[labels]
    points = points + generator.normal(scale=0.8, size=points.shape)
    return (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32), labels


def test_an_item_that_was_held_out_twice_counts_once() -> None:
    found = held_out_answers(LABELS, calibration([0, 0, 2], [[2.0, 0.0], [0.0, 2.0], [0.0, 3.0]]))

    assert found is not None
    assert found.right.tolist() == [0.5, 0.0, 1.0, 0.0]
    assert found.held_out.tolist() == [True, False, True, False]
    accuracy = found.accuracy()
    assert accuracy is not None
    assert (accuracy.value, accuracy.tested) == (0.75, 2)
    np.testing.assert_allclose(found.probabilities[0], [0.5, 0.5])


def test_accuracy_by_class_names_the_class_ids() -> None:
    found = held_out_answers(LABELS, calibration([0, 1, 2], [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]))

    assert found is not None
    assert {one: e.value for one, e in found.by_class().items()} == {4: 0.5, 9: 1.0}


def test_items_can_be_asked_about_that_were_never_held_out() -> None:
    found = held_out_answers(LABELS, calibration([0], [[1.0, 0.0]]))

    assert found is not None
    assert found.accuracy(np.array([False, True, False, False])) is None
    assert list(found.by_class()) == [4]


def test_nothing_held_out_gives_nothing() -> None:
    unfitted = Calibration(1.0, False, None, None, None, "too few")

    assert held_out_answers(LABELS, unfitted) is None
    assert reliability(LABELS, unfitted, 1.0) == []


def test_accuracy_agrees_with_the_one_that_the_calibration_reports() -> None:
    features, labels = clusters()
    fitted = calibrate(features, labels, seed=0, splits=1)

    found = held_out_answers(labels, fitted)

    assert found is not None
    accuracy = found.accuracy()
    assert accuracy is not None
    assert accuracy.value == pytest.approx(fitted.accuracy)


def test_bins_add_up_to_the_calibration_error() -> None:
    features, labels = clusters()
    fitted = calibrate(features, labels, seed=0)
    assert fitted.held_out is not None

    bins = reliability(labels, fitted, fitted.temperature)

    assert sum(one.count for one in bins) == len(fitted.held_out.rows)
    error = sum(one.count * abs(one.confidence - one.accuracy) for one in bins)
    expected = expected_calibration_error(
        softmax(fitted.held_out.logits, fitted.temperature),
        np.searchsorted(np.unique(labels), labels[fitted.held_out.rows]),
        bins=10,
    )
    assert error / len(fitted.held_out.rows) == pytest.approx(expected)
