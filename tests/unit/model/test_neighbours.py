from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from model import select
from model.arrays import NO_ROWS, Features
from model.errors import ModelError
from model.neighbours import NeighbourGraph
from model.pairs import PAIR_BYTES
from tests.support import reference_arrays
from tests.support.graphs import graph_around
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


@pytest.mark.parametrize("centres", [1, 20, 300, SIZE])
def test_every_row_within_the_reach_of_a_point_is_among_its_pairs(centres: int) -> None:
    features = crowded(0)

    graph = graph_around(features, some_rows(1, SIZE, centres))

    found = np.zeros((SIZE, SIZE), dtype=np.int64)
    np.add.at(found, pairs_of(graph), 1)
    assert (found[squared(features) < graph.reach - 1e-12] == 1).all()
    assert found.max() == 1


def test_kept_distances_are_not_too_high_and_off_by_no_more_than_stated() -> None:
    features = crowded(1)

    graph = graph_around(features, some_rows(2, SIZE, 50))

    excess = squared(features)[pairs_of(graph)] + graph.pairs.similarities
    assert excess.min() >= -1e-12
    assert excess.max() <= graph.error
    assert graph.error < 1e-4


def test_a_point_reaches_its_nearest_centre_and_hardly_farther() -> None:
    features, centres = crowded(3), some_rows(4, SIZE, 40)

    graph = graph_around(features, centres)

    nearest = squared(features)[centres].min(axis=0)
    assert (graph.reach >= nearest + graph.error).all()
    assert (graph.reach <= nearest + 3.0 * graph.error).all()


def test_distances_may_be_larger_than_exponentials_can_tell() -> None:
    features = 100.0 * crowded(5)

    graph = graph_around(features, some_rows(6, SIZE, 40))

    within = squared(features) < graph.reach - graph.error
    assert within.sum() <= len(graph.pairs) <= 1.1 * within.sum()


def test_there_is_no_graph_without_centres() -> None:
    assert NeighbourGraph.around(crowded(0), NO_ROWS) is None


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_there_is_no_graph_that_needs_more_memory_than_there_is(scale: float) -> None:
    features, centres = np.float32(scale) * crowded(7), some_rows(8, SIZE, 30)
    needed = PAIR_BYTES * len(graph_around(features, centres).pairs)

    assert NeighbourGraph.around(features, centres, memory=int(0.8 * needed)) is None
    assert NeighbourGraph.around(features, centres, memory=int(1.2 * needed)) is not None


def test_a_narrowed_graph_has_all_pairs_up_to_its_shorter_reach() -> None:
    features, labeled = crowded(9), some_rows(10, SIZE, 90)
    graph = graph_around(features, labeled[:30])
    nearest = graph.squared_to_labels(features, labeled)

    narrowed = graph.narrowed(nearest)

    found = np.zeros((SIZE, SIZE), dtype=np.int64)
    np.add.at(found, pairs_of(narrowed), 1)
    assert (found[squared(features) < narrowed.reach - 1e-12] == 1).all()
    assert found.max() == 1
    assert len(narrowed.pairs) < 0.6 * len(graph.pairs)
    np.testing.assert_array_equal(narrowed.squared_to_labels(features, labeled), nearest)


@pytest.mark.parametrize("labels", [0, 1, 60])
def test_labels_in_reach_are_found_with_their_exact_distance(labels: int) -> None:
    features, labeled = crowded(4), some_rows(5, SIZE, labels)
    graph = graph_around(features, some_rows(6, SIZE, 60))

    found = graph.squared_to_labels(features, labeled)

    nearest = squared(features)[labeled].min(axis=0, initial=np.inf)
    known = np.isfinite(found)
    np.testing.assert_allclose(found[known], nearest[known], rtol=0.0, atol=1e-14)
    assert known[nearest < graph.reach - 2.0 * graph.error].all()
    assert not known[nearest > graph.reach].any()


def test_a_label_that_is_found_though_it_is_out_of_reach_does_not_count() -> None:
    features = np.concatenate([np.eye(3, dtype=np.float32), spread(14, 200, 3) + np.float32(5.0)])
    features[0] = 0.0
    error = graph_around(features, np.array([1])).error
    features[2] *= np.float32(np.sqrt(1.0 + 2.2 * error))

    graph = graph_around(features, np.array([1]))

    rows = np.repeat(np.arange(len(features)), np.diff(graph.pairs.starts))
    assert 2 in rows[graph.pairs.points == 0], "the test is about a pair that is among the others"
    assert np.isinf(graph.squared_to_labels(features, np.array([2]))[0])


def test_of_labels_that_are_almost_equally_far_the_nearest_counts() -> None:
    points = spread(13, 200, 8)
    labels = np.concatenate([points[:1] * np.float32(1.0 + step * 2e-7) for step in range(20)])
    features = np.concatenate([labels, points])
    graph = graph_around(features, np.arange(1))

    found = graph.squared_to_labels(features, np.arange(20))

    nearest = squared(features)[:20].min(axis=0)
    known = np.isfinite(found)
    assert known.sum() > 200
    np.testing.assert_allclose(found[known], nearest[known], rtol=0.0, atol=1e-14)


def test_all_pairs_nearer_than_a_distance_of_each_point_are_given() -> None:
    features, radius = crowded(6), 0.3
    graph = graph_around(features, some_rows(7, SIZE, 20))
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
    graph = graph_around(crowded(8), np.arange(20))

    pairs = graph.nearer_than(np.full(SIZE, -np.inf), radius=0.3)

    assert len(pairs) == 0
    assert pairs.starts.tolist() == [0] * (SIZE + 1)


def test_the_same_pool_gives_the_same_graph() -> None:
    first, second = (graph_around(crowded(9), np.arange(20)) for _ in range(2))

    for mine, theirs in zip(first.pairs.arrays(), second.pairs.arrays(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(first.reach, second.reach)
    assert first.error == second.error


def test_a_graph_can_be_saved_and_loaded(tmp_path: Path) -> None:
    graph = graph_around(crowded(10), np.arange(20))

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
    graph_around(spread(11, 40, 8), np.arange(5)).save(path)
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

    NeighbourGraph.around(spread(12, 1200, 4), np.arange(99), on_progress=shares.append)

    assert (np.diff(shares) >= 0.0).all()
    assert shares[-1] == 1.0


def test_a_graph_of_another_pool_is_refused() -> None:
    graph = graph_around(spread(0, 1_100, 8), np.arange(100))
    features = spread(0, 1_200, 8)

    with pytest.raises(ModelError, match="of 1100 rows, the pool has 1200"):
        select(features, np.ones(1_200), np.arange(100), count=5, radius=0.3, graph=graph)
