from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from model.arrays import Features
from tests.support.builders import PROJECT, connected, kind_of, pictures
from tests.support.fake_label_studio import FakeLabelStudio
from uherding_backend import pool_map
from uherding_backend.labels import TaskId
from uherding_backend.pool_map import pool_places
from uherding_backend.worker import Worker


def rows(count: int, seed: int = 0) -> Features:
    points = np.random.default_rng(seed).normal(size=(count, 6))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points.astype(np.float32)


def tasks(*numbers: int) -> list[TaskId]:
    return [TaskId(number) for number in numbers]


def silent(_: float) -> None:
    pass


def test_what_has_a_place_keeps_it(tmp_path: Path) -> None:
    features = rows(12)
    first = pool_places(tmp_path, tasks(*range(10)), features[:10], silent)

    second = pool_places(tmp_path, tasks(*range(1, 12)), features[1:], silent)

    np.testing.assert_array_equal(second[:9], first[1:])
    assert np.isfinite(second).all()


def test_a_task_whose_image_was_replaced_moves(tmp_path: Path) -> None:
    features = rows(10)
    first = pool_places(tmp_path, tasks(*range(10)), features, silent)
    changed = features.copy()
    changed[3] = rows(1, seed=5)

    second = pool_places(tmp_path, tasks(*range(10)), changed, silent)

    moved = (first != second).any(axis=1)
    assert np.flatnonzero(moved).tolist() == [3]


def test_mostly_new_images_make_a_new_map(tmp_path: Path) -> None:
    features = rows(30)
    first = pool_places(tmp_path, tasks(*range(10)), features[:10], silent)

    second = pool_places(tmp_path, tasks(*range(30)), features, silent)

    assert (first != second[:10]).any()


def read_map(worker: Worker) -> dict[str, Any]:
    published = worker.store.rounds.last_published(PROJECT)
    assert published is not None
    data = worker.store.map_path(PROJECT, published.id).read_bytes()
    found: dict[str, Any] = json.loads(gzip.decompress(data))
    return found


def test_a_round_writes_the_map_that_browsers_get(worker: Worker, studio: FakeLabelStudio) -> None:
    connected(worker.store)
    worker.step()
    before = read_map(worker)
    for task in range(1, 13):
        studio.submit(task, kind_of(task))
    worker.store.rounds.request(PROJECT, "asked for", 1.0)
    worker.step()

    drawn = read_map(worker)

    assert drawn["task"] == list(range(1, 31))
    assert drawn["x"] == before["x"]
    assert drawn["y"] == before["y"]
    assert drawn["label"][:12] == [drawn["classes"].index(kind_of(t)) for t in range(1, 13)]
    assert set(drawn["label"][12:]) == {-1}
    assert before["predicted"] == [-1] * 30
    assert set(drawn["predicted"]) <= {0, 1, 2}
    queue = [TaskId(drawn["task"][drawn["rank"].index(rank)]) for rank in range(3)]
    assert queue == studio.queue()[:3]
    assert max(drawn["x"] + drawn["y"]) == pool_map.SIDE
    assert len(list(worker.store.project_dir(PROJECT).glob("map-*.json.gz"))) == 1


def test_new_tasks_get_a_place_beside_the_old_ones(worker: Worker, studio: FakeLabelStudio) -> None:
    connected(worker.store)
    worker.step()
    before = dict(zip(read_map(worker)["task"], read_map(worker)["x"], strict=True))
    studio.add_tasks(pictures(3, first=100))
    worker.store.rounds.request(PROJECT, "asked for", 1.0)
    worker.step()

    drawn = read_map(worker)

    assert len(drawn["task"]) == 33
    scale = np.polyfit(list(before.values()), drawn["x"][:30], 1)  # new ones may widen the map
    np.testing.assert_allclose(np.polyval(scale, list(before.values())), drawn["x"][:30], atol=2)


def test_a_map_that_cannot_be_drawn_does_not_fail_the_round(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected(worker.store)

    def broken(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(pool_map, "lay_out", broken)
    worker.step()

    assert worker.store.rounds.last_published(PROJECT) is not None
