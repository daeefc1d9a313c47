import numpy as np
import pytest
from numpy.typing import NDArray

from model.arrays import Features
from model.probcover import purity_radius


def on_circle(degrees: NDArray[np.float64]) -> Features:
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def share_of_pure_balls(features: Features, kinds: NDArray[np.int64], radius: float) -> float:
    points = features.astype(np.float64)
    pure = [
        all(kinds[np.linalg.norm(points - point, axis=1) <= radius] == kind)
        for point, kind in zip(points, kinds, strict=True)
    ]
    return sum(pure) / len(pure)


def two_arcs(seed: int, each: int) -> tuple[Features, NDArray[np.int64]]:
    spread = np.random.default_rng(seed).uniform(0, 40, size=2 * each)
    kinds = np.repeat([0, 1], each)
    return on_circle(spread + 60.0 * kinds), kinds


@pytest.mark.parametrize("purity", [0.7, 0.95, 1.0])
def test_is_the_largest_radius_of_the_grid_at_which_enough_balls_are_pure(purity: float) -> None:
    features, kinds = two_arcs(0, 60)

    radius = purity_radius(features, 2, np.random.default_rng(0), purity=purity)

    assert share_of_pure_balls(features, kinds, radius) >= purity
    assert share_of_pure_balls(features, kinds, radius + 0.01) < purity
    assert radius == round(radius, 2)


def test_a_large_pool_is_judged_by_a_sample_of_its_balls() -> None:
    features, kinds = two_arcs(1, 1500)

    radius = purity_radius(features, 2, np.random.default_rng(1))

    assert share_of_pure_balls(features, kinds, radius) == pytest.approx(0.95, abs=0.03)


def test_a_ball_that_touches_another_kind_with_its_border_is_not_pure() -> None:
    features = np.array([[1, 0], [1, 0], [-1, 0], [-1, 0]], dtype=np.float32)  # 2 apart

    radius = purity_radius(features, 2, np.random.default_rng(2))

    assert radius == 1.99


def test_one_kind_only_is_pure_at_every_radius() -> None:
    features, _ = two_arcs(3, 20)

    radius = purity_radius(features, 1, np.random.default_rng(3))

    assert radius == 2.0


def test_the_smallest_radius_of_the_grid_is_the_last_resort() -> None:
    features = on_circle(np.linspace(0, 0.1, 30))

    radius = purity_radius(features, 10, np.random.default_rng(4))

    assert radius == 0.01
