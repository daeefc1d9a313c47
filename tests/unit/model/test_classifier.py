import numpy as np
import pytest

from model.arrays import Features
from model.classifier import train
from model.errors import ModelError


def on_circle(*degrees: float) -> Features:
    angles = np.radians(np.array(degrees, dtype=np.float64))
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def test_separates_what_can_be_separated() -> None:
    features = on_circle(0, 10, 90, 100, 180, 190)
    labels = np.array([0, 0, 1, 1, 2, 2])

    classifier = train(features, labels)

    assert classifier.logits(features).argmax(axis=1).tolist() == labels.tolist()


def test_columns_are_the_classes_that_have_labels_in_ascending_order() -> None:
    classifier = train(on_circle(0, 90, 180), np.array([7, 2, 4]))

    assert classifier.classes.tolist() == [2, 4, 7]
    assert classifier.weights.shape == (2, 3)
    assert classifier.bias.shape == (3,)


def test_one_class_only_is_one_column() -> None:
    classifier = train(on_circle(0, 90), np.array([3, 3]))

    assert classifier.classes.tolist() == [3]
    assert classifier.logits(on_circle(1, 2, 3)).shape == (3, 1)


def test_two_labels_are_enough() -> None:
    classifier = train(on_circle(0, 90), np.array([0, 1]))

    assert classifier.logits(on_circle(5, 85)).argmax(axis=1).tolist() == [0, 1]


def test_one_image_under_two_classes_is_undecided() -> None:
    classifier = train(on_circle(30, 30), np.array([0, 1]))

    logits = classifier.logits(on_circle(30))

    np.testing.assert_allclose(logits[0, 0], logits[0, 1], atol=1e-6)


def test_a_rare_class_is_still_learned() -> None:
    features = on_circle(*np.linspace(0, 40, 60), 120)
    labels = np.array([0] * 60 + [1])

    classifier = train(features, labels)

    assert classifier.logits(on_circle(120)).argmax(axis=1).tolist() == [1]


def test_the_order_of_the_labels_does_not_matter() -> None:
    features, labels = on_circle(0, 10, 90, 100, 50), np.array([0, 0, 1, 1, 0])
    order = np.array([3, 0, 4, 2, 1])

    straight = train(features, labels)
    shuffled = train(features[order], labels[order])

    np.testing.assert_allclose(straight.weights, shuffled.weights, atol=1e-3)


def test_the_same_labels_give_the_same_classifier() -> None:
    features, labels = on_circle(0, 10, 90, 100), np.array([0, 0, 1, 1])

    first, second = train(features, labels), train(features, labels)

    np.testing.assert_array_equal(first.weights, second.weights)
    np.testing.assert_array_equal(first.bias, second.bias)


@pytest.mark.parametrize("labels", [[], [0], [0, -1]])
def test_missing_labels_are_refused(labels: list[int]) -> None:
    features = on_circle(0, 90) if labels else on_circle()

    with pytest.raises(ModelError, match="one class for each image"):
        train(features, np.array(labels, dtype=np.int64))
