from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.builders import (
    KINDS,
    PROJECT,
    connected,
    kind_of,
    make_annotation,
    pictures,
)
from tests.support.fake_label_studio import FakeLabelStudio
from uherding_backend.insights import annotators, best_measure, stopping
from uherding_backend.labels import Annotation, TaskId
from uherding_backend.worker import Worker

Insights = dict[str, Any]


def by(author: str, number: int, created: str, seconds: float | None = None) -> Annotation:
    return Annotation(
        number, TaskId(number), "bars", False, False, created, author, created, seconds
    )


@pytest.fixture
def after_labels(worker: Worker, studio: FakeLabelStudio) -> Callable[..., Insights]:
    """Labels so many pictures, runs a round and returns what it stored."""

    def label(count: int, answer: Callable[[int], str] = kind_of, **options: object) -> Insights:
        connected(worker.store, options=options)
        for task in range(1, count + 1):
            studio.submit(task, answer(task))
        worker.store.rounds.request(PROJECT, "asked for", 1.0)
        while worker.step():
            pass
        published = worker.store.rounds.last_published(PROJECT)
        assert published is not None
        return worker.store.rounds.insights(published.id)

    return label


def test_without_labels_there_is_nothing_to_measure(after_labels: Callable[..., Insights]) -> None:
    found = after_labels(0)

    assert found["measured"] == {}
    assert [one["labels"] for one in found["classes"]] == [0, 0, 0]
    assert found["classes"][0]["expected_share"] is None
    assert found["label_errors"] == []
    assert found["reliability"] == {"before": [], "after": []}
    assert found["stopping"]["verdict"] == "too early to say"


def test_held_out_labels_measure_accuracy_overall_and_by_class(
    after_labels: Callable[..., Insights],
) -> None:
    found = after_labels(24)

    held_out = found["measured"]["held_out"]
    assert held_out["labels"] == 12
    assert held_out["low"] <= held_out["value"] <= held_out["high"]
    assert [one["name"] for one in found["classes"]] == list(KINDS)
    assert sum(one["labels"] for one in found["classes"]) == 24
    assert sum(one["expected_share"] for one in found["classes"]) == pytest.approx(1.0, abs=1e-6)
    assert all(one["recognised"]["tested"] > 0 for one in found["classes"])
    assert found["reliability"]["after"]


def test_a_wrong_label_is_pointed_out(
    studio: FakeLabelStudio, after_labels: Callable[..., Insights]
) -> None:
    wrong = (9, 35, 70)
    studio.add_tasks(pictures(60, first=31))

    found = after_labels(90, lambda task: kind_of(task + (task in wrong)))

    first = found["label_errors"][0]
    assert first["task"] in wrong
    assert (first["label"], first["instead"]) == (
        kind_of(first["task"] + 1),
        kind_of(first["task"]),
    )


def test_disagreements_come_with_their_votes(
    after_labels: Callable[..., Insights], studio: FakeLabelStudio
) -> None:
    studio.submit(2, "bars", user="bob")

    (found,) = after_labels(6)["disagreements"]

    assert found == {
        "task": 2,
        "votes": {"bars": 1, kind_of(2): 1},
        "taken": kind_of(2),
    }


def test_annotators_are_named(after_labels: Callable[..., Insights]) -> None:
    (found,) = after_labels(6)["annotators"]

    assert (found["name"], found["labels"], found["skipped"]) == ("Ann Otator", 6, 0)


def test_an_audit_slice_is_measured_and_never_trained_on(
    worker: Worker, studio: FakeLabelStudio, after_labels: Callable[..., Insights]
) -> None:
    studio.add_tasks(pictures(60, first=200))
    after_labels(0, audit_fraction=0.4)
    apart = worker.store.pool.audit_tasks(PROJECT)
    assert apart
    for task in studio.projects[1].tasks:
        studio.submit(task, kind_of(task if task <= 30 else task + 169))
    worker.store.rounds.request(PROJECT, "asked for", 1.0)
    while worker.step():
        pass

    published = worker.store.rounds.last_published(PROJECT)
    assert published is not None
    found = worker.store.rounds.insights(published.id)
    assert worker.store.pool.audit_tasks(PROJECT) == apart
    assert published.report["labels"] == 90
    assert published.report["audit_labels"] == len(apart)
    assert found["measured"]["audit"]["tested"] == len(apart)
    assert found["measured"]["audit"]["labels"] == 90 - len(apart)
    assert found["comparison"]["tested"] == len(apart)
    assert found["stopping"]["measured_on"] == "audit"


def test_the_queue_has_its_share_of_audit_tasks(
    worker: Worker, studio: FakeLabelStudio, after_labels: Callable[..., Insights]
) -> None:
    after_labels(0, audit_fraction=0.2, queue_size=10, prelabel=True)
    published = worker.store.rounds.last_published(PROJECT)
    assert published is not None

    queue = worker.store.rounds.queue(published.id)

    audit = [entry.task for entry in queue if entry.audit]
    assert len(queue) == 10
    assert len(audit) == 2
    assert set(audit) <= worker.store.pool.audit_tasks(PROJECT)
    assert [entry.audit for entry in queue] == [False] * 4 + [True] + [False] * 4 + [True]


def test_switching_the_audit_off_gives_its_labels_to_training(
    worker: Worker, studio: FakeLabelStudio, after_labels: Callable[..., Insights]
) -> None:
    after_labels(0, audit_fraction=0.5)
    after_labels(30, audit_fraction=0.5)
    found = after_labels(0, audit_fraction=0.0)

    assert worker.store.pool.audit_tasks(PROJECT) == frozenset()
    assert "audit" not in found["measured"]
    assert found["measured"]["held_out"]["labels"] == 15


def test_the_pace_leaves_breaks_out() -> None:
    given = [
        by("7", 1, "2026-01-01T10:00:00Z", 4.0),
        by("7", 2, "2026-01-01T10:00:30Z", 6.0),
        by("7", 3, "2026-01-01T10:01:00Z", 50.0),
        by("7", 4, "2026-01-01T15:00:00Z"),
    ]

    (found,) = annotators(given, {})

    assert found["name"] == "user 7"
    assert found["median_seconds"] == 6.0
    assert found["per_hour"] == 120.0
    assert found["last"] == "2026-01-01T15:00:00Z"


def test_annotations_of_earlier_releases_have_no_pace() -> None:
    (found,) = annotators([make_annotation()], {})

    assert (found["name"], found["per_hour"], found["median_seconds"]) == ("unknown", None, None)


@pytest.mark.parametrize(
    ("tested", "source"),
    [
        ({}, "held_out"),
        ({"held_out": 100, "audit": 29}, "held_out"),
        ({"held_out": 100, "audit": 30, "ground_truth": 90}, "audit"),
        ({"held_out": 100, "ground_truth": 30}, "ground_truth"),
    ],
)
def test_the_best_measure_with_enough_items_decides(tested: dict[str, int], source: str) -> None:
    measured = {name: {"tested": count} for name, count in tested.items()}

    assert best_measure([measured]) == source


def test_stopping_goes_by_the_rounds_that_measured() -> None:
    rounds: list[dict[str, Any]] = [{}]
    for labels in (20, 40, 60, 80, 100):
        accuracy = 0.9 - labels**-0.7
        rounds.append({"held_out": {"labels": labels, "value": accuracy, "tested": 2 * labels}})

    found = stopping(rounds, 200)

    assert found["measured_on"] == "held_out"
    assert [one["more"] for one in found["forecasts"]] == [0, 100, 500, 1000]
    assert found["reason"]
