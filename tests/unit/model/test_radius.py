import numpy as np

from model.arrays import NO_ROWS, Features
from model.radius import DEFAULT_RADIUS, SMALLEST, labeled_radius


def on_circle(*degrees: float) -> Features:
    angles = np.radians(np.array(degrees, dtype=np.float64))
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def chord(degrees: float) -> float:
    return 2 * float(np.sin(np.radians(degrees) / 2))


def test_is_the_median_distance_to_the_nearest_other_labelled_image() -> None:
    features = on_circle(0, 10, 30, 70, 71, 150)  # row 4 has no label

    radius = labeled_radius(features, np.array([0, 1, 2, 3, 5]))

    # nearest: 10, 10, 20, 40 and 80 degrees away
    np.testing.assert_allclose(radius.value, chord(20), atol=1e-6)
    assert radius.note == ""


def test_the_papers_radius_is_the_smallest_distance_between_two_labelled_images() -> None:
    features = on_circle(0, 1, 60, 180)

    radius = labeled_radius(features, np.array([0, 2, 3]), quantile=SMALLEST)

    np.testing.assert_allclose(radius.value, chord(60), atol=1e-6)


def test_one_pair_of_similar_images_does_not_decide() -> None:
    features = on_circle(0, 0.5, 90, 180, 270)

    radius = labeled_radius(features, np.arange(5))

    np.testing.assert_allclose(radius.value, chord(89.5), atol=1e-6)


def test_copies_are_left_out_and_reported() -> None:
    features = on_circle(0, 0, 0.001, 60)

    radius = labeled_radius(features, np.arange(4))

    np.testing.assert_allclose(radius.value, 1.0, atol=1e-4)
    assert "3 pairs of labelled images are nearly identical" in radius.note


def test_one_pair_of_copies_is_one_pair() -> None:
    radius = labeled_radius(on_circle(0, 0, 60), np.arange(3))

    assert radius.note.startswith("1 pair of")


def test_only_copies_give_the_default() -> None:
    radius = labeled_radius(on_circle(30, 30, 30), np.arange(3))

    assert radius.value == DEFAULT_RADIUS
    assert "only copies" in radius.note


def test_fewer_than_two_labels_give_the_default() -> None:
    features = on_circle(0, 60)

    assert labeled_radius(features, NO_ROWS).value == DEFAULT_RADIUS
    assert labeled_radius(features, np.array([1])).value == DEFAULT_RADIUS
    assert "fewer than two" in labeled_radius(features, np.array([1])).note


def test_tiny_distances_are_exact_in_spite_of_float32_features() -> None:
    features = on_circle(45, 45.2)
    left, right = features.astype(np.float64)

    radius = labeled_radius(features, np.arange(2))

    np.testing.assert_allclose(radius.value, np.linalg.norm(left - right), rtol=1e-9)
