from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from model import select
from model.arrays import Features
from model.errors import ModelError
from model.neighbours import NeighbourGraph
from tests.support import reference_arrays
from tests.support.pools import clustered, some_rows, spread, with_copies

SIZE = 700


def crowded(seed: int) -> Features:
    """Clusters, loners and copies."""
    distinct = np.concatenate([clustered(seed, 500, 16), spread(seed + 1, 100, 16)])
    return np.concatenate([distinct, with_copies(distinct, seed, SIZE - 600)])


def squared(features: Features) -> reference_arrays.Floats:
    return reference_arrays.squared_distances(features, np.arange(len(features)))


def pairs_of(graph: NeighbourGraph) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Row and point of every pair."""
    return np.repeat(np.arange(SIZE), np.diff(graph.pairs.starts)), graph.pairs.points


@pytest.mark.parametrize("neighbours", [1, 20, 300])
def test_every_row_within_the_reach_of_a_point_is_among_its_pairs(neighbours: int) -> None:
    features = crowded(0)

    graph = NeighbourGraph.build(features, neighbours=neighbours)

    found = np.zeros((SIZE, SIZE), dtype=np.int64)
    np.add.at(found, pairs_of(graph), 1)
    assert (found[squared(features) < graph.reach - 1e-12] == 1).all()
    assert found.max() == 1


def test_kept_distances_are_not_too_high_and_off_by_no_more_than_stated() -> None:
    features = crowded(1)

    graph = NeighbourGraph.build(features, neighbours=50)

    excess = squared(features)[pairs_of(graph)] + graph.pairs.similarities
    assert excess.min() >= -1e-12
    assert excess.max() <= graph.error
    assert graph.error < 1e-4


@pytest.mark.parametrize("neighbours", [8, 100])
def test_a_point_reaches_about_as_many_rows_as_asked_for(neighbours: int) -> None:
    features = clustered(2, 5000, 8)  # more than the rows by which the reach is found

    graph = NeighbourGraph.build(features, neighbours=neighbours)

    assert len(graph.pairs) / 5000 == pytest.approx(neighbours, rel=0.15)


def test_a_point_cannot_reach_more_rows_than_there_are() -> None:
    graph = NeighbourGraph.build(spread(3, 40, 8), neighbours=1000)

    assert 39 * 40 <= len(graph.pairs) <= 40 * 40


@pytest.mark.parametrize("labels", [0, 1, 60])
def test_labels_in_reach_are_found_with_their_exact_distance(labels: int) -> None:
    features, labeled = crowded(4), np.zeros(SIZE, dtype=np.bool_)
    labeled[some_rows(5, SIZE, labels)] = True
    graph = NeighbourGraph.build(features, neighbours=30)

    found = graph.squared_to_labels(features, labeled)

    nearest = squared(features)[labeled].min(axis=0, initial=np.inf)
    known = np.isfinite(found)
    np.testing.assert_allclose(found[known], nearest[known], rtol=0.0, atol=1e-14)
    assert known[nearest < graph.reach - 2.0 * graph.error].all()
    assert not known[nearest > graph.reach].any()


def test_of_labels_that_are_almost_equally_far_the_nearest_counts() -> None:
    points = spread(13, 200, 8)
    labels = np.concatenate([points[:1] * np.float32(1.0 + step * 2e-7) for step in range(20)])
    features = np.concatenate([labels, points])
    graph = NeighbourGraph.build(features, neighbours=220)

    found = graph.squared_to_labels(features, np.arange(220) < 20)

    nearest = squared(features)[:20].min(axis=0)
    known = np.isfinite(found)
    assert known.sum() > 200
    np.testing.assert_allclose(found[known], nearest[known], rtol=0.0, atol=1e-14)


def test_all_pairs_nearer_than_a_distance_of_each_point_are_given() -> None:
    features, radius = crowded(6), 0.3
    graph = NeighbourGraph.build(features, neighbours=60)
    limits = graph.reach * np.random.default_rng(7).random(SIZE)

    pairs = graph.nearer_than(limits, radius)

    found = np.zeros((SIZE, SIZE))
    rows = np.repeat(np.arange(SIZE), np.diff(pairs.starts))
    found[rows, pairs.points] = pairs.similarities
    near = squared(features) < limits
    kernel = np.exp(-squared(features) / radius**2)
    assert (found >= kernel)[near].all()
    np.testing.assert_allclose(found[near], kernel[near], rtol=2.0 * graph.error / radius**2)
    assert (found[squared(features) > limits + graph.error] == 0.0).all()


def test_of_a_point_with_the_limit_of_minus_infinity_there_are_no_pairs() -> None:
    graph = NeighbourGraph.build(crowded(8), neighbours=20)

    pairs = graph.nearer_than(np.full(SIZE, -np.inf), radius=0.3)

    assert len(pairs) == 0
    assert pairs.starts.tolist() == [0] * (SIZE + 1)


def test_the_same_pool_gives_the_same_graph() -> None:
    first, second = (NeighbourGraph.build(crowded(9), neighbours=20) for _ in range(2))

    np.testing.assert_allclose(first.reach, second.reach, atol=1e-5)
    assert first.error == second.error


def test_a_graph_can_be_saved_and_loaded(tmp_path: Path) -> None:
    graph = NeighbourGraph.build(crowded(10), neighbours=20)

    graph.save(tmp_path / "graph.npz")
    loaded = NeighbourGraph.load(tmp_path / "graph.npz")

    np.testing.assert_array_equal(loaded.pairs.starts, graph.pairs.starts)
    np.testing.assert_array_equal(loaded.pairs.points, graph.pairs.points)
    np.testing.assert_array_equal(loaded.pairs.similarities, graph.pairs.similarities)
    np.testing.assert_array_equal(loaded.reach, graph.reach)
    assert loaded.error == graph.error
    assert loaded.pairs.points.dtype == np.int32


@pytest.mark.parametrize(
    "share", [0.0, 0.2, 0.9999], ids=["empty", "cut off", "without its last bytes"]
)
def test_a_broken_file_is_refused_with_the_way_out(tmp_path: Path, share: float) -> None:
    path = tmp_path / "graph.npz"
    NeighbourGraph.build(spread(11, 40, 8), neighbours=5).save(path)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])

    with pytest.raises(ModelError, match=r"is no neighbour graph .* Delete it"):
        NeighbourGraph.load(path)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "graph.npz"
    path.write_text("hello")

    with pytest.raises(ModelError, match="is no neighbour graph"):
        NeighbourGraph.load(path)


def test_a_file_without_all_arrays_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "graph.npz"
    np.savez(path, starts=np.arange(3))

    with pytest.raises(ModelError, match="is no neighbour graph"):
        NeighbourGraph.load(path)


def test_building_says_how_far_it_is() -> None:
    shares: list[float] = []

    NeighbourGraph.build(spread(12, 1200, 4), on_progress=shares.append)

    assert (np.diff(shares) >= 0.0).all()
    assert shares[-1] == 1.0


def test_a_graph_of_another_pool_is_refused() -> None:
    graph = NeighbourGraph.build(spread(0, 1_100, 8))
    features = spread(0, 1_200, 8)

    with pytest.raises(ModelError, match="of 1100 rows, the pool has 1200"):
        select(features, np.ones(1_200), np.arange(100), count=5, radius=0.3, graph=graph)
