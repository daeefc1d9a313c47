from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.builders import PROJECT, TOKEN, annotation_payload, connected, make_settings
from tests.unit.backend.conftest import Answer, Request, Website
from uherding_backend import labelstudio
from uherding_backend.errors import LabelStudioError, LabelStudioUnreachableError
from uherding_backend.labelstudio import LabelStudio, connect_with
from uherding_backend.store import Store

PERSONAL_TOKEN = "head.body.signature"


def says_json(site: Website, path: str, body: Any, status: int = 200) -> None:  # noqa: ANN401
    site.says(path, json.dumps(body).encode(), status)


def test_a_legacy_token_is_sent_as_it_is(website: Website) -> None:
    says_json(website, "/api/projects/1", {"title": "Shapes"})

    state = LabelStudio(website.url, TOKEN).project(PROJECT)

    assert state.title == "Shapes"
    assert website.asked[0].headers["Authorization"] == f"Token {TOKEN}"


def test_a_personal_token_is_traded_for_an_access_token_that_is_used_again(
    website: Website,
) -> None:
    says_json(website, "/api/token/refresh", {"access": "abc"})
    says_json(website, "/api/projects/1", {})
    studio = LabelStudio(website.url, PERSONAL_TOKEN)

    studio.project(PROJECT)
    studio.project(PROJECT)

    asked = [(request.method, request.path) for request in website.asked]
    assert asked == [
        ("POST", "/api/token/refresh"),
        ("GET", "/api/projects/1"),
        ("GET", "/api/projects/1"),
    ]
    assert json.loads(website.asked[0].body) == {"refresh": PERSONAL_TOKEN}
    assert website.asked[2].headers["Authorization"] == "Bearer abc"


def test_an_access_token_is_renewed_before_it_expires(
    website: Website, monkeypatch: pytest.MonkeyPatch
) -> None:
    says_json(website, "/api/token/refresh", {"access": "abc"})
    says_json(website, "/api/projects/1", {})
    studio = LabelStudio(website.url, PERSONAL_TOKEN)
    now = 1000.0
    monkeypatch.setattr("uherding_backend.labelstudio.time.monotonic", lambda: now)

    studio.project(PROJECT)
    now += 299.0
    studio.project(PROJECT)

    refreshed = [request for request in website.asked if request.path == "/api/token/refresh"]
    assert len(refreshed) == 2


def test_a_personal_token_that_is_refused_says_what_to_do(website: Website) -> None:
    says_json(website, "/api/token/refresh", {"detail": "Token is blacklisted"}, 401)

    with pytest.raises(LabelStudioError, match="Token is blacklisted") as refusal:
        LabelStudio(website.url, PERSONAL_TOKEN).project(PROJECT)

    assert "LABEL_STUDIO_API_KEY" in str(refusal.value)


@pytest.mark.parametrize("address", ["http://elsewhere.example/a", "//elsewhere.example/a"])
def test_the_token_never_goes_to_another_server(website: Website, address: str) -> None:
    studio = LabelStudio(website.url, TOKEN)

    with pytest.raises(LabelStudioError, match="the token stays at home"):
        studio.get(address)

    assert not studio.owns(address)


def test_another_port_or_scheme_is_another_server() -> None:
    studio = LabelStudio("http://127.0.0.1:8080", TOKEN)

    assert studio.owns("http://127.0.0.1:8080/data/a.png")
    assert studio.owns("/data/a.png")
    assert not studio.owns("http://127.0.0.1:8081/data/a.png")
    assert not studio.owns("https://127.0.0.1:8080/data/a.png")
    assert not studio.owns("http://127.0.0.1:8080@evil.example/a.png")


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (401, b'{"detail": "Invalid token."}', r"Invalid token\.\. Give a valid LABEL_STUDIO_API"),
        (404, b'{"detail": "Not found."}', "another organisation than the token"),
        (400, b'{"validation_errors": {"model_version": ["no"]}}', "'model_version': \\['no'\\]"),
        (500, b"<html>oh</html>", "Internal Server Error"),
        (400, b"[1, 2]", "refused GET"),
    ],
)
def test_a_refusal_is_a_sentence_with_the_servers_reason_and_what_to_do(
    website: Website, status: int, body: bytes, words: str
) -> None:
    website.says("/api/projects/1", body, status)

    with pytest.raises(LabelStudioError, match=words) as refusal:
        LabelStudio(website.url, TOKEN).project(PROJECT)

    assert refusal.value.status == status
    assert TOKEN not in str(refusal.value)


def test_a_server_that_does_not_answer_is_unreachable() -> None:
    with pytest.raises(LabelStudioUnreachableError, match="Check that it runs"):
        LabelStudio("http://127.0.0.1:1", TOKEN).project(PROJECT)


def test_a_server_that_does_not_answer_a_personal_token_is_unreachable() -> None:
    with pytest.raises(LabelStudioUnreachableError):
        LabelStudio("http://127.0.0.1:1", PERSONAL_TOKEN).project(PROJECT)


def test_something_else_at_the_address_is_named_as_the_likely_mistake(website: Website) -> None:
    website.says("/api/projects/1", b"<html>hello</html>")

    with pytest.raises(LabelStudioError, match="Is LABEL_STUDIO_URL right"):
        LabelStudio(website.url, TOKEN).project(PROJECT)


def test_an_upload_is_sent_once_even_if_the_answer_is_bad(website: Website) -> None:
    path = "/api/projects/1/import/predictions"
    website.says(path, b"", 503)

    with pytest.raises(LabelStudioError):
        LabelStudio(website.url, TOKEN).upload_predictions(PROJECT, [{"task": 1}])

    assert [request.path for request in website.asked] == [path]


def test_reading_is_tried_again_when_the_server_is_busy(website: Website) -> None:
    def busy_once(_: Request) -> Answer:
        return (503, {}, b"") if len(website.asked) == 1 else (200, {}, b'{"title": "Shapes"}')

    website.answers["/api/projects/1"] = busy_once

    assert LabelStudio(website.url, TOKEN).project(PROJECT).title == "Shapes"


def test_missing_fields_of_a_project_have_defaults(website: Website) -> None:
    says_json(website, "/api/projects/1", {"model_version": None, "skipped_annotations_number": 2})

    state = LabelStudio(website.url, TOKEN).project(PROJECT)

    assert state.model_version == ""
    assert state.maximum_annotations == 1
    assert state.annotation_count == 2


def test_tasks_are_read_page_by_page(website: Website, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labelstudio, "TASKS_PER_PAGE", 2)

    def page(request: Request) -> Answer:
        number = int(request.path.partition("&page=")[2].partition("&")[0])
        tasks = [{"id": n, "data": {"image": f"{n}.png"}} for n in (2 * number - 1, 2 * number)]
        body = {"tasks": tasks[: 5 - 2 * (number - 1)], "total": 5}
        return 200, {}, json.dumps(body).encode()

    website.answers["/api/tasks"] = page

    images = LabelStudio(website.url, TOKEN).images(PROJECT, "image")

    assert images == {n: f"{n}.png" for n in range(1, 6)}
    assert len(website.asked) == 3


def test_reading_tasks_ends_when_a_page_is_empty_whatever_the_total_says(
    website: Website,
) -> None:
    says_json(website, "/api/tasks", {"tasks": [], "total": 5})

    assert LabelStudio(website.url, TOKEN).images(PROJECT, "image") == {}


def test_a_task_whose_data_is_no_address_has_an_empty_one(website: Website) -> None:
    tasks = [{"id": 1, "data": {"image": 7}}, {"id": 2, "data": None}]
    says_json(website, "/api/tasks", {"tasks": tasks, "total": 2})

    assert LabelStudio(website.url, TOKEN).images(PROJECT, "image") == {1: "", 2: ""}


def test_annotations_carry_the_task_they_were_exported_under(website: Website) -> None:
    annotation = annotation_payload(5, answer="disc")
    del annotation["task"]
    tasks = [{"id": 9, "annotations": [annotation]}, {"id": 10, "annotations": None}]
    says_json(website, "/api/projects/1/export", tasks)

    (found,) = LabelStudio(website.url, TOKEN).annotations(PROJECT, "kind")

    assert (found.id, found.task, found.answer) == (5, 9, "disc")


def test_changes_are_sent_as_label_studio_wants_them(website: Website) -> None:
    for path in ("/api/projects/1", "/api/webhooks/", "/api/webhooks/3/", "/api/ml", "/api/ml/4"):
        says_json(website, path, {})
    website.says("/api/projects/1/model-versions/", b"", 204)
    studio = LabelStudio(website.url, TOKEN)

    studio.update_project(PROJECT, {"model_version": "v"})
    studio.save_webhook(PROJECT, {"url": "u"}, None)
    studio.save_webhook(PROJECT, {"url": "u"}, 3)
    studio.save_ml_backend(PROJECT, {"url": "u"}, None)
    studio.save_ml_backend(PROJECT, {"url": "u"}, 4)
    studio.delete_version(PROJECT, "v")
    studio.delete("/api/ml/4")

    sent = [(r.method, r.path, json.loads(r.body or b"null")) for r in website.asked]
    assert sent == [
        ("PATCH", "/api/projects/1", {"model_version": "v"}),
        ("POST", "/api/webhooks/", {"project": 1, "url": "u"}),
        ("PATCH", "/api/webhooks/3/", {"url": "u"}),
        ("POST", "/api/ml", {"project": 1, "url": "u"}),
        ("PATCH", "/api/ml/4", {"project": 1, "url": "u"}),
        ("DELETE", "/api/projects/1/model-versions/", {"model_version": "v"}),
        ("DELETE", "/api/ml/4", None),
    ]


def test_webhooks_of_other_projects_are_left_out(website: Website) -> None:
    hooks = [
        {"id": 1, "url": "a", "project": 1, "actions": ["X"], "send_for_all_actions": False},
        {"id": 2, "url": "b", "project": 2},
        {"id": 3, "url": "c", "project": None},
    ]
    says_json(website, "/api/webhooks/", hooks)

    found = LabelStudio(website.url, TOKEN).webhooks(PROJECT)

    assert [hook.id for hook in found] == [1]


def test_backends_and_counts_are_read(website: Website) -> None:
    says_json(website, "/api/ml", [{"id": 1, "url": "u"}])
    says_json(website, "/api/projects/1/model-versions/", {"v1": 3, "v2": 4})
    studio = LabelStudio(website.url, TOKEN)

    assert studio.ml_backends(PROJECT) == [{"id": 1, "url": "u"}]
    assert studio.prediction_counts(PROJECT) == {"v1": 3, "v2": 4}


def test_an_upload_returns_how_many_were_kept(website: Website) -> None:
    says_json(website, "/api/projects/1/import/predictions", {"created": 2}, 201)

    kept = LabelStudio(website.url, TOKEN).upload_predictions(PROJECT, [{"task": 1}, {"task": 2}])

    assert kept == 2


def test_the_settings_token_goes_to_the_settings_address_only(
    store: Store, new_website: Callable[[], Website]
) -> None:
    ours, theirs = new_website(), new_website()
    says_json(ours, "/api/projects/1", {})
    settings = make_settings(
        store.data_dir, label_studio_url=ours.url, label_studio_api_key="settings-key"
    )
    project = connected(store)
    store.database.write("UPDATE projects SET label_studio_url = ?", theirs.url)

    connect_with(settings)(project).project(PROJECT)

    assert ours.asked[0].headers["Authorization"] == "Token settings-key"
    assert theirs.asked == []


def test_without_a_settings_token_the_projects_own_is_used_and_the_client_is_kept(
    store: Store,
) -> None:
    connect = connect_with(make_settings(store.data_dir))
    project = connected(store)

    first, second = connect(project), connect(project)

    assert first is second
    assert first.url == project.label_studio_url


def test_a_label_studio_below_a_path_is_asked_below_that_path(website: Website) -> None:
    says_json(website, "/studio/api/projects/1", {"title": "Shapes"})
    says_json(website, "/studio/data/a.png", {})
    studio = LabelStudio(f"{website.url}/studio", TOKEN)

    state = studio.project(PROJECT)
    studio.get("/studio/data/a.png").close()

    assert state.title == "Shapes"
    assert website.asked[1].path == "/studio/data/a.png"


def test_a_netrc_entry_does_not_take_the_tokens_place(
    website: Website, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    says_json(website, "/api/projects/1", {})
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password else\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))

    LabelStudio(website.url, TOKEN).project(PROJECT)

    assert website.asked[0].headers["Authorization"] == f"Token {TOKEN}"


def test_the_token_does_not_go_to_a_neighbour_below_another_path() -> None:
    studio = LabelStudio("https://host.example/studio", TOKEN)

    assert studio.owns("https://host.example/studio/data/a.png")
    assert studio.owns("/data/a.png")
    assert not studio.owns("https://host.example/other/a.png")


def test_a_redirected_write_is_refused_instead_of_being_lost(website: Website) -> None:
    website.says("/api/projects/1", b"", 302, Location=f"{website.url}/elsewhere")

    with pytest.raises(LabelStudioError, match="Set LABEL_STUDIO_URL to the address"):
        LabelStudio(website.url, TOKEN).update_project(PROJECT, {"title": "Shapes"})

    assert [request.path for request in website.asked] == ["/api/projects/1"]


def test_it_counts_how_long_the_answers_took(website: Website) -> None:
    def slowly(_: Request) -> Answer:
        time.sleep(0.05)
        return 200, {}, b"{}"

    website.answers["/api/projects/1"] = slowly
    studio = LabelStudio(website.url, TOKEN)
    before = studio.waited_seconds

    studio.project(PROJECT)
    studio.project(PROJECT)

    assert before == 0.0
    assert studio.waited_seconds >= 0.1
