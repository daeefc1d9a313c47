from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.support.builders import PROJECT, Clock, connected, make_settings, publish_round
from uherding_backend.due import due
from uherding_backend.options import TITLES, Options
from uherding_backend.server import create_app
from uherding_backend.settings import Settings
from uherding_backend.store import Store

USER = "boss"
AUTH = (USER, "a good secret")
SETTINGS = "/api/projects/1/settings"


@pytest.fixture
def client(store: Store, clock: Clock) -> Iterator[TestClient]:
    """A server with a password, asked with it; a project is connected."""
    connected(store, options={"strategy": "margin"})
    settings = make_settings(store.data_dir, basic_auth_user=USER, basic_auth_pass=AUTH[1])
    with TestClient(create_app(settings, store, clock)) as client:
        client.auth = AUTH
        yield client


@pytest.fixture
def open_client(store: Store, clock: Clock) -> Iterator[TestClient]:
    """A server without a password."""
    connected(store)
    with TestClient(create_app(make_settings(store.data_dir), store, clock)) as client:
        yield client


def actions(client: TestClient) -> list[tuple[str, str]]:
    return [(one["who"], one["what"]) for one in client.get("/api/projects/1/actions").json()]


def in_force(client: TestClient) -> dict[str, Any]:
    found: dict[str, Any] = client.get(SETTINGS).json()["settings"]
    return found


def test_a_change_is_in_force_and_recorded_with_who_and_when(
    client: TestClient, store: Store, clock: Clock
) -> None:
    answer = client.patch(SETTINGS, json={"round_size": 9, "by": "Ada"})

    assert answer.status_code == 200
    assert in_force(client)["round_size"] == {"value": 9, "from": "dashboard"}
    options = Options.of(make_settings(store.data_dir), store.projects.get(PROJECT).options)
    assert options.round_size == 9
    assert actions(client) == [("Ada (boss)", "changed Round size from 6 to 9")]
    assert store.actions.latest(PROJECT)[0].at == clock.now
    assert store.rounds.latest(PROJECT) == []


@pytest.mark.parametrize(
    "change", [{"strategy": "random"}, {"prelabel": True}, {"audit_fraction": 0.2}]
)
def test_what_changes_the_queue_asks_for_a_round(
    client: TestClient, store: Store, change: dict[str, Any]
) -> None:
    client.patch(SETTINGS, json=change)

    (round_,) = store.rounds.latest(PROJECT)
    assert round_.reason == f"{TITLES[next(iter(change))]} changed"


def test_label_studio_saying_its_own_again_does_not_undo_a_choice(
    client: TestClient, store: Store
) -> None:
    client.patch(SETTINGS, json={"strategy": "random"})

    connected(store, options={"strategy": "margin", "queue_size": 7})

    assert in_force(client)["strategy"] == {"value": "random", "from": "dashboard"}
    assert store.projects.get(PROJECT).options["queue_size"] == 7


def test_a_choice_can_be_taken_back(client: TestClient) -> None:
    client.patch(SETTINGS, json={"strategy": "random"})
    client.patch(SETTINGS, json={"strategy": None})

    assert in_force(client)["strategy"] == {"value": "margin", "from": "Label Studio"}
    assert actions(client)[0][1] == "changed Strategy from random to margin"


@pytest.mark.parametrize(
    ("change", "explained"),
    [
        ({"round_size": 0}, "Round size must be a whole number of 1 or more, got 0."),
        ({"strategy": "magic"}, "Strategy must be one of"),
        ({"audit_fraction": 0.9}, "Audit fraction must be a number from 0 to 0.5, got 0.9."),
        ({"colour": "blue"}, "Extra inputs"),
        ({"prelabel": "perhaps"}, "prelabel"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_reason_and_changes_nothing(
    client: TestClient, change: dict[str, Any], explained: str
) -> None:
    before = in_force(client)

    answer = client.patch(SETTINGS, json=change)

    assert answer.status_code in (400, 422)
    assert explained in answer.json()["detail"]
    assert in_force(client) == before
    assert actions(client) == []


def test_each_value_says_where_it_comes_from(store: Store, clock: Clock) -> None:
    connected(store, options={"strategy": "margin"})
    settings = replace(Settings(), data_dir=store.data_dir, audit_fraction=0.1)
    with TestClient(create_app(settings, store, clock)) as client:
        sources = {name: one["from"] for name, one in in_force(client).items()}
        page = client.get("/projects/1/settings").text

    assert sources == {
        "round_size": "default",
        "strategy": "Label Studio",
        "prelabel": "default",
        "audit_fraction": "environment",
    }
    assert page.count("<small>default</small>") == 2
    assert page.count("<small>from the environment</small>") == 1


@pytest.mark.parametrize(("options", "said"), [({}, True), ({"queue_size": 40}, False)])
def test_the_round_size_tells_what_it_does_to_the_queue(
    store: Store, clock: Clock, options: dict[str, Any], said: bool
) -> None:
    connected(store, options=options)
    settings = replace(Settings(), data_dir=store.data_dir)
    with TestClient(create_app(settings, store, clock)) as client:
        page = client.get("/projects/1/settings").text

    assert ("The next queue has three times as many tasks." in page) is said


def test_the_same_choice_again_is_not_recorded_twice(client: TestClient) -> None:
    for _ in range(2):
        client.patch(SETTINGS, json={"round_size": 9})

    assert len(actions(client)) == 1


def test_a_paused_project_has_no_automatic_rounds_until_it_is_resumed(
    client: TestClient, store: Store
) -> None:
    options = Options.of(make_settings(store.data_dir), {})

    client.post("/api/projects/1/pause", json={"paused": True})
    paused = due(store, store.projects.get(PROJECT), options, 1000.0)
    state = client.get("/api/progress").json()[0]["state"]
    client.post("/api/projects/1/pause", json={"paused": False})
    resumed = due(store, store.projects.get(PROJECT), options, 1000.0)

    assert (paused, resumed) == (None, "first queue")
    assert state == "paused"
    assert [what for _, what in actions(client)] == [
        "resumed automatic rounds",
        "paused automatic rounds",
    ]


def test_a_round_that_is_asked_for_runs_although_the_project_is_paused(
    client: TestClient, store: Store
) -> None:
    client.post("/api/projects/1/pause", json={"paused": True})

    client.post("/api/projects/1/rounds", json={"by": "Ada"})

    assert store.rounds.take(1000.0) is not None
    assert actions(client)[0] == ("Ada (boss)", "asked for a round")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", SETTINGS, {"round_size": 9}),
        ("POST", "/api/projects/1/pause", {"paused": True}),
        ("POST", "/api/projects/1/rounds", None),
    ],
)
def test_without_a_password_nothing_can_be_changed(
    open_client: TestClient, store: Store, method: str, path: str, body: dict[str, Any] | None
) -> None:
    answer = open_client.request(method, path, json=body)

    assert answer.status_code == 403
    assert "BASIC_AUTH_USER" in answer.json()["detail"]
    assert store.projects.get(PROJECT).chosen == {}
    assert not store.projects.get(PROJECT).paused
    assert store.rounds.latest(PROJECT) == []
    assert store.actions.latest(PROJECT) == []


def test_label_studio_starts_training_without_a_password_of_ours(
    open_client: TestClient, store: Store
) -> None:
    answer = open_client.post("/webhook", json={"action": "START_TRAINING", "project": {"id": 1}})

    assert answer.status_code == 201
    (round_,) = store.rounds.latest(PROJECT)
    assert round_.reason == "asked for with Start Training"


def test_a_round_is_asked_for_once_and_can_be_watched(client: TestClient) -> None:
    first = client.post("/api/projects/1/rounds")
    second = client.post("/api/projects/1/rounds")
    rounds = client.get("/api/projects/1/rounds", params={"limit": 1})

    assert (first.status_code, first.json()) == (202, {"status": "requested"})
    assert second.json() == {"status": "already waiting"}
    assert [(r["state"], r["reason"]) for r in rounds.json()] == [
        ("due", "asked for through the API")
    ]
    assert actions(client) == [(USER, "asked for a round")]


@pytest.mark.parametrize("origin", ["http://evil.example", "http://testserver:81", "null"])
def test_pages_of_other_sites_cannot_change_anything(
    client: TestClient, store: Store, origin: str
) -> None:
    headers = {"Origin": origin}

    changed = client.patch(SETTINGS, json={"round_size": 9}, headers=headers)
    asked = client.post("/api/projects/1/rounds", headers=headers)
    trained = client.post("/webhook", json={"action": "START_TRAINING"}, headers=headers)

    assert {changed.status_code, asked.status_code, trained.status_code} == {403}
    assert store.rounds.latest(PROJECT) == []


def test_the_own_pages_can_also_behind_a_proxy(client: TestClient) -> None:
    own = client.patch(SETTINGS, json={"round_size": 9}, headers={"Origin": "http://testserver"})
    proxied = client.patch(
        SETTINGS,
        json={"round_size": 8},
        headers={"Origin": "https://al.example", "X-Forwarded-Host": "al.example"},
    )

    assert (own.status_code, proxied.status_code) == (200, 200)


def test_a_disconnected_project_is_not_changed(client: TestClient, store: Store) -> None:
    store.projects.disconnect(PROJECT)

    assert client.patch(SETTINGS, json={"round_size": 9}).status_code == 404


def test_buttons_are_there_with_a_password_and_explained_without(
    client: TestClient, open_client: TestClient, store: Store
) -> None:
    publish_round(store)

    with_password = client.get("/projects/1/settings").text
    without = open_client.get("/projects/1/settings").text

    assert "Nothing can be changed here yet" not in with_password
    assert "Nothing can be changed here yet" in without
    assert "disabled>Start a round now" in without
