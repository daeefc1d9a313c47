import numpy as np
import pytest
from numpy.typing import NDArray

from model.alfamix import class_means, linear_gradients, mixing_shares, mixing_uncertainty
from model.arrays import UNLABELED, Features, Labels, Logits
from model.calibration import softmax
from model.classifier import LinearClassifier, train

TWO_SIDES = LinearClassifier(np.array([[-9.0, 9.0], [0.0, 0.0]]), np.zeros(2), np.array([0, 1]))


def on_circle(*degrees: float) -> Features:
    angles = np.radians(np.array(degrees, dtype=np.float64))
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def random_pool(seed: int, size: int, dimension: int = 6) -> Features:
    points = np.random.default_rng(seed).normal(size=(size, dimension))
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    return np.asarray(unit, dtype=np.float32)


def gradients_of(classifier: LinearClassifier, features: Features) -> NDArray[np.float64]:
    return linear_gradients(classifier, softmax(classifier.logits(features), 1.0))


def uncertain_rows(features: Features, labels: list[int], count: int) -> list[int]:
    uncertainty = mixing_uncertainty(
        features,
        np.array(labels),
        gradients_of(TWO_SIDES, features),
        TWO_SIDES.logits,
        count=count,
        available=np.array(labels) == UNLABELED,
    )
    return np.flatnonzero(uncertainty).tolist()


def loss_of_class(logits: Logits, predicted: int) -> float:
    return float(-np.log(softmax(logits, 1.0)[0, predicted]))


def one_at_a_time(
    features: Features, labels: Labels, classifier: LinearClassifier, cap: float
) -> list[int]:
    """Rows that any of the classes 0, 1 and 2 changes, each tried by itself."""
    gradients = gradients_of(classifier, features)
    uncertain = set()
    for row in np.flatnonzero(labels == UNLABELED).tolist():
        for label in range(3):
            offset = features[labels == label].mean(axis=0) - features[row]
            length = np.linalg.norm(gradients[row])
            share = cap * np.linalg.norm(offset) * gradients[row] / length / offset
            mixed = features[row] + np.minimum(np.maximum(share, 0), cap) * offset
            logits = classifier.logits(np.stack([features[row], mixed]).astype(np.float32))
            if logits[0].argmax() != logits[1].argmax():
                uncertain.add(row)
    return sorted(uncertain)


def test_gradients_are_the_slope_of_the_predicted_classs_loss() -> None:
    features = random_pool(0, 30)
    labels = np.arange(30) % 3
    classifier = train(features, labels)

    gradients = gradients_of(classifier, features)

    predicted = classifier.logits(features).argmax(axis=1)
    points = features.astype(np.float64)
    for row, axis in [(0, 0), (1, 3), (7, 5), (12, 2)]:
        step = np.zeros((1, 6))
        step[0, axis] = 1e-5
        ahead = classifier.weights.T @ (points[row] + step[0]) + classifier.bias
        behind = classifier.weights.T @ (points[row] - step[0]) + classifier.bias
        rise = loss_of_class(ahead[None], predicted[row]) - loss_of_class(
            behind[None], predicted[row]
        )
        np.testing.assert_allclose(gradients[row, axis], rise / 2e-5, rtol=1e-5, atol=1e-8)


def test_anchors_are_the_means_of_the_classes_that_have_labels() -> None:
    features = on_circle(0, 90, 180, 45)
    labels = np.array([7, 7, 2, UNLABELED])

    means = class_means(features, labels)

    np.testing.assert_allclose(means, [[-1.0, 0.0], [0.5, 0.5]], atol=1e-7)


def test_where_the_anchor_lies_along_the_gradient_the_step_is_the_cap() -> None:
    offsets = np.array([[3.0, 4.0]])

    shares = mixing_shares(offsets, 0.1 * offsets, cap=0.25)

    np.testing.assert_allclose(shares, [[0.25, 0.25]])


def test_the_step_goes_along_the_gradient_where_nothing_is_cut_off() -> None:
    offsets = np.array([[3.0, 4.0]])
    gradients = np.array([[0.3, 0.4]])
    tilted = np.array([[0.0, 2.0]])

    along = mixing_shares(offsets, gradients, cap=0.5) * offsets
    sideways = mixing_shares(offsets, tilted, cap=0.5)

    np.testing.assert_allclose(along, [[1.5, 2.0]])  # half of the distance 5, along (0.6, 0.8)
    np.testing.assert_allclose(sideways, [[0.0, 0.5]])  # 2.5 / 4 is more than the cap


def test_shares_that_are_smaller_than_the_cap_are_in_proportion_to_gradient_over_offset() -> None:
    offsets = np.array([[2.0, 1.0, 2.0]])  # 3 long
    gradients = np.array([[2.0, 3.0, 6.0]])  # 7 long

    shares = mixing_shares(offsets, gradients, cap=0.5)

    np.testing.assert_allclose(shares, [[0.5 * 3 * 2 / 7 / 2, 0.5, 0.5]])


def test_moving_where_the_loss_falls_is_not_mixing() -> None:
    offsets = np.array([[1.0, -1.0, 0.0]])

    shares = mixing_shares(offsets, np.array([[-1.0, 1.0, 1.0]]), cap=1.0)

    np.testing.assert_array_equal(shares, 0.0)


def test_no_gradient_is_no_step() -> None:
    shares = mixing_shares(np.array([[1.0, 2.0]]), np.zeros((1, 2)), cap=1.0)

    np.testing.assert_array_equal(shares, 0.0)


def test_a_row_at_the_border_is_uncertain_and_one_far_from_it_is_not() -> None:
    features = on_circle(180, 0, 89.5, 10, 91, 170)

    rows = uncertain_rows(features, [0, 1, UNLABELED, UNLABELED, UNLABELED, UNLABELED], count=2)

    assert rows == [2, 4]


def test_the_cap_grows_until_enough_rows_are_uncertain() -> None:
    features = on_circle(180, 0, 89.5, 87.5, 60)
    labels = [0, 1, UNLABELED, UNLABELED, UNLABELED]

    by_count = [uncertain_rows(features, labels, count) for count in (1, 2, 3)]

    assert by_count == [[2], [2, 3], [2, 3, 4]]


def test_more_than_there_are_gives_what_the_largest_cap_finds() -> None:
    features = on_circle(180, 0, 89.5, 60)

    rows = uncertain_rows(features, [0, 1, UNLABELED, UNLABELED], count=99)

    assert rows == [2, 3]


def test_rows_that_may_not_be_chosen_are_judged_but_do_not_count() -> None:
    features = on_circle(180, 0, 89.5, 85)
    labels = np.array([0, 1, UNLABELED, UNLABELED])

    uncertainty = mixing_uncertainty(
        features,
        labels,
        gradients_of(TWO_SIDES, features),
        TWO_SIDES.logits,
        count=1,
        available=np.array([False, False, False, True]),
    )

    assert uncertainty.tolist() == [0.0, 0.0, 1.0, 1.0]


def test_one_class_or_none_leaves_nothing_to_be_uncertain_about() -> None:
    features = on_circle(0, 10, 20)

    alone = train(features[:1], np.array([0]))
    one_class = mixing_uncertainty(
        features,
        np.array([0, UNLABELED, UNLABELED]),
        gradients_of(alone, features),
        alone.logits,
        count=1,
        available=np.array([False, True, True]),
    )
    no_class = uncertain_rows(features, [UNLABELED] * 3, count=1)

    assert one_class.tolist() == [0.0, 0.0, 0.0]
    assert no_class == []


@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_mixing_one_row_with_one_anchor_at_a_time(seed: int) -> None:
    features = random_pool(seed, 60)
    labels = np.where(np.arange(60) < 12, np.arange(60) % 3, UNLABELED)
    classifier = train(features[:12], labels[:12])
    gradients = gradients_of(classifier, features)

    found = mixing_uncertainty(
        features, labels, gradients, classifier.logits, count=20, available=labels == UNLABELED
    )

    by_cap = [
        one_at_a_time(features, labels, classifier, cap)
        for cap in (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1)
    ]
    expected = next(uncertain for uncertain in by_cap if len(uncertain) >= 20)
    assert len(expected) < 48
    assert np.flatnonzero(found).tolist() == expected
