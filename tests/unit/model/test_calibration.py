import numpy as np
import pytest

from model.arrays import Features, Inputs, Labels
from model.calibration import (
    LEAST_LABELS,
    SPLITS,
    best_temperature,
    calibrate,
    expected_calibration_error,
    log_loss,
    softmax,
)
from model.classifier import Classifier, train


def clusters(labels: Labels, spread: float) -> Features:
    generator = np.random.default_rng(0)
    points = np.eye(6)[labels] + generator.normal(scale=spread, size=(len(labels), 6))
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    return np.asarray(unit, dtype=np.float32)


def test_softmax_survives_huge_and_impossible_logits() -> None:
    probabilities = softmax(np.array([[1e6, 0.0, -np.inf], [-np.inf, 3.0, 3.0]]), 1.0)

    np.testing.assert_allclose(probabilities, [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]])


def test_a_high_temperature_makes_all_classes_alike() -> None:
    np.testing.assert_allclose(softmax(np.array([[5.0, -5.0]]), 1e6), [[0.5, 0.5]], atol=1e-5)


def test_answers_that_are_as_right_as_they_claim_have_no_calibration_error() -> None:
    probabilities = np.array([[0.75, 0.25]] * 4)

    assert expected_calibration_error(probabilities, np.array([0, 0, 0, 1])) == 0.0


def test_sure_and_wrong_is_the_worst() -> None:
    probabilities = np.array([[1.0, 0.0]] * 3)

    assert expected_calibration_error(probabilities, np.array([1, 1, 1])) == 1.0


def test_errors_in_different_bins_do_not_cancel() -> None:
    probabilities = np.array([[0.6, 0.4], [1.0, 0.0]])

    error = expected_calibration_error(probabilities, np.array([0, 1]))

    np.testing.assert_allclose(error, (0.4 + 1.0) / 2)


def test_log_loss_is_finite_for_a_class_that_could_not_be_predicted() -> None:
    assert np.isfinite(log_loss(np.array([[1.0, 0.0]]), np.array([1])))


def test_among_equal_calibration_errors_the_least_log_loss_wins() -> None:
    tied = np.array([1.0, 1.5])

    def fall(gap: float) -> float:  # of the confidence, from the first temperature to the second
        first, second = (softmax(np.array([[gap, 0.0]]), t)[0, 0] for t in tied)
        return float(first - second)

    # A wrong answer whose error falls with the temperature, a right one whose error rises as much.
    wrong, low, high = 0.5, 3.0, 20.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if fall(middle) > fall(wrong) else (low, middle)
    logits, columns = np.array([[wrong, 0.0], [low, 0.0]]), np.array([1, 0])

    chosen = best_temperature(logits, columns, tied)

    errors = [expected_calibration_error(softmax(logits, t), columns) for t in tied]
    losses = [log_loss(softmax(logits, t), columns) for t in tied]
    assert errors[0] == pytest.approx(errors[1], abs=1e-13)
    assert losses[1] < losses[0]
    assert chosen == 1.5


def test_finds_the_temperature_that_labels_were_drawn_with() -> None:
    generator = np.random.default_rng(1)
    logits = generator.normal(scale=6.0, size=(20_000, 5))
    drawn = softmax(logits, 3.0).cumsum(axis=1) > generator.random((20_000, 1))

    temperature = best_temperature(logits, drawn.argmax(axis=1))

    assert abs(temperature - 3.0) <= 0.2


def test_hopeless_labels_get_a_high_temperature_and_easy_ones_a_low_one() -> None:
    labels = np.random.default_rng(2).integers(3, size=60)

    easy = calibrate(clusters(labels, spread=0.05), labels, seed=0)
    hopeless = calibrate(clusters(labels, spread=5.0), labels, seed=0)

    assert easy.fitted
    assert easy.accuracy == 1.0
    assert easy.temperature < 2.0
    assert hopeless.accuracy is not None
    assert hopeless.accuracy < 0.6
    assert hopeless.temperature > easy.temperature


def test_calibration_never_makes_the_held_out_error_larger() -> None:
    labels = np.random.default_rng(3).integers(4, size=80)

    calibration = calibrate(clusters(labels, spread=0.5), labels, seed=0)

    assert calibration.ece_before is not None
    assert calibration.ece_after is not None
    assert calibration.ece_after <= calibration.ece_before


def test_a_class_with_a_single_label_makes_no_nan() -> None:
    labels = np.array([0] * 6 + [1] * 6 + [2])

    calibration = calibrate(clusters(labels, spread=0.1), labels, seed=0)

    assert calibration.fitted
    assert calibration.accuracy is not None
    assert 0.8 < calibration.accuracy < 1.0  # the single label cannot be foreseen
    assert np.isfinite([calibration.ece_before or 0.0, calibration.ece_after or 0.0]).all()


def test_every_held_out_label_was_judged_by_a_classifier_that_had_not_seen_it() -> None:
    truth = np.random.default_rng(7).integers(3, size=40)
    noise = clusters(np.random.default_rng(8).integers(3, size=40), spread=0.05)
    seen: list[int] = []

    def remember(inputs: Inputs, labels: Labels, *, seed: int) -> Classifier:
        seen.append(len(labels))
        return train(inputs, labels, seed=seed)

    calibration = calibrate(noise, truth, seed=0, fit=remember)

    assert seen == [20] * SPLITS
    assert calibration.accuracy is not None
    assert calibration.accuracy < 0.7  # labels of chance cannot be predicted, only remembered


def test_one_split_is_the_papers_way() -> None:
    labels = np.random.default_rng(4).integers(3, size=40)
    features = clusters(labels, spread=0.6)

    calibration = calibrate(features, labels, seed=5, splits=1)

    order = np.random.default_rng(5).permutation(40)
    logits = train(features[order[:20]], labels[order[:20]]).logits(features[order[20:]])
    assert calibration.temperature == best_temperature(logits, labels[order[20:]])
    assert calibration != calibrate(features, labels, seed=5)


def test_the_seed_decides_and_the_same_seed_repeats() -> None:
    labels = np.random.default_rng(4).integers(3, size=40)
    features = clusters(labels, spread=0.6)

    assert calibrate(features, labels, seed=5) == calibrate(features, labels, seed=5)
    assert len({calibrate(features, labels, seed=seed).temperature for seed in range(5)}) > 1


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ([], f"it needs {LEAST_LABELS} labels, there are 0"),
        ([0, 1] * 4, f"it needs {LEAST_LABELS} labels, there are 8"),
        ([0] * 20, "two classes with two labels each, there are 1"),
        ([0] * 20 + [1], "two classes with two labels each, there are 1"),
    ],
)
def test_too_few_labels_are_not_fitted_and_the_note_says_why(
    labels: list[int], reason: str
) -> None:
    given = np.array(labels, dtype=np.int64)

    calibration = calibrate(clusters(given, spread=0.1), given, seed=0)

    assert not calibration.fitted
    assert calibration.temperature == 1.0
    assert reason in calibration.note
    assert calibration.ece_before is calibration.ece_after is calibration.accuracy is None
