"""What is known of a connected project, as plain records."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from uherding_backend.labels import ProjectId

DOUBT_TASKS = "UPDATE projects SET task_doubts = task_doubts + 1 WHERE id = ?"


@dataclass(frozen=True, slots=True)
class Connection:
    """What Label Studio says of itself and of a project when it calls /setup."""

    project: ProjectId
    uid: str
    label_studio_url: str
    link_url: str
    token: str
    backend_url: str
    label_config: str
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ExtractorInUse:
    """Where a project's features come from.

    Attributes:
        name: As written in the settings, for example "patches".
        version: Tells features of one extractor from those of another; empty before the first one.
        description: What made the features, for people.
        reason: Why this extractor.
        images: How many images it learned from; 0 if it came pretrained.
    """

    name: str = ""
    version: str = ""
    description: str = ""
    reason: str = ""
    images: int = 0


@dataclass(frozen=True, slots=True)
class Sighting:
    """What a look at Label Studio's project found."""

    title: str
    label_config: str
    sampling: str
    changed: bool = False  # tasks or label config differ from those of the last round
    other_tasks: bool = False  # there are more or fewer than are known


@dataclass(frozen=True, slots=True)
class Project:
    """A connected Label Studio project.

    Attributes:
        uid: Label Studio's name for it, "id.created": tells two servers' projects 1 apart.
        link_url: Label Studio's address for people's browsers.
        token: The API token that came with /setup; empty if the settings hold one.
        backend_url: The address under which Label Studio calls this backend.
        options: The admin's choices for this project: ``extra_params``, and over them ``chosen``.
        chosen: What was chosen on the dashboard.
        paused: Whether rounds run only when somebody asks for one.
        active: False once it was disconnected.
        prepared: For which settings Label Studio's project was set up; empty if it was not.
        notes: What preparing changed in Label Studio, and what an admin should know.
        problem: Why the project cannot be attended to, and what to do; empty if all is well.
        heard_at: When Label Studio last called the webhook, in seconds since the epoch.
        look: Something happened that only a look at Label Studio can tell.
        looked_at: When the project was last looked at, in seconds since the epoch.
        sampling: The task sampling that the last look found.
        tasks_changed: Label Studio's tasks or label config differ from those of the last round.
        task_doubts: How often there was a sign that Label Studio's tasks may have changed.
        reasserted: The foreign model_version that was already replaced by ours once.
        extractor: The feature extractor in use.
    """

    id: ProjectId
    uid: str
    title: str
    label_studio_url: str
    link_url: str
    token: str
    backend_url: str
    label_config: str
    options: Mapping[str, Any]
    active: bool
    prepared: str
    notes: tuple[str, ...]
    problem: str
    heard_at: float
    look: bool
    looked_at: float
    sampling: str
    tasks_changed: bool
    task_doubts: int
    reasserted: str
    extractor: ExtractorInUse
    chosen: Mapping[str, Any]
    paused: bool


def project_of(row: sqlite3.Row) -> Project:
    """What a row of the table says."""
    return Project(
        id=ProjectId(row["id"]),
        uid=row["uid"],
        title=row["title"],
        label_studio_url=row["label_studio_url"],
        link_url=row["link_url"],
        token=row["token"],
        backend_url=row["backend_url"],
        label_config=row["label_config"],
        options={**json.loads(row["options"]), **json.loads(row["chosen"])},
        active=bool(row["active"]),
        prepared=row["prepared"],
        notes=tuple(json.loads(row["notes"])),
        problem=row["problem"],
        heard_at=row["heard_at"],
        look=bool(row["look"]),
        looked_at=row["looked_at"],
        sampling=row["sampling"],
        tasks_changed=bool(row["tasks_changed"]),
        task_doubts=row["task_doubts"],
        reasserted=row["reasserted"],
        extractor=ExtractorInUse(**json.loads(row["extractor"])),
        chosen=json.loads(row["chosen"]),
        paused=bool(row["paused"]),
    )
