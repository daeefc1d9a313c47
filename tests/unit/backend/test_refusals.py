from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from tests.support.builders import Clock, connected, make_settings
from uherding_backend.server import create_app
from uherding_backend.store import Store

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
PASSWORD = "a good secret"


@pytest.fixture
def client(store: Store, clock: Clock) -> Iterator[TestClient]:
    connected(store)
    with TestClient(create_app(make_settings(store.data_dir), store, clock)) as client:
        yield client


@pytest.fixture
def guarded(store: Store, clock: Clock) -> Iterator[TestClient]:
    settings = make_settings(store.data_dir, basic_auth_user="ada", basic_auth_pass=PASSWORD)
    with TestClient(create_app(settings, store, clock)) as client:
        yield client


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/projects/99", 404, "Project 99 is not connected."),
        ("/projects/1/rounds/7", 404, "Project 1 has no round 7."),
        ("/nowhere", 404, "There is no page at this address."),
        ("/projects/x", 422, "path.project"),
        ("/projects/99999999999999999999999", 400, "cannot be stored"),
    ],
)
def test_browsers_get_a_page_that_says_what_happened_and_leads_back(
    client: TestClient, path: str, status: int, said: str
) -> None:
    answer = client.get(path, headers=BROWSER)

    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("text/html")
    assert said in answer.text
    assert '<a href="/">Back to the projects</a>' in answer.text


def test_links_lead_to_where_the_backend_lives(store: Store, clock: Clock) -> None:
    app = create_app(make_settings(store.data_dir), store, clock)
    with TestClient(app, root_path="/herding") as client:
        page = client.get("/herding/projects/99", headers=BROWSER)
        data = client.get("/herding/api/projects/99", headers=BROWSER)

    assert '<a href="/herding/">Back' in page.text
    assert "not connected" in data.json()["detail"]


@pytest.mark.parametrize("path", ["/", "/projects/1", "/docs"])
def test_a_wrong_password_is_explained_and_asked_for_again(guarded: TestClient, path: str) -> None:
    answer = guarded.get(path, headers=BROWSER, auth=("ada", "wrong"))

    assert answer.status_code == 401
    assert "Basic" in answer.headers["WWW-Authenticate"]
    assert "User or password are wrong or missing" in answer.text
    assert "<code>BASIC_AUTH_PASS</code>" in answer.text
    assert "dashboard.js" not in answer.text


@pytest.mark.parametrize("path", ["/api/projects/99", "/api/nowhere", "/swagger/nothing.js"])
def test_what_programs_ask_for_stays_json_in_a_browser(client: TestClient, path: str) -> None:
    answer = client.get(path, headers=BROWSER)

    assert answer.status_code == 404
    assert answer.json()["detail"]


@pytest.mark.parametrize("path", ["/projects/99", "/projects/1/rounds/7", "/nowhere"])
def test_programs_get_json_from_pages_too(client: TestClient, path: str) -> None:
    assert client.get(path).json()["detail"]


def test_label_studio_gets_json_whatever_it_accepts(guarded: TestClient) -> None:
    for method, path in (("GET", "/versions"), ("POST", "/setup"), ("POST", "/webhook")):
        answer = guarded.request(method, path, headers=BROWSER)

        assert answer.status_code == 401
        assert "BASIC_AUTH_USER" in answer.json()["detail"]
        assert "Basic" in answer.headers["WWW-Authenticate"]
