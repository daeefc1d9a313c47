"""The project that `benchmarks.round` labels, in a real Label Studio."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.console import tell
from tests.support.live import LiveBackend, LiveLabelStudio, LiveProject
from uherding_backend.demo.annotator import Annotator
from uherding_backend.demo.dataset import CLASSES, LABEL_CONFIG, DemoImages, png
from uherding_backend.labels import ProjectId
from uherding_backend.labelstudio import LabelStudio
from uherding_backend.store import Round, RoundState, Store


@dataclass(frozen=True)
class Project:
    """A project of `--items` images, and the class of each task."""

    live: LiveProject
    store: Store
    classes: dict[int, str]
    labeled: set[int] = field(default_factory=set)

    @property
    def id(self) -> ProjectId:
        return ProjectId(self.live.id)

    def last_published(self) -> Round | None:
        return self.store.rounds.last_published(self.id)

    def wait_for_round(self, after: int, seconds: float) -> Round:
        """The next round after this one, once it is published."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            newest = self.store.rounds.latest(self.id, limit=1)
            if newest and newest[0].state is RoundState.FAILED:
                raise SystemExit(f"Round {newest[0].id} failed: {newest[0].error}")
            published = self.last_published()
            if published is not None and published.id > after:
                return published
            time.sleep(0.05)
        raise SystemExit(f"No round after {seconds:.0f} s.\n{self.live.backend.process.log_tail()}")

    def unlabeled(self, count: int) -> list[int]:
        """As annotators get them; then drawn by lot, because the queue must not run empty."""
        queue = self.live.queue()
        head = queue[: min(count, 2 * len(queue) // 3)]
        taken = self.labeled | set(queue)
        free = [task for task in self.classes if task not in taken]
        order = np.random.default_rng(len(self.labeled)).permutation(len(free))
        return head + [free[at] for at in order[: count - len(head)]]

    def listen(self, *, active: bool) -> None:
        """Switch the webhook on or off; what it listens to would else be forgotten."""
        (hook,) = self.live.studio.call("GET", f"/api/webhooks/?project={self.id}")
        fields = {"is_active": active, "actions": hook["actions"]}
        self.live.studio.call("PATCH", f"/api/webhooks/{hook['id']}/", fields)

    def label(self, tasks: Sequence[int]) -> None:
        for number, task in enumerate(tasks):
            self.live.annotator.submit(task, self.classes[task])
            self.labeled.add(task)
            if number % 100 == 99:
                tell(f"{number + 1} labels written")


def make_project(studio: LiveLabelStudio, backend: LiveBackend, items: int) -> Project:
    tell(f"making a project of {items} images")
    files = studio.directory / "files" / "images"
    files.mkdir(parents=True)
    classes = write_images(files, items)
    id_ = studio.call("POST", "/api/projects", {"title": "round", "label_config": LABEL_CONFIG})[
        "id"
    ]
    storage = {"project": id_, "path": str(files.absolute()), "use_blob_urls": True}
    studio.call("POST", "/api/storages/localfiles", {**storage, "title": "images"})
    tasks = [{"data": {"image": f"/data/local-files/?d=images/{name}"}} for name in classes]
    path = f"/api/projects/{id_}/import?return_task_ids=true"
    ids = studio.call("POST", path, tasks)["task_ids"]
    live = LiveProject(studio, backend, id_, Annotator(studio.url, studio.token, id_))
    return Project(live, backend.store, dict(zip(ids, classes.values(), strict=True)))


def write_images(directory: Path, count: int) -> dict[str, str]:
    """The demo's images, then the same shifted or mirrored; returns names and classes."""
    images = DemoImages.load()
    shifts = sorted(itertools.product((0, 1, -1, 2, -2, 3, -3), repeat=2), key=lambda s: max(s))
    variants = [(flip, *shift) for shift in shifts for flip in (1, -1)]
    classes = {}
    for number in range(count):
        variant, row = divmod(number, len(images.pool))
        flip, down, right = variants[variant]
        pixels = np.roll(images.pool[row][:, ::flip], (down, right), axis=(0, 1))
        classes[f"{number:06d}.png"] = CLASSES[images.pool_labels[row]]
        (directory / f"{number:06d}.png").write_bytes(png(np.ascontiguousarray(pixels)))
    return classes


def make_round_due(project: Project, now: float) -> None:
    project.store.rounds.request(project.id, "label config changed", now)


def delete_old_queue(project: Project) -> None:
    """Of the two queues that are kept, the one that is not shown."""
    studio = LabelStudio(project.live.studio.url, project.live.studio.token)
    shown = project.live.annotator.shown_version()
    old = [version for version in studio.prediction_counts(project.id) if version != shown]
    studio.delete_version(project.id, old[-1])
