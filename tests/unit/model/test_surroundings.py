from __future__ import annotations

import numpy as np

from model.arrays import NO_ROWS, Features
from model.surroundings import unlabeled_company


def on_circle(*degrees: float) -> Features:
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def test_counts_the_images_near_a_chosen_one_that_no_label_is_near_to() -> None:
    features = on_circle(0, 1, 2, 3, 90, 91, 180)

    company = unlabeled_company(features, np.array([0, 4, 6]), np.array([5]), radius=0.1)

    assert company.tolist() == [3, 0, 0]  # 90 degrees is near the label at 91


def test_without_labels_everything_near_counts() -> None:
    features = on_circle(0, 1, 2, 90)

    assert unlabeled_company(features, np.array([1, 3]), NO_ROWS, radius=0.1).tolist() == [2, 0]


def test_agrees_with_counting_one_by_one() -> None:
    generator = np.random.default_rng(0)
    points = generator.normal(size=(300, 5))
    features = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)
    labeled, chosen = np.arange(20), np.arange(50, 90)
    distances = np.linalg.norm(features[:, None] - features[None], axis=2)
    alone = distances[:, labeled].min(axis=1) > 0.6

    company = unlabeled_company(features, chosen, labeled, radius=0.6)

    expected = [int((alone & (distances[row] <= 0.6)).sum() - alone[row]) for row in chosen]
    assert company.tolist() == expected
