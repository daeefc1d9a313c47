"""An in-memory stand-in for a Label Studio server and its client."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Never

import requests

from tests.support.builders import LABEL_CONFIG, LABEL_STUDIO_URL
from uherding_backend.errors import LabelStudioError, LabelStudioUnreachableError
from uherding_backend.labels import Annotation, ProjectId, TaskId, parse_annotation
from uherding_backend.labelstudio import LabelStudio, ProjectState, Webhook

NO_VERSION = "Model version doesn't exist either as live model or as static predictions."

Action = Callable[[], None]


class Killed(BaseException):
    """What kill -9 looks like from inside: nobody catches it, nothing is tidied up."""


@dataclass
class FakeProject:
    """What Label Studio knows of a project."""

    id: ProjectId
    label_config: str = LABEL_CONFIG
    title: str = "Shapes"
    model_version: str = ""
    sampling: str = "Sequential sampling"
    maximum_annotations: int = 1
    show_collab_predictions: bool = True
    tasks: dict[TaskId, dict[str, Any]] = field(default_factory=dict)
    annotations: dict[int, dict[str, Any]] = field(default_factory=dict)
    predictions: list[dict[str, Any]] = field(default_factory=list)
    locks: dict[TaskId, str] = field(default_factory=dict)

    @property
    def labelled(self) -> set[TaskId]:
        """Tasks with an answer; a skipped one has none."""
        return {a["task"] for a in self.annotations.values() if not a["was_cancelled"]}


class FakeLabelStudio(LabelStudio):
    """One server; the public methods behave as the real client on the real server does."""

    def __init__(self, url: str = LABEL_STUDIO_URL) -> None:
        super().__init__(url, "none")
        self.projects: dict[int, FakeProject] = {}
        self.hooks: dict[int, dict[str, Any]] = {}
        self.backends: dict[int, dict[str, Any]] = {}
        self.calls: list[str] = []
        self._plans: list[tuple[str, str, int, Action]] = []
        self._ids = itertools.count(1)
        self._seconds = itertools.count(1)

    # What tests do to the server

    def add_project(self, images: Sequence[str] = (), project: int = 1) -> FakeProject:
        """Create a project with one task for each image."""
        created = self.projects[project] = FakeProject(ProjectId(project))
        self.add_tasks(images, project)
        return created

    def add_tasks(self, images: Sequence[str], project: int = 1) -> list[TaskId]:
        """Import tasks; ids are counted through the whole server."""
        tasks = self.projects[project].tasks
        start = max((max(p.tasks, default=TaskId(0)) for p in self.projects.values()), default=0)
        ids = [TaskId(start + at) for at in range(1, len(images) + 1)]
        tasks.update({task: {"image": image} for task, image in zip(ids, images, strict=True)})
        return ids

    def delete_task(self, task: int, project: int = 1) -> None:
        """Delete a task with all that hangs on it."""
        found = self.projects[project]
        del found.tasks[TaskId(task)]
        found.annotations = {i: a for i, a in found.annotations.items() if a["task"] != task}
        found.predictions = [p for p in found.predictions if p["task"] != task]

    def next_task(self, user: str = "ann", project: int = 1) -> TaskId | None:
        """What "Label All Tasks" gives this user: his open task, else the lowest score."""
        found = self.projects[project]
        mine = [task for task, holder in found.locks.items() if holder == user]
        if mine:
            return mine[0]
        skipped = {a["task"] for a in found.annotations.values() if a["completed_by"] == user}
        free = found.tasks.keys() - found.labelled - found.locks.keys() - skipped
        scores = [
            (prediction["score"], prediction["task"])
            for prediction in found.predictions
            if prediction["model_version"] == found.model_version and prediction["task"] in free
        ]
        if not scores:
            return None
        task = TaskId(min(scores)[1])
        found.locks[task] = user
        return task

    def queue(self, project: int = 1) -> list[TaskId]:
        """The tasks annotators still get, in order."""
        found = self.projects[project]
        shown = [
            (p["score"], p["task"])
            for p in found.predictions
            if p["model_version"] == found.model_version and p["task"] not in found.labelled
        ]
        return [TaskId(task) for _, task in sorted(shown)]

    def submit(self, task: int, answer: str, project: int = 1, user: str = "ann") -> int:
        """Label a task; returns the annotation's id."""
        chosen = {
            "from_name": "kind",
            "to_name": "image",
            "type": "choices",
            "value": {"choices": [answer]},
        }
        return self._annotate(task, [chosen], project, user, skipped=False)

    def skip(self, task: int, project: int = 1, user: str = "ann") -> int:
        """Skip a task; returns the annotation's id."""
        return self._annotate(task, [], project, user, skipped=True)

    def change(self, annotation: int, answer: str, project: int = 1) -> None:
        """Update an annotation."""
        found = self.projects[project].annotations[annotation]
        found["result"][0]["value"]["choices"] = [answer]
        found["updated_at"] = self._now()

    def delete_annotation(self, annotation: int, project: int = 1) -> None:
        """Delete an annotation."""
        del self.projects[project].annotations[annotation]

    # Making calls go wrong

    def before(self, method: str, action: Action, call: int = 1) -> None:
        """Run ``action`` just before the n-th call of a method from now."""
        self._plans.append(("before", method, self.calls.count(method) + call, action))

    def after(self, method: str, action: Action, call: int = 1) -> None:
        """Run ``action`` when the server has done the n-th call, before the client hears of it."""
        self._plans.append(("after", method, self.calls.count(method) + call, action))

    def fail(self, method: str, error: BaseException | None = None, call: int = 1) -> None:
        """Raise at the n-th call of a method from now; without an error the server is down."""
        raised = error or LabelStudioUnreachableError(f"Label Studio at {self.url} did not answer.")
        self.before(method, lambda: _throw(raised), call)

    def heal(self) -> None:
        """Forget every planned failure."""
        self._plans.clear()

    # The client's public methods

    def project(self, project: ProjectId) -> ProjectState:
        with self._calling("project"):
            found = self._found(project)
            return ProjectState(
                title=found.title,
                label_config=found.label_config,
                model_version=found.model_version,
                sampling=found.sampling,
                maximum_annotations=found.maximum_annotations,
                show_collab_predictions=found.show_collab_predictions,
                task_count=len(found.tasks),
                annotation_count=len(found.annotations),
            )

    def update_project(self, project: ProjectId, fields: Mapping[str, Any]) -> None:
        with self._calling("update_project"):
            found = self._found(project)
            version = fields.get("model_version", found.model_version)
            live = {backend["title"] for backend in self.backends.values()}
            stored = {prediction["model_version"] for prediction in found.predictions}
            if version != found.model_version and version and version not in stored | live:
                raise LabelStudioError(f"Label Studio refused PATCH: {NO_VERSION}", 400)
            for name, value in fields.items():
                setattr(found, name, value)
            if fields.get("show_collab_predictions") is False and "model_version" not in fields:
                found.model_version = ""

    def images(self, project: ProjectId, data_key: str) -> dict[TaskId, str]:
        with self._calling("images"):
            tasks = self._found(project).tasks
            values = {task: data.get(data_key) for task, data in tasks.items()}
            return {t: value if isinstance(value, str) else "" for t, value in values.items()}

    def annotations(self, project: ProjectId, control: str) -> list[Annotation]:
        with self._calling("annotations"):
            found = self._found(project).annotations.values()
            return [parse_annotation(annotation, control) for annotation in found]

    def people(self) -> dict[str, str]:
        with self._calling("people"):
            return {"ann": "Ann Otator"}

    def upload_predictions(
        self, project: ProjectId, predictions: Sequence[Mapping[str, Any]]
    ) -> int:
        with self._calling("upload_predictions"):
            found = self._found(project)
            kept = [
                dict(prediction)
                for prediction in predictions
                if prediction["task"] in found.tasks and 0.0 <= prediction["score"] <= 1.0
            ]
            found.predictions += kept
            return len(kept)

    def prediction_counts(self, project: ProjectId) -> dict[str, int]:
        with self._calling("prediction_counts"):
            counts: dict[str, int] = {}
            for prediction in self._found(project).predictions:
                version = prediction["model_version"]
                counts[version] = counts.get(version, 0) + 1
            return counts

    def delete_version(self, project: ProjectId, version: str) -> None:
        with self._calling("delete_version"):
            found = self._found(project)
            found.predictions = [p for p in found.predictions if p["model_version"] != version]
            if found.model_version == version:
                found.model_version = ""

    def webhooks(self, project: ProjectId) -> list[Webhook]:
        with self._calling("webhooks"):
            return [
                Webhook(
                    id=number,
                    url=hook["url"],
                    actions=tuple(hook.get("actions", ())),
                    headers=hook.get("headers", {}),
                    all_actions=hook.get("send_for_all_actions", True),
                )
                for number, hook in self.hooks.items()
                if hook["project"] == project
            ]

    def save_webhook(self, project: ProjectId, fields: Mapping[str, Any], hook: int | None) -> None:
        with self._calling("save_webhook"):
            if hook is None:
                self.hooks[next(self._ids)] = {"project": project, **fields}
            else:
                self.hooks[hook] |= fields

    def ml_backends(self, project: ProjectId) -> list[dict[str, Any]]:
        with self._calling("ml_backends"):
            return [
                {"id": number, **backend}
                for number, backend in self.backends.items()
                if backend["project"] == project
            ]

    def save_ml_backend(
        self, project: ProjectId, fields: Mapping[str, Any], backend: int | None
    ) -> None:
        with self._calling("save_ml_backend"):
            if backend is not None:
                self.backends[backend] |= fields
                return
            self.backends[next(self._ids)] = {"project": project, **fields}
            hook = {"url": f"{fields['url']}/webhook", "send_for_all_actions": True}
            self.hooks[next(self._ids)] = {"project": project, **hook}
            found = self._found(project)
            if found.show_collab_predictions and not found.model_version:
                found.model_version = fields["title"]

    def delete(self, path: str) -> None:
        with self._calling("delete"):
            kind, number = path.strip("/").split("/")[1:]
            del {"webhooks": self.hooks, "ml": self.backends}[kind][int(number)]

    def get(self, path: str) -> requests.Response:
        with self._calling("get"):
            raise LabelStudioError(f"Label Studio refused GET {path}: Not Found.", 404)

    def _request(self, method: str, path: str, **_: Any) -> Never:  # noqa: ANN401
        raise AssertionError(f"the fake does not know how to {method} {path}")

    def _found(self, project: ProjectId) -> FakeProject:
        if project not in self.projects:
            raise LabelStudioError(f"Label Studio refused GET /api/projects/{project}.", 404)
        return self.projects[project]

    def _annotate(
        self, task: int, result: list[Any], project: int, user: str, *, skipped: bool
    ) -> int:
        found = self.projects[project]
        found.locks = {t: holder for t, holder in found.locks.items() if holder != user}
        number = next(self._ids)
        found.annotations[number] = {
            "id": number,
            "task": TaskId(task),
            "result": result,
            "was_cancelled": skipped,
            "completed_by": user,
            "updated_at": self._now(),
        }
        return number

    def _now(self) -> str:
        seconds = next(self._seconds)
        return f"2026-01-01T{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}Z"

    @contextmanager
    def _calling(self, method: str) -> Iterator[None]:
        self.calls.append(method)
        number = self.calls.count(method)
        self._carry_out("before", method, number)
        yield
        self._carry_out("after", method, number)

    def _carry_out(self, moment: str, method: str, number: int) -> None:
        for plan in self._plans:
            if plan[:3] == (moment, method, number):
                plan[3]()


def _throw(error: BaseException) -> Never:
    raise error
