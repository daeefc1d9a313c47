from pathlib import Path

import numpy as np
import pytest

from model.arrays import Features
from model.neighbours import NeighbourGraph
from uherding_backend.pool_graph import graph_pays, pool_graph


def features(seed: int) -> Features:
    points = np.random.default_rng(seed).normal(size=(600, 8))
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    return np.asarray(unit, dtype=np.float32)


def silent(share: float) -> None:
    """Listen to no progress."""


def test_a_graph_pays_for_large_pools_with_labels_all_over() -> None:
    assert graph_pays(20_000, 400)
    assert not graph_pays(20_000, 399)
    assert not graph_pays(19_999, 5_000)


def test_the_graph_is_built_once_for_one_pool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = pool_graph(tmp_path, features(0), silent)
    monkeypatch.setattr(NeighbourGraph, "build", None)  # a second time would fail

    read = pool_graph(tmp_path, features(0), silent)

    np.testing.assert_array_equal(read.pairs.points, built.pairs.points)
    np.testing.assert_array_equal(read.reach, built.reach)


def test_a_pool_that_has_changed_gets_its_own_graph_and_the_old_file_goes(tmp_path: Path) -> None:
    pool_graph(tmp_path, features(0), silent)
    pool_graph(tmp_path, features(1), silent)

    kept = [path.name for path in tmp_path.iterdir()]

    assert len(kept) == 1
    np.testing.assert_array_equal(
        pool_graph(tmp_path, features(1), silent).reach, NeighbourGraph.build(features(1)).reach
    )


def test_a_broken_file_is_built_again(tmp_path: Path) -> None:
    whole = pool_graph(tmp_path, features(0), silent)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:100])

    again = pool_graph(tmp_path, features(0), silent)

    np.testing.assert_array_equal(again.pairs.points, whole.pairs.points)
    NeighbourGraph.load(path)


def test_building_tells_how_far_it_is(tmp_path: Path) -> None:
    told: list[float] = []

    pool_graph(tmp_path, features(0), told.append)

    assert told == sorted(told)
    assert told
    assert told[-1] == 1.0
