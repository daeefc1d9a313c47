from __future__ import annotations

from typing import Any

import pytest

from tests.support.builders import annotation_payload, webhook_payload
from uherding_backend.events import WEBHOOK_ACTIONS, Event, Hint, parse_event, parse_project_id
from uherding_backend.labels import ProjectId


@pytest.mark.parametrize("action", ["ANNOTATION_CREATED", "ANNOTATION_UPDATED"])
def test_a_saved_annotation_comes_with_the_event(action: str) -> None:
    annotation = annotation_payload(5, task=9)

    event = parse_event(webhook_payload(action, annotation=annotation))

    assert event == Event(Hint.ANNOTATION_SAVED, ProjectId(1), annotation=annotation)


def test_the_task_may_stand_beside_the_annotation() -> None:
    annotation = annotation_payload(5)
    del annotation["task"]

    event = parse_event(
        webhook_payload("ANNOTATION_CREATED", annotation=annotation, task={"id": 9})
    )

    assert event is not None
    assert event.annotation is not None
    assert event.annotation["task"] == 9


def test_deleted_annotations_are_named_by_their_ids() -> None:
    event = parse_event(webhook_payload("ANNOTATIONS_DELETED", annotations=[{"id": 4}, {"id": 6}]))

    assert event == Event(Hint.ANNOTATIONS_DELETED, ProjectId(1), deleted=(4, 6))


@pytest.mark.parametrize(
    ("action", "hint"),
    [
        ("TASKS_CREATED", Hint.TASKS),
        ("TASKS_DELETED", Hint.TASKS),
        ("PROJECT_UPDATED", Hint.LOOK),
        ("ANNOTATIONS_CREATED", Hint.LOOK),
        ("START_TRAINING", Hint.TRAIN),
    ],
)
def test_other_events_say_only_what_to_do(action: str, hint: Hint) -> None:
    assert parse_event(webhook_payload(action)) == Event(hint, ProjectId(1))


def test_every_action_that_the_webhook_is_restricted_to_is_understood() -> None:
    hints = [parse_event(webhook_payload(action)) for action in WEBHOOK_ACTIONS]

    assert None not in hints


@pytest.mark.parametrize(
    "annotation",
    [
        None,
        7,
        {},
        {"id": 1},
        {"id": "1", "task": 1},
        {"id": None, "task": 1},
        {"id": 2**70, "task": 1},
        {"id": 1, "task": -(2**70)},
    ],
)
def test_an_annotation_that_cannot_be_used_means_a_look(annotation: Any) -> None:  # noqa: ANN401
    event = parse_event(webhook_payload("ANNOTATION_CREATED", annotation=annotation))

    assert event == Event(Hint.LOOK, ProjectId(1))


@pytest.mark.parametrize("listed", [None, "x", [None], [{}], [{"id": "1"}], [{"id": 2**70}]])
def test_deleted_ids_that_cannot_be_used_are_ignored(listed: Any) -> None:  # noqa: ANN401
    event = parse_event(webhook_payload("ANNOTATIONS_DELETED", annotations=listed))

    assert event == Event(Hint.ANNOTATIONS_DELETED, ProjectId(1))


@pytest.mark.parametrize(
    "payload",
    [
        None,
        [],
        "text",
        {},
        {"action": "START_TRAINING"},
        {"action": "START_TRAINING", "project": None},
        {"action": "START_TRAINING", "project": {"id": None}},
        {"action": "START_TRAINING", "project": {"id": True}},
        {"action": "START_TRAINING", "project": {"id": 1.5}},
        {"action": "START_TRAINING", "project": -1},
        {"action": "NOBODY_KNOWS", "project": 1},
        {"action": ["START_TRAINING"], "project": 1},
    ],
)
def test_what_says_nothing_of_use_is_ignored(payload: Any) -> None:  # noqa: ANN401
    assert parse_event(payload) is None


@pytest.mark.parametrize(
    ("uid", "project"),
    [
        ("12.1794785425", 12),
        ("12", 12),
        ("", None),
        ("x.1", None),
        ("-3", None),
        ("²", None),
        ("٣", None),
        ("1" * 16, None),
    ],
)
def test_the_project_id_is_the_head_of_the_uid(uid: str, project: int | None) -> None:
    assert parse_project_id(uid) == project
