"""What the backend relies on: one suite for the fake, always, and for a real server on request.

The fake is only as good as this suite: what another test believes of Label Studio is claimed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import pytest
import requests

from tests.support.builders import pictures
from tests.support.fake_label_studio import FakeLabelStudio
from uherding_backend.errors import LabelStudioError
from uherding_backend.labels import ProjectId, TaskId
from uherding_backend.labelstudio import LabelStudio

CONFIG = """
<View>
  <Image name="image" value="$image"/>
  <Choices name="kind" toName="image">
    <Choice value="bars"/><Choice value="checks" alias="c"/>
  </Choices>
</View>
"""
HOOK_URL = "http://192.0.2.1:9090/webhook"  # an address that belongs to nobody


class Annotators(Protocol):
    """What people do in the browser."""

    def submit(self, task: TaskId, answer: str) -> None: ...

    def skip(self, task: TaskId) -> None: ...

    def next_task(self) -> TaskId | None: ...


@dataclass(frozen=True)
class Server:
    """A server with one project of four tasks."""

    client: LabelStudio
    project: ProjectId
    images: list[str]
    people: Annotators

    @property
    def tasks(self) -> list[TaskId]:
        return sorted(self.client.images(self.project, "image"))


@dataclass(frozen=True)
class FakeAnnotators:
    studio: FakeLabelStudio

    def submit(self, task: TaskId, answer: str) -> None:
        self.studio.submit(task, answer)

    def skip(self, task: TaskId) -> None:
        self.studio.skip(task)

    def next_task(self) -> TaskId | None:
        return self.studio.next_task()


@dataclass(frozen=True)
class RealAnnotators:
    url: str
    token: str
    project: ProjectId

    def submit(self, task: TaskId, answer: str) -> None:
        chosen = {
            "from_name": "kind",
            "to_name": "image",
            "type": "choices",
            "value": {"choices": [answer]},
        }
        self._ask("POST", f"/api/tasks/{task}/annotations/", {"result": [chosen]})

    def skip(self, task: TaskId) -> None:
        body = {"result": [], "was_cancelled": True}
        self._ask("POST", f"/api/tasks/{task}/annotations/", body)

    def next_task(self) -> TaskId | None:
        return TaskId(self._ask("GET", f"/api/projects/{self.project}/next")["id"])

    def _ask(self, method: str, path: str, body: Any = None) -> Any:  # noqa: ANN401 - JSON
        return ask(self.url, self.token, method, path, body)


def ask(url: str, token: str, method: str, path: str, body: Any = None) -> Any:  # noqa: ANN401
    """One call as a person's browser would make it."""
    headers = {"Authorization": f"Token {token}"}
    response = requests.request(method, url + path, json=body, headers=headers, timeout=60)
    assert response.ok, response.text
    return response.json()


def fake_server() -> Server:
    studio = FakeLabelStudio()
    images = pictures(4)
    studio.add_project(images).label_config = CONFIG
    return Server(studio, ProjectId(1), images, FakeAnnotators(studio))


def real_server(url: str, token: str) -> Server:
    fields = {"title": "Contract", "label_config": CONFIG}
    created = ask(url, token, "POST", "/api/projects", fields)
    project = ProjectId(created["id"])
    images = pictures(4)
    tasks = [{"data": {"image": image}} for image in images]
    ask(url, token, "POST", f"/api/projects/{project}/import", tasks)
    people = RealAnnotators(url, token, project)
    return Server(LabelStudio(url, token), project, images, people)


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.labelstudio)])
def server(request: pytest.FixtureRequest) -> Server:
    if request.param == "fake":
        return fake_server()
    real = request.getfixturevalue("real_label_studio")
    return real_server(real.url, real.token)


def queue(tasks: list[TaskId], version: str) -> list[dict[str, Any]]:
    return [
        {"task": task, "result": [], "score": (at + 1) / (len(tasks) + 1), "model_version": version}
        for at, task in enumerate(tasks)
    ]


def test_every_task_is_listed_with_its_image(server: Server) -> None:
    images = server.client.images(server.project, "image")

    assert [images[task] for task in sorted(images)] == server.images


def test_a_task_without_the_key_has_an_empty_address(server: Server) -> None:
    images = server.client.images(server.project, "no such key")

    assert list(images.values()) == [""] * 4


def test_answers_are_exported_with_the_alias_and_skips_without_an_answer(server: Server) -> None:
    bars, aliased, skipped, _ = server.tasks
    server.people.submit(bars, "bars")
    server.people.submit(aliased, "c")
    server.people.skip(skipped)

    found = {a.task: a for a in server.client.annotations(server.project, "kind")}

    assert {task: a.answer for task, a in found.items()} == {
        bars: "bars",
        aliased: "c",
        skipped: None,
    }
    assert {task: a.skipped for task, a in found.items()} == {
        bars: False,
        aliased: False,
        skipped: True,
    }
    assert all(annotation.updated for annotation in found.values())


def test_the_project_counts_its_tasks_and_its_annotations_skipped_ones_included(
    server: Server,
) -> None:
    server.people.submit(server.tasks[0], "bars")
    server.people.skip(server.tasks[1])

    state = server.client.project(server.project)

    assert state.task_count == 4
    assert state.annotation_count == 2
    assert state.label_config.split() == CONFIG.split()


def test_an_upload_tells_how_many_were_kept_and_shows_nothing_yet(server: Server) -> None:
    kept = server.client.upload_predictions(server.project, queue(server.tasks, "v1"))

    assert kept == 4
    assert server.client.prediction_counts(server.project) == {"v1": 4}
    assert server.client.project(server.project).model_version == ""


def test_a_score_outside_0_to_1_is_dropped_without_a_word(server: Server) -> None:
    predictions = queue(server.tasks, "v1")
    predictions[0]["score"] = 1.5

    kept = server.client.upload_predictions(server.project, predictions)

    assert kept == 3


def test_a_prediction_for_an_unknown_task_is_never_stored(server: Server) -> None:
    predictions = queue([*server.tasks, TaskId(999_999)], "v1")

    try:
        kept = server.client.upload_predictions(server.project, predictions)
    except LabelStudioError:
        kept = 0

    assert kept < 5
    assert server.client.prediction_counts(server.project).get("v1", 0) == kept


def test_a_version_without_predictions_cannot_be_shown(server: Server) -> None:
    with pytest.raises(LabelStudioError, match="doesn't exist") as refusal:
        server.client.update_project(server.project, {"model_version": "nobody's"})

    assert refusal.value.status == 400


def test_a_version_with_predictions_is_shown_at_once(server: Server) -> None:
    server.client.upload_predictions(server.project, queue(server.tasks, "v1"))

    server.client.update_project(server.project, {"model_version": "v1"})

    assert server.client.project(server.project).model_version == "v1"


def test_annotators_get_the_lowest_score_of_the_shown_version_first(server: Server) -> None:
    backwards = server.tasks[::-1]
    server.client.upload_predictions(server.project, queue(server.tasks, "v1"))
    server.client.upload_predictions(server.project, queue(backwards, "v2"))
    server.client.update_project(
        server.project, {"sampling": "Uncertainty sampling", "model_version": "v2"}
    )

    first = server.people.next_task()
    assert first is not None
    server.people.submit(first, "bars")
    second = server.people.next_task()

    assert [first, second] == backwards[:2]


def test_switching_prelabels_off_clears_the_version_unless_it_is_named(server: Server) -> None:
    server.client.upload_predictions(server.project, queue(server.tasks, "v1"))
    server.client.update_project(server.project, {"model_version": "v1"})

    server.client.update_project(
        server.project, {"show_collab_predictions": False, "model_version": "v1"}
    )
    named = server.client.project(server.project).model_version
    server.client.update_project(server.project, {"show_collab_predictions": False})
    unnamed = server.client.project(server.project).model_version

    assert (named, unnamed) == ("v1", "")


def test_deleting_a_version_leaves_the_others(server: Server) -> None:
    for version in ("v1", "v2"):
        server.client.upload_predictions(server.project, queue(server.tasks, version))
    server.client.update_project(server.project, {"model_version": "v2"})

    server.client.delete_version(server.project, "v1")

    assert server.client.prediction_counts(server.project) == {"v2": 4}
    assert server.client.project(server.project).model_version == "v2"


def test_deleting_the_shown_version_shows_none(server: Server) -> None:
    server.client.upload_predictions(server.project, queue(server.tasks, "v1"))
    server.client.update_project(server.project, {"model_version": "v1"})

    server.client.delete_version(server.project, "v1")

    assert server.client.project(server.project).model_version == ""


def test_a_webhook_can_be_created_changed_and_deleted(server: Server) -> None:
    fields = {"url": HOOK_URL, "send_payload": True, "send_for_all_actions": True}

    server.client.save_webhook(server.project, fields, None)
    (created,) = server.client.webhooks(server.project)
    narrowed = {
        "url": HOOK_URL,
        "send_for_all_actions": False,
        "actions": ["ANNOTATION_CREATED"],
        "headers": {"Authorization": "Basic abc"},
    }
    server.client.save_webhook(server.project, narrowed, created.id)
    (changed,) = server.client.webhooks(server.project)
    server.client.delete(f"/api/webhooks/{created.id}/")

    assert created.all_actions
    assert changed.id == created.id
    assert changed.actions == ("ANNOTATION_CREATED",)
    assert changed.headers == {"Authorization": "Basic abc"}
    assert not changed.all_actions
    assert server.client.webhooks(server.project) == []


def test_a_project_that_does_not_exist_is_refused_with_404(server: Server) -> None:
    with pytest.raises(LabelStudioError) as refusal:
        server.client.project(ProjectId(999_999))

    assert refusal.value.status == 404


def test_a_new_project_has_no_backends(server: Server) -> None:
    assert server.client.ml_backends(server.project) == []


def test_the_fake_stands_in_for_every_public_method() -> None:
    public = {name for name, value in vars(LabelStudio).items() if name[0] != "_"}

    missing = {name for name in public if name not in vars(FakeLabelStudio)}

    assert missing == {"owns"}  # needs no server
