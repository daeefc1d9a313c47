from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from tests.support.builders import (
    LABEL_STUDIO_URL,
    PROJECT,
    TOKEN,
    UID,
    Clock,
    annotation_payload,
    connected,
    data_uri,
    kind_of,
    look_at,
    make_settings,
    make_task,
    prepared,
    publish_round,
    setup_payload,
    webhook_payload,
)
from tests.support.fake_label_studio import FakeLabelStudio
from uherding_backend.protocol import NO_VERSION
from uherding_backend.server import create_app
from uherding_backend.store import Store
from uherding_backend.worker import Worker

USER, PASSWORD = "someone", "a good secret"


@pytest.fixture
def app(store: Store, clock: Clock) -> FastAPI:
    return create_app(make_settings(store.data_dir), store, clock)


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def guarded(store: Store, clock: Clock) -> Iterator[TestClient]:
    """A server with a password."""
    settings = make_settings(store.data_dir, basic_auth_user=USER, basic_auth_pass=PASSWORD)
    with TestClient(create_app(settings, store, clock)) as client:
        yield client


def test_health_needs_nothing(guarded: TestClient) -> None:
    assert guarded.get("/health").json() == {"status": "UP", "model_class": "UHerdingBackend"}


DATA = (
    *("rounds/1", "curve", "curve/classes", "insights", "stopping", "audit", "settings"),
    *("actions", "map", "thumbnails/1"),
)
PAGES = ("", "/stop", "/queue", "/map", "/rounds", "/rounds/1", "/settings")
ENDPOINTS = [
    ("GET", "/"),
    ("GET", "/docs"),
    ("GET", "/openapi.json"),
    ("GET", "/versions"),
    ("GET", "/api/projects"),
    ("GET", "/api/projects/1"),
    ("GET", "/api/projects/1/rounds"),
    ("POST", "/api/projects/1/rounds"),
    ("GET", "/api/projects/1/queue"),
    *(("GET", f"/api/projects/1/{page}") for page in DATA),
    *(("GET", f"/projects/1{page}") for page in PAGES),
    ("GET", "/api/progress"),
    ("POST", "/api/projects/1/pause"),
    ("PATCH", "/api/projects/1/settings"),
    ("POST", "/setup"),
    ("POST", "/predict"),
    ("POST", "/webhook"),
    ("POST", "/train"),
    ("POST", "/validate"),
    ("POST", "/job_status"),
    ("POST", "/delete"),
    ("POST", "/duplicate_model"),
]


@pytest.mark.parametrize(("method", "path"), ENDPOINTS)
def test_everything_else_asks_for_the_password(
    guarded: TestClient, store: Store, method: str, path: str
) -> None:
    connected(store)
    body = {**setup_payload(), **webhook_payload("START_TRAINING"), "tasks": [], "project": UID}

    without = guarded.request(method, path, json=body if method == "POST" else None)
    wrong = guarded.request(method, path, auth=(USER, "wrong"))
    other = guarded.request(method, path, auth=("other", PASSWORD))
    right = guarded.request(
        method, path, json=body if method == "POST" else None, auth=(USER, PASSWORD)
    )

    assert (without.status_code, wrong.status_code, other.status_code) == (401, 401, 401)
    assert "Basic" in without.headers["WWW-Authenticate"]
    assert right.status_code not in (401, 403)
    assert right.status_code < 500


def test_every_endpoint_is_in_the_list_above(app: FastAPI) -> None:
    listed = {path for _, path in ENDPOINTS} | {"/health"}

    described = {re.sub(r"{\w+}", "1", path) for path in app.openapi()["paths"]}

    assert described <= listed


def test_setup_connects_the_project_and_answers_with_the_version(
    client: TestClient, store: Store
) -> None:
    answer = client.post("/setup", json=setup_payload(extra_params={"round_size": 9}))

    assert answer.json() == {"model_version": NO_VERSION}
    project = store.projects.get(PROJECT)
    assert project.label_studio_url == LABEL_STUDIO_URL
    assert project.token == TOKEN
    assert project.backend_url == "http://testserver"
    assert project.options == {"round_size": 9}


def test_setup_with_the_same_uid_again_changes_nothing(client: TestClient, store: Store) -> None:
    client.post("/setup", json=setup_payload())
    prepared(store)
    before = store.projects.get(PROJECT)

    client.post("/setup", json=setup_payload())

    assert store.projects.get(PROJECT) == before


def test_setup_tells_the_version_of_the_published_queue(client: TestClient, store: Store) -> None:
    connected(store)
    published = publish_round(store)

    assert client.post("/setup", json=setup_payload()).json() == {
        "model_version": published.version
    }
    assert client.get("/versions", params={"project": UID}).json() == {
        "versions": [published.version]
    }


def test_the_settings_address_and_token_come_before_those_of_setup(
    store: Store, clock: Clock
) -> None:
    settings = make_settings(
        store.data_dir, label_studio_url="http://127.0.0.1:2", label_studio_api_key="key"
    )

    with TestClient(create_app(settings, store, clock)) as client:
        client.post("/setup", json=setup_payload())

    project = store.projects.get(PROJECT)
    assert project.label_studio_url == "http://127.0.0.1:2"
    assert project.link_url == LABEL_STUDIO_URL  # people's browsers need the outer address
    assert project.token == ""


def test_a_link_that_would_run_a_script_is_refused_even_if_the_settings_have_the_address(
    store: Store, clock: Clock
) -> None:
    settings = make_settings(store.data_dir, label_studio_url="http://127.0.0.1:2")

    with TestClient(create_app(settings, store, clock)) as client:
        answer = client.post("/setup", json=setup_payload(hostname="javascript:alert(1)"))

    assert answer.status_code == 400
    assert store.projects.all() == []


@pytest.mark.parametrize(
    ("parts", "status", "words"),
    [
        ({"schema": "<View/>"}, 400, "no <Choices> on an <Image>"),
        ({"schema": ""}, 400, "not readable XML"),
        ({"extra_params": {"round_size": 0}}, 400, "round_size must be a whole number"),
        ({"extra_params": {"colour": "blue"}}, 400, "extra_params has 'colour'"),
        ({"uid": "nonsense"}, 404, "'nonsense' is not a Label Studio project id"),
        ({"hostname": "javascript:alert(1)"}, 400, "must start with http:// or https://"),
    ],
)
def test_setup_refuses_what_cannot_work_and_says_why(
    client: TestClient, store: Store, parts: dict[str, Any], status: int, words: str
) -> None:
    answer = client.post("/setup", json=setup_payload(**parts))

    assert answer.status_code == status
    assert words in answer.json()["detail"]
    assert store.projects.all() == []


def test_a_project_of_the_same_number_from_another_server_is_refused(
    client: TestClient, store: Store
) -> None:
    client.post("/setup", json=setup_payload("1.111"))

    answer = client.post("/setup", json=setup_payload("1.222"))

    assert answer.status_code == 400
    assert "uherding disconnect 1" in answer.json()["detail"]
    assert store.projects.get(PROJECT).uid == "1.111"


def test_after_a_disconnect_another_server_may_take_the_number(
    client: TestClient, store: Store
) -> None:
    client.post("/setup", json=setup_payload("1.111"))
    store.projects.disconnect(PROJECT)

    assert client.post("/setup", json=setup_payload("1.222")).status_code == 200


def test_a_label_is_written_down_and_nothing_is_computed(
    client: TestClient, store: Store, clock: Clock
) -> None:
    connected(store)
    clock.now = 1234.0

    answer = client.post(
        "/webhook",
        json=webhook_payload("ANNOTATION_CREATED", annotation=annotation_payload(5, task=9)),
    )

    assert (answer.status_code, answer.json()) == (201, {"status": "recorded"})
    (annotation,) = store.pool.annotations(PROJECT)
    assert (annotation.id, annotation.task, annotation.answer) == (5, 9, "bars")
    assert store.projects.get(PROJECT).heard_at == 1234.0
    assert store.rounds.latest(PROJECT) == []


def test_the_same_event_twice_is_the_same_as_once(client: TestClient, store: Store) -> None:
    connected(store)
    event = webhook_payload("ANNOTATION_CREATED", annotation=annotation_payload(5, task=9))

    client.post("/webhook", json=event)
    client.post("/webhook", json=event)

    assert len(store.pool.annotations(PROJECT)) == 1


def test_a_deleted_annotation_is_forgotten(client: TestClient, store: Store) -> None:
    connected(store)
    saved = webhook_payload("ANNOTATION_CREATED", annotation=annotation_payload(5, task=9))
    client.post("/webhook", json=saved)

    client.post("/webhook", json=webhook_payload("ANNOTATIONS_DELETED", annotations=[{"id": 5}]))

    assert store.pool.annotations(PROJECT) == []


def test_changed_tasks_only_ask_for_a_look(client: TestClient, store: Store) -> None:
    connected(store)
    look_at(store)

    client.post("/webhook", json=webhook_payload("TASKS_CREATED", tasks=[]))

    assert store.projects.get(PROJECT).look


@pytest.mark.parametrize(
    ("path", "body"),
    [("/webhook", webhook_payload("START_TRAINING")), ("/train", {"project": UID})],
)
def test_start_training_asks_for_one_round_however_often_it_comes(
    client: TestClient, store: Store, path: str, body: dict[str, Any]
) -> None:
    connected(store)

    client.post(path, json=body)
    client.post(path, json=body)

    assert [r.reason for r in store.rounds.latest(PROJECT)] == ["asked for with Start Training"]


def test_events_of_unknown_projects_are_ignored(client: TestClient, store: Store) -> None:
    answer = client.post("/webhook", json=webhook_payload("START_TRAINING", project=77))

    assert answer.json() == {"status": "ignored"}
    assert store.projects.all() == []


MALFORMED = [
    b"",
    b"{",
    b"[]",
    b"null",
    b"7",
    b'"text"',
    b"\xff\xfe",
    b"{}",
    b'{"project": null}',
    b'{"project": {}, "tasks": 7}',
    b'{"project": "1.1794785425", "tasks": [7]}',
    b'{"project": "1.1794785425", "tasks": [{}], "schema": 7}',
    b'{"project": "1.1794785425", "tasks": [{"id": "x", "data": 7}]}',
    b'{"project": "1.1794785425", "tasks": [{"id": [1], "data": {"image": 7}}]}',
    b'{"project": "1.1794785425", "tasks": [{"id": 1e999, "data": {"image": "http://[x"}}]}',
    b'{"project": "1.1794785425", "tasks": [], "schema": "\\ud800"}',
    b'{"project": "1.\\ud800", "tasks": [], "schema": "<View/>"}',
    b'{"project": 1, "action": "ANNOTATION_CREATED", "annotation": {"id": 1, "task": 1e30}}',
    b'{"project": 1, "action": "ANNOTATION_CREATED", "annotation": {"id": 9223372036854775808,'
    b' "task": 1}}',
    b'{"project": 1, "action": "ANNOTATION_CREATED", "annotation": {"id": 1, "task": 1,'
    b' "result": "x"}}',
    b'{"project": 1, "action": "ANNOTATION_CREATED", "annotation": {"id": 1, "task": 1,'
    b' "updated_at": "\\ud800"}}',
    b'{"project": 1, "action": "ANNOTATION_CREATED", "annotation": {"id": 1, "task": 1,'
    b' "result": [{"from_name": "kind", "type": "choices", "value": {"choices": ["\\ud800"]}}]}}',
    b'{"project": 1, "action": "ANNOTATIONS_DELETED", "annotations": [{"id": 1e400}, 5]}',
    b'{"project": "\\ud800", "action": "START_TRAINING"}',
]


@pytest.mark.parametrize("path", ["/setup", "/predict", "/webhook", "/train", "/validate"])
def test_a_malformed_body_is_never_a_fault_of_the_server(
    client: TestClient, worker_has_published: Worker, path: str
) -> None:
    headers = {"Content-Type": "application/json"}

    answers = [client.post(path, content=body, headers=headers) for body in MALFORMED]

    faults = [b for a, b in zip(answers, MALFORMED, strict=True) if a.status_code >= 500]
    assert faults == []


def test_a_refused_body_is_not_repeated_since_it_may_hold_a_token(client: TestClient) -> None:
    answer = client.post("/setup", json={"access_token": TOKEN, "project": 7})

    assert answer.status_code == 422
    assert "body.project: Input should be a valid string" in answer.json()["detail"]
    assert TOKEN not in answer.text


@pytest.mark.parametrize("number", ["x", "-1", "99999999999999999999999999"])
@pytest.mark.parametrize("tail", ["", "/rounds", "/queue"])
def test_a_project_number_that_cannot_be_is_not_found(
    client: TestClient, number: str, tail: str
) -> None:
    answer = client.get(f"/api/projects/{number}{tail}")

    assert answer.status_code in (400, 404, 422)


@pytest.fixture
def worker_has_published(worker: Worker, studio: FakeLabelStudio, clock: Clock) -> Worker:
    """A project with a classifier: a round with the labels of 12 tasks is published."""
    connected(worker.store, uid=UID)
    for task in range(1, 13):
        studio.submit(task, kind_of(task))
    worker.step()
    return worker


def test_before_the_first_round_a_prediction_is_empty_and_comes_last(
    client: TestClient, store: Store
) -> None:
    connected(store)

    answer = client.post("/predict", json={"tasks": [make_task(1)], "project": UID})

    assert answer.json() == {
        "results": [{"result": [], "score": 1.0, "model_version": NO_VERSION}],
        "model_version": NO_VERSION,
    }


def test_a_known_task_gets_its_class_and_the_score_of_its_rank(
    client: TestClient, worker_has_published: Worker
) -> None:
    published = worker_has_published.store.rounds.latest(PROJECT)[0]
    first = worker_has_published.store.rounds.queue(published.id)[0]

    answer = client.post("/predict", json={"tasks": [make_task(first.task)], "project": UID})

    (found,) = answer.json()["results"]
    assert answer.json()["model_version"] == published.version
    assert found["model_version"] == published.version
    assert found["score"] == 1 / 19
    assert found["result"][0]["value"]["choices"] == [first.predicted]
    assert found["result"][0]["score"] == pytest.approx(first.probability, abs=1e-4)


def test_a_task_that_is_new_since_the_round_is_predicted_from_its_image(
    client: TestClient, worker_has_published: Worker
) -> None:
    known = {"id": 1, "data": {}}
    as_new = {**make_task(1), "id": 4000}

    answer = client.post("/predict", json={"tasks": [known, as_new], "project": UID})

    stored, computed = answer.json()["results"]
    assert computed["result"][0]["value"] == stored["result"][0]["value"]
    assert computed["result"][0]["score"] == pytest.approx(stored["result"][0]["score"], abs=2e-4)
    assert computed["score"] == 1.0


def test_a_new_task_whose_image_cannot_be_read_gets_an_empty_prediction(
    client: TestClient, worker_has_published: Worker
) -> None:
    tasks = [make_task(4001, data_uri(b"no picture")), make_task(1), make_task(4002, "")]

    answer = client.post("/predict", json={"tasks": tasks, "project": UID})

    results = [found["result"] for found in answer.json()["results"]]
    assert results[0] == results[2] == []
    assert results[1] != []


def test_predictions_follow_the_newest_round(
    client: TestClient, worker_has_published: Worker, clock: Clock
) -> None:
    body = {"tasks": [make_task(1)], "project": UID}
    before = client.post("/predict", json=body).json()["model_version"]
    worker_has_published.store.rounds.request(PROJECT, "asked for", clock())
    worker_has_published.step()

    after = client.post("/predict", json=body).json()["model_version"]

    assert before != after
    assert after == worker_has_published.store.rounds.latest(PROJECT)[0].version


def test_label_studio_being_down_is_told_as_such(
    client: TestClient, worker_has_published: Worker
) -> None:
    unseen = make_task(4000, "/data/upload/1/a.png")

    answer = client.post("/predict", json={"tasks": [unseen], "project": UID})

    assert answer.status_code == 502
    assert "Check that it runs" in answer.json()["detail"]


def test_predictions_for_a_project_that_is_not_connected_are_refused(client: TestClient) -> None:
    answer = client.post("/predict", json={"tasks": [], "project": "77.1"})

    assert answer.status_code == 404
    assert "uherding connect 77" in answer.json()["detail"]


def test_the_published_queue_is_listed_best_first(client: TestClient, store: Store) -> None:
    connected(store)
    empty = client.get("/api/projects/1/queue").json()
    published = publish_round(store, queue=(5, 3))

    full = client.get("/api/projects/1/queue").json()

    assert (empty["version"], empty["tasks"]) == ("", [])
    assert full["version"] == published.version
    assert [(entry["rank"], entry["task"]) for entry in full["tasks"]] == [(0, 5), (1, 3)]


@pytest.mark.parametrize("path", ["", "/rounds", "/queue"])
def test_a_project_that_is_not_connected_is_not_found(client: TestClient, path: str) -> None:
    assert client.get(f"/api/projects/77{path}").status_code == 404


def test_no_answer_holds_a_token(client: TestClient, store: Store) -> None:
    client.post("/setup", json=setup_payload())
    publish_needs_preparation(store)
    paths = ["/", "/versions", "/openapi.json", "/api/projects", "/api/projects/1"]

    answers = [client.get(path) for path in [*paths, "/api/projects/1/rounds"]]

    assert all(answer.status_code == 200 for answer in answers)
    assert all(TOKEN not in answer.text for answer in answers)


def publish_needs_preparation(store: Store) -> None:
    prepared(store)
    publish_round(store)


def test_the_page_shows_projects_and_escapes_what_people_wrote(
    client: TestClient, store: Store
) -> None:
    connected(store)
    publish_round(store)
    look_at(store, title="<script>alert(1)</script>")
    store.projects.trouble(PROJECT, "<b>broken</b>")

    page = client.get("/").text

    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>" not in page
    assert "&lt;b&gt;broken&lt;/b&gt;" in page


def test_the_page_shows_what_runs_and_what_failed(
    client: TestClient, store: Store, clock: Clock
) -> None:
    connected(store)
    store.rounds.request(PROJECT, "asked for", 990.0)
    failing = store.rounds.take(990.0)
    assert failing is not None
    store.rounds.failed(failing.id, "the disk is full", 990.0)
    store.rounds.request(PROJECT, "asked for", 995.0)
    running = store.rounds.take(995.0)
    assert running is not None
    store.rounds.progress(running.id, "features", 0.25, 1000.0)

    page = client.get("/").text

    assert "the disk is full" in page
    assert "Round 2: features" in page
    assert re.search(r'<progress max="1" value="0\.\d+"', page)
    assert "5 s ago" in page


def test_an_empty_page_says_how_to_connect_a_project(client: TestClient) -> None:
    assert "No project is connected yet" in client.get("/").text


def test_the_api_page_loads_nothing_from_elsewhere(client: TestClient) -> None:
    page = client.get("/docs").text

    assert "swagger/swagger-ui-bundle.js" in page
    assert "http" not in page.replace("http-equiv", "")
    assert client.get("/swagger/swagger-ui-bundle.js").status_code == 200
    assert json.loads(client.get("/openapi.json").text)["openapi"] == "3.0.3"
