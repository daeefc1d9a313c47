"""Annotations -> one class per task. Pure: the same annotations always give the same labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NewType

TaskId = NewType("TaskId", int)  # Label Studio's id; `model` only ever sees rows
ProjectId = NewType("ProjectId", int)


@dataclass(frozen=True, slots=True)
class Annotation:
    """One person's answer to one task.

    Attributes:
        answer: What was chosen; None if nothing was, as in a skipped task.
        updated: ISO 8601 time of the last change: later sorts higher.
        author: Label Studio's id of the person; empty if it is not known.
        created: ISO 8601 time of the first submission; empty if it is not known.
        seconds: How long the person looked at it; None if it is not known.
    """

    id: int
    task: TaskId
    answer: str | None
    skipped: bool
    ground_truth: bool
    updated: str
    author: str = ""
    created: str = ""
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Labels:
    """What a project's annotations come to.

    Attributes:
        classes: The class of every labelled task.
        set_aside: Tasks that people answered without a usable class (skipped, empty, or a class
            that the label config no longer has): neither labels nor worth queueing.
        disagreements: Tasks whose annotators chose different classes.
        unknown_classes: Tasks among ``set_aside`` whose class is not in the label config.
    """

    classes: Mapping[TaskId, str]
    set_aside: frozenset[TaskId]
    disagreements: int
    unknown_classes: int


def parse_annotation(payload: Mapping[str, Any], control: str) -> Annotation:
    """An annotation as Label Studio's export and webhooks carry it."""
    skipped = bool(payload.get("was_cancelled"))
    return Annotation(
        id=int(payload["id"]),
        task=TaskId(int(payload["task"])),
        answer=None if skipped else _chosen(payload.get("result"), control),
        skipped=skipped,
        ground_truth=bool(payload.get("ground_truth")),
        updated=str(payload.get("updated_at") or ""),
        author=_author(payload.get("completed_by")),
        created=str(payload.get("created_at") or ""),
        seconds=_seconds(payload.get("lead_time")),
    )


def resolve(annotations: Iterable[Annotation], classes: Collection[str]) -> Labels:
    """One class per task: ground truth first, else the majority, else the latest."""
    by_task: dict[TaskId, list[Annotation]] = {}
    for annotation in annotations:
        by_task.setdefault(annotation.task, []).append(annotation)
    resolved: dict[TaskId, str] = {}
    disagreements = unknown = 0
    for task, given in by_task.items():
        answered = [annotation for annotation in given if annotation.answer is not None]
        usable = [annotation for annotation in answered if annotation.answer in classes]
        disagreements += len({annotation.answer for annotation in usable}) > 1
        if usable:
            resolved[task] = _agreed(usable)
        else:
            unknown += bool(answered)
    return Labels(resolved, frozenset(by_task.keys() - resolved.keys()), disagreements, unknown)


def arrived_since(labels: Mapping[TaskId, str], used: Mapping[TaskId, str]) -> int:
    """How many labels are new or changed since the round that used ``used``."""
    return sum(used.get(task) != chosen for task, chosen in labels.items())


def _agreed(annotations: Sequence[Annotation]) -> str:
    if len(annotations) == 1:  # as nearly always, in projects of many thousands
        return str(annotations[0].answer)
    truths = [annotation for annotation in annotations if annotation.ground_truth]
    voting = truths or annotations
    votes = Counter(annotation.answer for annotation in voting)
    most = max(votes.values())
    leading = [annotation for annotation in voting if votes[annotation.answer] == most]
    latest = max(leading, key=lambda annotation: (annotation.updated, annotation.id))
    return str(latest.answer)


def disputed(
    annotations: Iterable[Annotation], classes: Collection[str]
) -> dict[TaskId, Counter[str]]:
    """Tasks whose annotators chose different classes, with the votes."""
    votes: dict[TaskId, Counter[str]] = {}
    for annotation in annotations:
        if annotation.answer in classes:
            votes.setdefault(annotation.task, Counter())[str(annotation.answer)] += 1
    return {task: counted for task, counted in votes.items() if len(counted) > 1}


def _author(completed_by: object) -> str:
    """Label Studio gives an id, or the user with the id in it."""
    found = completed_by.get("id") if isinstance(completed_by, Mapping) else completed_by
    return "" if found is None else str(found)


def _seconds(lead_time: object) -> float | None:
    return float(lead_time) if isinstance(lead_time, int | float) else None


def _chosen(result: object, control: str) -> str | None:
    for region in result if isinstance(result, list) else []:
        match region:
            case {
                "from_name": name,
                "type": "choices",
                "value": {"choices": [str(choice), *_]},
            } if name == control:
                return choice
    return None
