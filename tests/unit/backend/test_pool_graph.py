from pathlib import Path

import numpy as np
import pytest

from model.arrays import Features
from model.neighbours import NeighbourGraph
from tests.support.graphs import graph_around
from tests.support.pools import clustered, some_rows
from uherding_backend.pool_graph import PoolGraph, graph_pays

POOL = clustered(0, 600, 8)
LABELED = some_rows(1, 600, 60)


def silent(share: float) -> None:
    """Listen to no progress."""


def pool(directory: Path, features: Features = POOL) -> PoolGraph:
    return PoolGraph(directory, features, silent)


@pytest.fixture
def unbuildable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever builds a graph fails."""
    monkeypatch.setattr(NeighbourGraph, "around", None)


def test_a_graph_pays_for_large_pools_with_labels() -> None:
    assert graph_pays(10_000, 1)
    assert not graph_pays(10_000, 0)
    assert not graph_pays(9_999, 5_000)


def test_pools_that_take_minutes_to_compare_need_labels_all_over() -> None:
    assert graph_pays(1_000_000, 20_000)
    assert not graph_pays(1_000_000, 19_999)


def test_the_graph_is_built_once_for_one_pool(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    built = pool(tmp_path).for_labels(LABELED)
    request.getfixturevalue("unbuildable")

    read = pool(tmp_path).for_labels(LABELED)

    assert built is not None
    assert read is not None
    np.testing.assert_array_equal(read.pairs.points, built.pairs.points)
    np.testing.assert_array_equal(read.reach, built.reach)


def test_a_graph_around_images_that_were_labelled_meanwhile_is_used(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    pool(tmp_path).prepare(LABELED[:20])
    request.getfixturevalue("unbuildable")

    graph = pool(tmp_path).for_labels(LABELED)

    assert graph is not None
    assert np.isfinite(graph.squared_to_labels(POOL, LABELED)).all()


def test_what_is_there_is_not_prepared_again(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    first = pool(tmp_path).prepare(LABELED[:20])
    request.getfixturevalue("unbuildable")

    second = pool(tmp_path).prepare(LABELED[:30])

    assert first
    assert not second


def test_a_graph_around_images_without_a_label_is_built_again(tmp_path: Path) -> None:
    pool(tmp_path).prepare(np.arange(400))

    graph = pool(tmp_path).for_labels(LABELED)

    assert graph is not None
    np.testing.assert_array_equal(graph.reach, graph_around(POOL, LABELED).reach)


def test_with_more_labels_the_file_becomes_smaller(tmp_path: Path) -> None:
    pool(tmp_path).prepare(LABELED[:10])
    (path,) = tmp_path.iterdir()
    before = path.stat().st_size

    used = pool(tmp_path).for_labels(LABELED)

    kept = NeighbourGraph.load(path)
    assert used is not None
    assert path.stat().st_size < 0.6 * before
    np.testing.assert_array_equal(kept.pairs.points, used.pairs.points)


def test_a_pool_that_has_changed_gets_its_own_graph_and_the_old_files_go(tmp_path: Path) -> None:
    pool(tmp_path).prepare(LABELED)
    (tmp_path / "neighbours-earlier.npz").touch()
    other = clustered(2, 600, 8)

    graph = pool(tmp_path, other).for_labels(LABELED)

    (path,) = tmp_path.iterdir()
    assert graph is not None
    np.testing.assert_array_equal(NeighbourGraph.load(path).reach, graph.reach)
    np.testing.assert_array_equal(graph.reach, graph_around(other, LABELED).reach)


def test_a_graph_that_would_be_too_large_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("model.neighbours.NeighbourGraph.around", lambda *_, **__: None)

    assert pool(tmp_path).for_labels(LABELED) is None
    assert list(tmp_path.iterdir()) == []


def test_a_broken_file_is_built_again(tmp_path: Path) -> None:
    whole = pool(tmp_path).for_labels(LABELED)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:100])

    again = pool(tmp_path).for_labels(LABELED)

    assert whole is not None
    assert again is not None
    np.testing.assert_array_equal(again.pairs.points, whole.pairs.points)
    NeighbourGraph.load(path)


def test_building_tells_how_far_it_is(tmp_path: Path) -> None:
    told: list[float] = []

    PoolGraph(tmp_path, POOL, told.append).for_labels(LABELED)

    assert told == sorted(told)
    assert told
    assert told[-1] == 1.0
