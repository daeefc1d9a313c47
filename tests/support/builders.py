"""Defaults for everything but what a test is about."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from uherding_backend.labels import Annotation, ProjectId, TaskId
from uherding_backend.labelstudio import SAMPLING
from uherding_backend.preparing import preparation
from uherding_backend.settings import Settings
from uherding_backend.store import Project, Round, Store
from uherding_backend.store.pool import Listing
from uherding_backend.store.project_records import Connection, ExtractorInUse, Sighting
from uherding_backend.store.round_records import QueueEntry

PROJECT = ProjectId(1)
UID = "1.1794785425"
LABEL_STUDIO_URL = "http://127.0.0.1:1"  # nothing listens there
BACKEND_URL = "http://127.0.0.1:9090"
TOKEN = "0123456789abcdef0123456789abcdef01234567"
KINDS = ("bars", "checks", "disc")
LABEL_CONFIG = """
<View>
  <Image name="image" value="$image"/>
  <Choices name="kind" toName="image">
    <Choice value="bars"/><Choice value="checks"/><Choice value="disc"/>
  </Choices>
</View>
"""
PIXELS = 32
FITTED_IMAGES = 30  # how many pictures the features of most tests were learned from


class Clock:
    """Time that passes when a test says so."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@cache
def picture(kind: str, seed: int) -> bytes:
    """A small PNG: the kind decides its shape, the seed its colours, place and noise."""
    generator = np.random.default_rng(seed)
    rows, columns = np.mgrid[0:PIXELS, 0:PIXELS]
    shift = int(generator.integers(8))
    shape = {
        "bars": (rows + shift) // 4 % 2,
        "checks": ((rows + shift) // 8 + (columns + shift) // 8) % 2,
        "disc": (rows - 16) ** 2 + (columns - 12 - shift) ** 2 < 90,
    }[kind]
    colours = generator.integers(40, 200, size=3)
    noise = generator.normal(scale=6.0, size=(PIXELS, PIXELS, 3))
    pixels = np.where(shape[..., None], colours, 235) + noise
    file = io.BytesIO()
    Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(file, "PNG")
    return file.getvalue()


def data_uri(data: bytes) -> str:
    """The bytes as an address that needs no server."""
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"


def kind_of(number: int) -> str:
    """The kind of the picture with this number."""
    return KINDS[number % len(KINDS)]


def pictures(count: int, first: int = 1) -> list[str]:
    """Addresses of different pictures, all kinds in turn."""
    numbers = range(first, first + count)
    return [data_uri(picture(kind_of(number), number)) for number in numbers]


def make_task(number: int = 1, image: str | None = None) -> dict[str, Any]:
    """A task as Label Studio sends it with /predict."""
    address = pictures(1, first=number)[0] if image is None else image
    return {"id": number, "data": {"image": address}, "project": PROJECT}


def make_annotation(
    number: int = 1,
    task: int = 1,
    answer: str | None = "bars",
    *,
    skipped: bool = False,
    ground_truth: bool = False,
    updated: str = "2026-01-01T00:00:00Z",
) -> Annotation:
    """One person's answer."""
    return Annotation(number, TaskId(task), answer, skipped, ground_truth, updated)


def annotation_payload(
    number: int = 1,
    task: int = 1,
    answer: str | None = "bars",
    *,
    skipped: bool = False,
    updated: str = "2026-01-01T00:00:00Z",
) -> dict[str, Any]:
    """One person's answer as Label Studio's export and webhooks carry it."""
    result = [
        {
            "from_name": "kind",
            "to_name": "image",
            "type": "choices",
            "value": {"choices": [answer]},
        }
    ]
    return {
        "id": number,
        "task": task,
        "result": result if answer else [],
        "was_cancelled": skipped,
        "ground_truth": False,
        "updated_at": updated,
    }


def webhook_payload(action: str, project: int = PROJECT, **parts: Any) -> dict[str, Any]:  # noqa: ANN401
    """A webhook call as Label Studio makes it."""
    described = {
        "id": project,
        "title": "Shapes",
        "label_config": LABEL_CONFIG,
        "created_at": "2026-11-16T08:57:05+00:00",
    }
    return {"action": action, "project": described, **parts}


def setup_payload(uid: str = UID, **parts: Any) -> dict[str, Any]:  # noqa: ANN401
    """What Label Studio says of a project in /setup."""
    return {
        "project": uid,
        "schema": LABEL_CONFIG,
        "hostname": LABEL_STUDIO_URL,
        "access_token": TOKEN,
        "extra_params": {},
        **parts,
    }


def make_settings(data_dir: Path, **chosen: Any) -> Settings:  # noqa: ANN401
    """Settings with small rounds."""
    usual = {"host": "127.0.0.1", "round_size": 6, "features": "patches"}
    return Settings(**{"data_dir": data_dir, **usual, **chosen})


def make_connection(
    project: int = PROJECT,
    *,
    uid: str | None = None,
    backend_url: str = BACKEND_URL,
    label_config: str = LABEL_CONFIG,
    options: Mapping[str, Any] | None = None,
) -> Connection:
    """What /setup tells the store."""
    return Connection(
        project=ProjectId(project),
        uid=uid or f"{project}.1794785425",
        label_studio_url=LABEL_STUDIO_URL,
        link_url=LABEL_STUDIO_URL,
        token=TOKEN,
        backend_url=backend_url,
        label_config=label_config,
        options=options or {},
    )


LISTING = Listing("image", at=0.0, doubts=0)


def prepared(store: Store, project: int = PROJECT, notes: Sequence[str] = ()) -> None:
    """Say that Label Studio's project is set up as `make_settings` wants it."""
    wanted = preparation(store.projects.get(ProjectId(project)), make_settings(store.data_dir))
    store.projects.prepared(ProjectId(project), wanted, list(notes))


def look_at(store: Store, now: float = 1.0, **found: Any) -> None:  # noqa: ANN401
    """Say that a look at the project found this."""
    usual = {"title": "", "label_config": LABEL_CONFIG, "sampling": SAMPLING}
    store.projects.looked(PROJECT, now, Sighting(**{**usual, **found}))


def use_patches(store: Store, version: str, images: int, project: int = PROJECT) -> None:
    """Say that the project's features are those of this `patches` extractor."""
    used = ExtractorInUse(name="patches", version=version, images=images)
    store.projects.use_extractor(ProjectId(project), used)


def connected(store: Store, project: int = PROJECT, **parts: Any) -> Project:  # noqa: ANN401
    """A project that is connected and prepared, and uses the features in its directory."""
    store.projects.connect(make_connection(project, **parts))
    prepared(store, project)
    for learned in store.project_dir(project).glob("patches-*.npz"):
        use_patches(store, learned.stem, FITTED_IMAGES, project)
    return store.projects.get(ProjectId(project))


def make_entry(task: int, **parts: Any) -> QueueEntry:  # noqa: ANN401
    """A task in a queue."""
    found = {"gain": 0.5, "uncertainty": 1.0, "predicted": "bars", "probability": 0.6}
    return QueueEntry(TaskId(task), **{**found, **parts})


def make_report(**parts: Any) -> dict[str, Any]:  # noqa: ANN401
    """What a round measured."""
    return {
        "pool": 30,
        "unreadable": 0,
        "labels": 0,
        "queue": 3,
        "left_out": 10,
        "temperature": 1.0,
        "ece_after": None,
        "accuracy": None,
        "radius": 1.0,
        "coverage": 0.0,
        "warnings": ["There are no labels yet."],
        "seconds": {"labels": 0.1},
        **parts,
    }


def publish_round(
    store: Store,
    project: int = PROJECT,
    *,
    queue: Sequence[int] = (1, 2, 3),
    labels: Mapping[int, str] | None = None,
    left_out: int = 10,
    now: float = 1000.0,
) -> Round:
    """A round that was published, without computing one."""
    store.rounds.request(ProjectId(project), "first queue", now)
    round_ = store.rounds.take(now)
    assert round_ is not None
    assert round_.project == project
    report = make_report(queue=len(queue), left_out=left_out, labels=len(labels or {}))
    store.rounds.ranked(
        round_.id,
        version=f"uherding-p{project}-r{round_.id:04d}-abc",
        queue=[make_entry(task) for task in queue],
        labels={TaskId(task): answer for task, answer in (labels or {}).items()},
        report=report,
    )
    store.rounds.published(round_.id, report, now)
    published = store.rounds.get(round_.id)
    assert published is not None
    return published
