"""A made-up project of any size, stored as rounds store one."""

from __future__ import annotations

import gzip
import json
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uherding_backend.labels import Annotation, ProjectId, TaskId
from uherding_backend.outcome import Outcome
from uherding_backend.pool_map import PoolMap, pool_places
from uherding_backend.store import Store
from uherding_backend.store.pool import Item, Listing
from uherding_backend.store.project_records import Connection
from uherding_backend.store.round_records import QueueEntry

PROJECT = ProjectId(1)
CLASSES = tuple(f"class {number}" for number in range(10))
CHOICES = "".join(f'<Choice value="{name}"/>' for name in CLASSES)
CONFIG = (
    '<View><Image name="image" value="$image"/><Choices name="label" toName="image">'
    f"{CHOICES}</Choices></View>"
)
ROUNDS = 60
QUEUE = 2000  # the longest there is


def make_project(store: Store, images: int) -> float:
    """Fill the store; returns the seconds that laying out the map took."""
    generator = np.random.default_rng(0)
    kinds = generator.integers(len(CLASSES), size=images)
    centres = generator.normal(size=(len(CLASSES), 384))
    features = 0.6 * centres[kinds] + generator.normal(size=(images, 384))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    tasks = [TaskId(number) for number in range(1, images + 1)]
    _connect(store, tasks)
    labelled = generator.permutation(images)[: images // 5]
    _label(store, labelled, kinds)
    began = time.perf_counter()
    places = pool_places(
        store.project_dir(PROJECT), tasks, features.astype(np.float32), lambda _: None
    )
    seconds = time.perf_counter() - began
    for number in range(1, ROUNDS + 1):
        _round(store, number, labelled[: len(labelled) * number // ROUNDS], kinds)
    _map(store, tasks, kinds, places)
    return seconds


def _connect(store: Store, tasks: list[TaskId]) -> None:
    url = "http://127.0.0.1:1"
    store.projects.connect(
        Connection(PROJECT, "1.1", url, url, "none", url, CONFIG, {"queue_size": QUEUE})
    )
    store.projects.prepared(PROJECT, "made up", [])
    images = {task: f"{url}/{task}.png" for task in tasks}
    store.pool.replace_items(PROJECT, images, Listing("image", at=0.0, doubts=0))
    store.pool.fetched(PROJECT, [Item(task, "", f"hash {task}", "") for task in tasks])


def _label(store: Store, labelled: NDArray[np.int64], kinds: NDArray[np.int64]) -> None:
    store.pool.replace_annotations(
        PROJECT,
        [
            Annotation(
                id=number,
                task=TaskId(int(row) + 1),
                answer=CLASSES[kinds[row]],
                skipped=False,
                ground_truth=False,
                updated="2026-01-01T00:00:00Z",
                author=str(number % 5),
                created="2026-01-01T00:00:00Z",
                seconds=2.0,
            )
            for number, row in enumerate(labelled, start=1)
        ],
    )


def _round(
    store: Store, number: int, labelled: NDArray[np.int64], kinds: NDArray[np.int64]
) -> None:
    store.rounds.request(PROJECT, "50 new labels", float(number))
    round_ = store.rounds.take(float(number))
    assert round_ is not None  # noqa: S101
    queue = [
        QueueEntry(TaskId(task), 0.1, 0.7, CLASSES[0], 0.4, CLASSES[1], 0.3, 12)
        for task in range(1, QUEUE + 1)
    ]
    report = {
        "pool": len(kinds),
        "labels": len(labelled),
        "queue": QUEUE,
        "unreadable": 0,
        "temperature": 1.2,
        "ece_before": 0.1,
        "ece_after": 0.05,
        "accuracy": 0.8,
        "radius": 0.9,
        "coverage": 0.6,
        "strategy": "uherding",
        "classifier": "linear",
        "seconds": {"labels": 1.0, "selection": 2.0},
        "warnings": [],
        "near_duplicates": 0,
    }
    store.rounds.ranked(
        round_.id,
        version=f"uherding-p1-r{number:04d}-aaa",
        queue=queue,
        labels={TaskId(int(row) + 1): CLASSES[kinds[row]] for row in labelled},
        report=report,
        insights=_insights(len(labelled)),
    )
    store.rounds.published(round_.id, report, float(number))


def _insights(labels: int) -> dict[str, Any]:
    estimate = {"value": 0.8, "low": 0.75, "high": 0.85, "tested": labels}
    return {
        "measured": {"held_out": {**estimate, "labels": labels // 2}},
        "classes": [
            {"name": name, "labels": labels // 10, "expected_share": 0.1, "recognised": estimate}
            for name in CLASSES
        ],
        "label_errors": [
            {"task": task, "label": CLASSES[0], "instead": CLASSES[1], "confidence": 0.9}
            for task in range(1, 51)
        ],
    }


def _map(
    store: Store, tasks: list[TaskId], kinds: NDArray[np.int64], places: NDArray[np.float32]
) -> None:
    published = store.rounds.last_published(PROJECT)
    assert published is not None  # noqa: S101
    generator = np.random.default_rng(1)
    outcome = Outcome(
        classes=CLASSES,
        tasks={task: row for row, task in enumerate(tasks)},
        probabilities=np.eye(len(CLASSES))[kinds],
        uncertainty=generator.random(len(tasks)),
        classifier=None,
        temperature=1.0,
    )
    columns = PoolMap(store, PROJECT, published, lambda _: None)._columns(tasks, places, outcome)
    columns["predicted"] = kinds.tolist()
    path = store.map_path(PROJECT, published.id)
    path.write_bytes(gzip.compress(json.dumps(columns, separators=(",", ":")).encode(), 6))
