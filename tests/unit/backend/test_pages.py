from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.support.builders import (
    PROJECT,
    Clock,
    connected,
    kind_of,
    look_at,
    make_connection,
    make_settings,
    publish_round,
)
from tests.support.fake_label_studio import FakeLabelStudio
from uherding_backend.server import create_app
from uherding_backend.store import Store
from uherding_backend.worker import Worker

PAGES = ["", "/stop", "/queue", "/map", "/rounds", "/settings"]


@pytest.fixture
def client(store: Store, clock: Clock) -> Iterator[TestClient]:
    with TestClient(create_app(make_settings(store.data_dir), store, clock)) as client:
        yield client


@pytest.fixture
def rounds(worker: Worker, studio: FakeLabelStudio) -> Worker:
    """A project with three published rounds, 24 labels and an audit slice."""
    connected(worker.store, options={"audit_fraction": 0.2})
    for count in (0, 12, 24):
        for task in range(max(1, count - 11), count + 1):
            studio.submit(task, kind_of(task))
        worker.store.rounds.request(PROJECT, "asked for", 1.0)
        while worker.step():
            pass
    return worker


def stopping_by(measured_on: str) -> dict[str, Any]:
    outlook = {"labels": 12, "more": 0, "expected": 0.8, "low": 0.7, "high": 0.9}
    return {
        "measured_on": measured_on,
        "forecasts": [{**outlook, "gain": 0.0, "gain_low": 0.0, "gain_high": 0.0}],
        "verdict": "go on",
        "reason": "",
    }


def publish_measured(
    store: Store, labels: int, held_out: float, stopping: dict[str, Any] | None = None
) -> None:
    """A published round with so many labels; its report's accuracy is another one."""
    round_ = publish_round(store, labels=dict.fromkeys(range(1, labels + 1), "disc"))
    point = {"value": held_out, "low": 0.1, "high": 0.9, "tested": labels, "labels": labels // 2}
    shown = {"name": "disc", "labels": labels, "expected_share": 1.0, "recognised": point}
    report = {**round_.report, "accuracy": 0.111}
    store.rounds.ranked(
        round_.id,
        version=round_.version,
        queue=[],
        labels={},
        report=report,
        insights={"measured": {"held_out": point}, "classes": [shown], "stopping": stopping},
    )


def api(client: TestClient, path: str) -> Any:  # noqa: ANN401 - JSON
    answer = client.get(f"/api/projects/1/{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize("page", PAGES)
def test_every_page_works_before_the_first_round(
    client: TestClient, store: Store, page: str
) -> None:
    store.projects.connect(make_connection())

    answer = client.get(f"/projects/1{page}")

    assert answer.status_code == 200
    assert "Project 1" in answer.text


@pytest.mark.parametrize("page", [*PAGES, "/rounds/1"])
def test_every_page_works_for_rounds_of_earlier_releases(
    client: TestClient, store: Store, page: str
) -> None:
    connected(store)
    publish_round(store)

    assert client.get(f"/projects/1{page}").status_code == 200


@pytest.mark.parametrize("page", [*PAGES, "/rounds/3"])
def test_pages_load_nothing_from_elsewhere_and_escape_what_people_wrote(
    client: TestClient, rounds: Worker, page: str
) -> None:
    look_at(rounds.store, title="<script>alert(1)</script>")

    text = client.get(f"/projects/1{page}").text

    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    studio = rounds.store.projects.get(PROJECT).link_url
    assert "http" not in text.replace(studio, "")


@pytest.mark.parametrize("path", ["/projects/77", "/projects/1/rounds/99", "/projects/77/map"])
def test_what_does_not_exist_is_not_found(client: TestClient, store: Store, path: str) -> None:
    connected(store)

    assert client.get(path).status_code == 404
    assert client.get(f"/api{path}").status_code == 404


def test_the_curve_has_every_measure_and_the_figures_of_each_round(
    client: TestClient, rounds: Worker
) -> None:
    curve = api(client, "curve")

    assert [one["labels"] for one in curve["rounds"]] == [0, 12, 24]
    audited = len(rounds.store.pool.audit_tasks(PROJECT) & set(range(1, 25)))
    assert curve["accuracy"]["held_out"][-1]["labels"] == (24 - audited) // 2
    assert curve["accuracy"]["audit"][-1]["tested"] == audited
    assert "pessimistic" in curve["measures"]["held_out"]
    by_class = api(client, "curve/classes")
    assert set(by_class) <= {"bars", "checks", "disc"}
    assert by_class["bars"][-1]["tested"] > 0


def test_of_rounds_without_new_labels_the_newest_is_drawn_and_all_are_listed(
    client: TestClient, store: Store
) -> None:
    connected(store)
    for labels, accuracy in ((12, 0.5), (24, 0.6), (24, 0.7), (18, 0.55)):
        publish_measured(store, labels, accuracy)

    curve = api(client, "curve")

    assert [one["labels"] for one in curve["rounds"]] == [12, 18, 24]
    assert [one["round"] for one in curve["accuracy"]["held_out"]] == [1, 4, 3]
    assert [one["round"] for one in api(client, "curve/classes")["disc"]] == [1, 4, 3]
    assert [one["round"] for one in api(client, "stopping")["points"]] == [1, 4, 3]
    assert len(api(client, "rounds")) == 4
    assert "60.0 %" in client.get("/projects/1/rounds").text


@pytest.mark.parametrize("path", ["/", "/projects/1", "/projects/1/rounds", "/projects/1/rounds/1"])
def test_every_page_shows_the_same_held_out_accuracy(
    client: TestClient, store: Store, path: str
) -> None:
    connected(store)
    publish_measured(store, 12, 0.765)

    page = client.get(path).text

    assert "76.5 %" in page
    assert "11.1 %" not in page


@pytest.mark.parametrize("path", ["/", "/projects/1/rounds", "/projects/1/rounds/1"])
def test_a_round_that_stored_no_other_accuracy_shows_that_of_its_report(
    client: TestClient, store: Store, path: str
) -> None:
    connected(store)
    round_ = publish_round(store)
    store.rounds.published(round_.id, {**round_.report, "accuracy": 0.111}, 1.0)

    assert "11.1 %" in client.get(path).text


def test_the_queue_says_why_and_leads_into_label_studio(
    client: TestClient, rounds: Worker, studio: FakeLabelStudio
) -> None:
    first = api(client, "queue")["tasks"][0]

    assert first["task"] == studio.queue()[0]
    assert first["why"]
    assert first["link"].endswith(f"/projects/1/data?task={first['task']}")
    picture = client.get(f"/{first['thumbnail']}")
    assert picture.headers["content-type"] == "image/jpeg"
    assert picture.content.startswith(b"\xff\xd8")
    page = client.get("/projects/1/queue").text
    assert f'href="{first["link"]}"' in page
    assert first["why"].split(";")[0] in page


def test_the_map_comes_compressed_and_whole(client: TestClient, rounds: Worker) -> None:
    answer = client.get("/api/projects/1/map")

    assert answer.headers["content-encoding"] == "gzip"
    assert len(answer.json()["task"]) == 30


def test_a_thumbnail_that_was_never_made_is_not_found(client: TestClient, rounds: Worker) -> None:
    assert client.get("/api/projects/1/thumbnails/4000").status_code == 404


def test_stopping_says_what_it_goes_by(client: TestClient, rounds: Worker) -> None:
    found = api(client, "stopping")

    assert found["verdict"] == "too early to say"
    assert "there are 2" in found["reason"]
    assert found["measured_on"] == "held_out"
    assert "Too early to say" in client.get("/projects/1/stop").text


@pytest.mark.parametrize(("measured_on", "explained"), [("held_out", True), ("audit", False)])
def test_points_that_end_at_half_of_the_labels_are_explained(
    client: TestClient, store: Store, measured_on: str, explained: bool
) -> None:
    connected(store)
    publish_measured(store, 12, 0.765, stopping_by(measured_on))

    page = client.get("/projects/1/stop").text

    assert ("The measured points end at half of the labels" in page) is explained


def test_the_audit_slice_is_shown_with_what_it_costs(client: TestClient, rounds: Worker) -> None:
    found = api(client, "audit")

    assert found["fraction"] == 0.2
    assert found["labels"] == found["accuracy"]["tested"]
    page = client.get("/projects/1/stop").text
    assert "What it costs" in page
    assert "20.0 %" in page


def test_a_round_is_shown_with_its_settings_seconds_and_warnings(
    client: TestClient, rounds: Worker
) -> None:
    page = client.get("/projects/1/rounds/1").text

    assert "There are no labels yet" in page
    assert "uherding" in page
    assert "switching" in page


def test_progress_tells_the_step_and_the_time_that_is_left(
    client: TestClient, rounds: Worker, clock: Clock
) -> None:
    store = rounds.store
    store.rounds.request(PROJECT, "asked for", clock.now)
    running = store.rounds.take(clock.now)
    assert running is not None
    store.rounds.progress(running.id, "selection", 0.0, clock.now)
    store.rounds.progress(running.id, "selection", 0.5, clock.now)
    clock.now += 10.0

    (found,) = client.get("/api/progress").json()

    assert found["state"] == "running a round"
    assert found["running"]["step"] == "selection"
    assert 10.0 <= found["running"]["seconds_left"] < 20.0
    assert 0.3 < found["running"]["progress"] < 0.6
    assert found["published"] == 3


def test_a_failure_is_explained_on_every_page(client: TestClient, rounds: Worker) -> None:
    store = rounds.store
    look_at(store)
    store.rounds.request(PROJECT, "asked for", 1.0)
    failing = store.rounds.take(1.0)
    assert failing is not None
    store.rounds.failed(failing.id, "The disk is full. Make room.", 2.0)

    for page in PAGES:
        assert "The disk is full. Make room." in client.get(f"/projects/1{page}").text


@pytest.mark.parametrize("path", ["/", "/projects/1/rounds", "/projects/1/rounds/1"])
def test_commands_in_sentences_are_shown_as_code(
    client: TestClient, store: Store, path: str
) -> None:
    connected(store)
    store.rounds.request(PROJECT, "asked for with `uherding round` by <b>Ada</b>", 1.0)

    page = client.get(path).text

    assert "asked for with <code>uherding round</code> by &lt;b&gt;Ada&lt;/b&gt;" in page
    assert "`" not in page


def test_scripts_and_styles_need_no_password(store: Store, clock: Clock) -> None:
    settings = make_settings(store.data_dir, basic_auth_user="a", basic_auth_pass="b")
    with TestClient(create_app(settings, store, clock)) as client:
        for name in ("dashboard.css", "dashboard.js", "charts.js", "map.js", "theme.js"):
            assert client.get(f"/static/{name}").status_code == 200
        plotly = client.get("/static/plotly.min.js")
        assert "plotly.js" in plotly.text[:200]
        assert client.get("/static/..%2f__init__.py").status_code == 404
        assert client.get("/static/nothing.js").status_code == 404


def test_what_a_page_shows_is_in_the_api_page(client: TestClient) -> None:
    described = client.get("/openapi.json").json()["paths"]

    for name in ("curve", "insights", "stopping", "audit", "queue", "map", "rounds", "settings"):
        assert f"/api/projects/{{project}}/{name}" in described


@pytest.mark.parametrize("path", ["/", "/api/projects", *(f"/projects/1{page}" for page in PAGES)])
def test_no_page_reads_all_labels_or_all_tasks(
    client: TestClient, rounds: Worker, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    for read in ("pool.PoolStore.annotations", "pool.PoolStore.items", "rounds.RoundStore.labels"):
        monkeypatch.delattr(f"uherding_backend.store.{read}")

    assert client.get(path).status_code == 200


def test_a_long_queue_is_shown_page_by_page(client: TestClient, store: Store) -> None:
    connected(store)
    publish_round(store, queue=range(1, 121))

    first, last = (client.get(f"/projects/1/queue?start={start}").text for start in (0, 100))

    assert "1 to 50 of 120" in first
    assert "?start=50" in first
    assert "101 to 120 of 120" in last
    assert "?start=150" not in last
    listed = api(client, "queue?start=10&count=2")
    assert [(one["rank"], one["task"]) for one in listed["tasks"]] == [(10, 11), (11, 12)]
