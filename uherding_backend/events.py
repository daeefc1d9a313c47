"""Webhook JSON -> a typed event: hints only, so what cannot be used is ignored, never fatal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from uherding_backend.labels import ProjectId

# What the webhook is restricted to on connect; START_TRAINING comes in any case.
WEBHOOK_ACTIONS = (
    "ANNOTATION_CREATED",
    "ANNOTATION_UPDATED",
    "ANNOTATIONS_DELETED",
    "TASKS_CREATED",
    "TASKS_DELETED",
    "PROJECT_UPDATED",
)


MAX_ID = 2**63  # what a database can hold


class Hint(Enum):
    """What an event suggests the worker should do."""

    ANNOTATION_SAVED = "annotation saved"
    ANNOTATIONS_DELETED = "annotations deleted"
    LOOK = "look at the project"
    TASKS = "look at the project, whose tasks are not what they were"
    TRAIN = "start a round"


_HINTS = {
    "ANNOTATION_CREATED": Hint.ANNOTATION_SAVED,
    "ANNOTATION_UPDATED": Hint.ANNOTATION_SAVED,
    "ANNOTATIONS_CREATED": Hint.LOOK,
    "ANNOTATIONS_DELETED": Hint.ANNOTATIONS_DELETED,
    "TASKS_CREATED": Hint.TASKS,
    "TASKS_DELETED": Hint.TASKS,
    "PROJECT_UPDATED": Hint.LOOK,
    "START_TRAINING": Hint.TRAIN,
}


@dataclass(frozen=True, slots=True)
class Event:
    """One webhook call, as far as it concerns a project's labels or tasks."""

    hint: Hint
    project: ProjectId
    annotation: Mapping[str, Any] | None = None
    deleted: tuple[int, ...] = ()


def parse_event(payload: object) -> Event | None:
    """The event in a webhook body, or None if it says nothing of use."""
    if not isinstance(payload, Mapping):
        return None
    hint = _HINTS.get(str(payload.get("action")))
    project = _project_id(payload.get("project"))
    if hint is None or project is None:
        return None
    if hint is Hint.ANNOTATION_SAVED:
        return _saved(payload, project)
    if hint is Hint.ANNOTATIONS_DELETED:
        return Event(hint, project, deleted=_ids(payload.get("annotations")))
    return Event(hint, project)


def parse_project_id(uid: str) -> ProjectId | None:
    """The project's id in "12.1794785425" (as /setup and /predict name it) or "12"."""
    head = uid.partition(".")[0]
    return ProjectId(int(head)) if head.isascii() and head.isdecimal() and len(head) < 16 else None


def _saved(payload: Mapping[str, Any], project: ProjectId) -> Event:
    annotation = payload.get("annotation")
    task = payload.get("task")
    if not isinstance(annotation, Mapping):
        return Event(Hint.LOOK, project)
    if "task" not in annotation and isinstance(task, Mapping):
        annotation = {**annotation, "task": task.get("id")}
    if not all(_is_id(annotation.get(key)) for key in ("id", "task")):
        return Event(Hint.LOOK, project)
    return Event(Hint.ANNOTATION_SAVED, project, annotation=annotation)


def _ids(listed: object) -> tuple[int, ...]:
    if not isinstance(listed, list):
        return ()
    ids = (item.get("id") if isinstance(item, Mapping) else None for item in listed)
    return tuple(number for number in ids if isinstance(number, int) and _is_id(number))


def _is_id(number: object) -> bool:
    return isinstance(number, int) and 0 <= number < MAX_ID


def _project_id(project: object) -> ProjectId | None:
    if isinstance(project, Mapping):
        project = project.get("id")
    return parse_project_id(str(project)) if isinstance(project, int | str) else None
