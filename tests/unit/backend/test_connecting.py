from __future__ import annotations

import pytest

from tests.support.builders import BACKEND_URL, LABEL_STUDIO_URL, PROJECT
from tests.support.fake_label_studio import FakeLabelStudio
from uherding_backend import connecting
from uherding_backend.connecting import TITLE, client, connect_project, disconnect_project
from uherding_backend.errors import LabelConfigError, LabelStudioError, SettingsError
from uherding_backend.settings import Settings

SETTINGS = Settings(label_studio_url=LABEL_STUDIO_URL, label_studio_api_key="key")


@pytest.fixture(autouse=True)
def _client(studio: FakeLabelStudio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "LabelStudio", lambda *_: studio)


def test_connecting_adds_a_backend_with_the_options(studio: FakeLabelStudio) -> None:
    title = connect_project(SETTINGS, PROJECT, f"{BACKEND_URL}/", {"round_size": 5})

    assert title == "Shapes"
    (backend,) = studio.ml_backends(PROJECT)
    assert backend["url"] == BACKEND_URL
    assert backend["title"] == TITLE
    assert backend["extra_params"] == {"round_size": 5}
    assert "basic_auth_pass" not in backend


def test_connecting_again_changes_the_backend_instead_of_adding_another(
    studio: FakeLabelStudio,
) -> None:
    connect_project(SETTINGS, PROJECT, BACKEND_URL, {"round_size": 5})

    connect_project(SETTINGS, PROJECT, BACKEND_URL, {"round_size": 9})

    (backend,) = studio.ml_backends(PROJECT)
    assert backend["extra_params"] == {"round_size": 9}


def test_connecting_again_without_options_keeps_the_old_ones(studio: FakeLabelStudio) -> None:
    connect_project(SETTINGS, PROJECT, BACKEND_URL, {"round_size": 5})

    connect_project(SETTINGS, PROJECT, BACKEND_URL, {})

    (backend,) = studio.ml_backends(PROJECT)
    assert backend["extra_params"] == {"round_size": 5}


def test_a_moved_backend_leaves_no_webhook_behind(studio: FakeLabelStudio) -> None:
    connect_project(SETTINGS, PROJECT, "http://old:9090", {})

    connect_project(SETTINGS, PROJECT, BACKEND_URL, {})

    (backend,) = studio.ml_backends(PROJECT)
    assert backend["url"] == BACKEND_URL
    assert [hook.url for hook in studio.webhooks(PROJECT)] == []


def test_label_studio_is_told_the_password(studio: FakeLabelStudio) -> None:
    settings = Settings(
        label_studio_url=LABEL_STUDIO_URL,
        label_studio_api_key="key",
        basic_auth_user="me",
        basic_auth_pass="secret",
    )

    connect_project(settings, PROJECT, BACKEND_URL, {})

    (backend,) = studio.ml_backends(PROJECT)
    assert backend["auth_method"] == "BASIC_AUTH"
    assert (backend["basic_auth_user"], backend["basic_auth_pass"]) == ("me", "secret")


def test_an_unsupported_project_is_refused_before_anything_is_changed(
    studio: FakeLabelStudio,
) -> None:
    studio.projects[1].label_config = "<View/>"

    with pytest.raises(LabelConfigError):
        connect_project(SETTINGS, PROJECT, BACKEND_URL, {})

    assert studio.backends == {}


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (
            LabelStudioError("URL resolves to a reserved network address", 403),
            "USE_DEFAULT_BANNED_SUBNETS=false",
        ),
        (LabelStudioError("Can't connect", 400), "Is the backend running"),
    ],
)
def test_a_refused_connection_comes_with_advice(
    studio: FakeLabelStudio, error: LabelStudioError, advice: str
) -> None:
    studio.fail("save_ml_backend", error)

    with pytest.raises(LabelStudioError, match=advice) as refusal:
        connect_project(SETTINGS, PROJECT, BACKEND_URL, {})

    assert str(error) in str(refusal.value)
    assert refusal.value.status == error.status


def test_disconnecting_removes_the_backend_and_its_webhook_only(studio: FakeLabelStudio) -> None:
    connect_project(SETTINGS, PROJECT, BACKEND_URL, {})
    studio.save_ml_backend(PROJECT, {"url": "http://other:1", "title": "Other"}, None)

    disconnect_project(SETTINGS, PROJECT, BACKEND_URL)

    assert [backend["title"] for backend in studio.ml_backends(PROJECT)] == ["Other"]
    assert [hook.url for hook in studio.webhooks(PROJECT)] == ["http://other:1/webhook"]


@pytest.mark.parametrize("missing", ["label_studio_url", "label_studio_api_key"])
def test_without_address_or_key_nothing_can_be_connected(missing: str) -> None:
    given = {"label_studio_url": LABEL_STUDIO_URL, "label_studio_api_key": "key", missing: ""}

    with pytest.raises(SettingsError, match="Set LABEL_STUDIO_URL and LABEL_STUDIO_API_KEY"):
        client(Settings(**given))  # type: ignore[arg-type]
