from __future__ import annotations

import numpy as np
import pytest

from model import projection
from model.arrays import Features, Labels
from model.projection import Places, lay_out, place_beside


def clusters(count: int, seed: int = 0, dimension: int = 40) -> tuple[Features, Labels]:
    generator = np.random.default_rng(seed)
    labels = generator.integers(5, size=count)
    points = 2.0 * np.random.default_rng(9).normal(size=(5, dimension))[labels]
    points = points + generator.normal(size=points.shape)
    return (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32), labels


def share_beside_its_like(places: Places, labels: Labels) -> float:
    distances = ((places[:, None] - places[None]) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    return float((labels[distances.argmin(axis=1)] == labels).mean())


def test_similar_images_lie_together() -> None:
    features, labels = clusters(400)

    assert share_beside_its_like(lay_out(features, seed=0), labels) > 0.98


def test_so_do_those_that_are_not_in_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projection, "SAMPLE", 150)
    features, labels = clusters(500)

    assert share_beside_its_like(lay_out(features, seed=0), labels) > 0.95


def test_new_images_are_put_beside_similar_ones() -> None:
    features, labels = clusters(300)
    places = lay_out(features, seed=0)
    new, new_labels = clusters(50, seed=1)

    beside = place_beside(new, features, places, seed=0)

    nearest = ((beside[:, None] - places[None]) ** 2).sum(axis=2).argmin(axis=1)
    assert (labels[nearest] == new_labels).mean() > 0.95


def test_the_same_pool_gives_the_same_map() -> None:
    features, _ = clusters(120)

    np.testing.assert_array_equal(lay_out(features, seed=3), lay_out(features, seed=3))


@pytest.mark.parametrize("count", [1, 2, 3, 5, 14])
def test_small_pools_have_a_map_too(count: int) -> None:
    features, _ = clusters(count)

    places = lay_out(features, seed=0)

    assert places.shape == (count, 2)
    assert np.isfinite(places).all()


def test_copies_and_one_dimensional_features_are_no_trouble() -> None:
    copies = np.repeat(clusters(4)[0], 10, axis=0)
    line = np.ones((30, 1), dtype=np.float32)

    assert np.isfinite(lay_out(copies, seed=0)).all()
    assert np.isfinite(lay_out(line, seed=0)).all()


def test_copies_that_are_placed_later_do_not_hide_each_other() -> None:
    features, _ = clusters(50)
    places = lay_out(features, seed=0)

    beside = place_beside(np.repeat(features[:1], 20, axis=0), features, places, seed=0)

    assert len(np.unique(beside, axis=0)) == 20


def test_progress_is_told_up_to_the_end() -> None:
    told: list[float] = []

    lay_out(clusters(30)[0], seed=0, on_progress=told.append)

    assert told == sorted(told)
    assert told[-1] == 1.0


def test_no_new_images_need_no_places() -> None:
    features, _ = clusters(5)

    assert place_beside(features[:0], features, lay_out(features, seed=0), seed=0).shape == (0, 2)
