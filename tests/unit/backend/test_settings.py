from __future__ import annotations

from pathlib import Path

import pytest

from uherding_backend.errors import SettingsError
from uherding_backend.settings import Settings


def test_an_empty_environment_gives_the_defaults_and_only_this_machine_is_served() -> None:
    settings = Settings.from_environment({})

    assert settings == Settings(host="127.0.0.1")


def test_empty_values_keep_their_defaults() -> None:
    empty = {"UHERDING_PORT": "", "LABEL_STUDIO_URL": " ", "UHERDING_DATA_DIR": ""}

    assert Settings.from_environment(empty) == Settings.from_environment({})


def test_every_setting_is_read() -> None:
    settings = Settings.from_environment(
        {
            "UHERDING_DATA_DIR": "/var/uherding",
            "UHERDING_HOST": "10.0.0.1",
            "UHERDING_PORT": "8000",
            "LABEL_STUDIO_URL": "https://label.example/",
            "LABEL_STUDIO_API_KEY": " key\n",
            "BASIC_AUTH_USER": "user",
            "BASIC_AUTH_PASS": "pass",
            "LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT": "/images",
            "UHERDING_ROUND_SIZE": "20",
            "UHERDING_QUEUE_SIZE": "100",
            "UHERDING_PRELABEL": "yes",
            "UHERDING_STRATEGY": "badge\n",
            "UHERDING_CLASSIFIER": "finetune",
            "UHERDING_FINETUNE_FROM": " resnet18:32",
            "UHERDING_FINETUNE_EPOCHS": "50",
            "UHERDING_POLL_SECONDS": "2.5",
        }
    )

    assert settings == Settings(
        data_dir=Path("/var/uherding"),
        host="10.0.0.1",
        port=8000,
        label_studio_url="https://label.example",
        label_studio_api_key="key",
        basic_auth_user="user",
        basic_auth_pass="pass",
        local_files_root=Path("/images"),
        round_size=20,
        queue_size=100,
        prelabel=True,
        strategy="badge",
        classifier="finetune",
        finetune_from="resnet18:32",
        finetune_epochs=50,
        poll_seconds=2.5,
    )


def test_with_a_password_other_machines_are_served() -> None:
    settings = Settings.from_environment({"BASIC_AUTH_USER": "u", "BASIC_AUTH_PASS": "p"})

    assert settings.host == "0.0.0.0"  # noqa: S104 - what is claimed
    assert settings.has_password


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("UHERDING_PORT", "0", "1 or more, got '0'"),
        ("UHERDING_PORT", "x", "got 'x'"),
        ("UHERDING_ROUND_SIZE", "-5", "got '-5'"),
        ("UHERDING_QUEUE_SIZE", "1.5", "got '1.5'"),
        ("UHERDING_PRELABEL", "maybe", "true or false, got 'maybe'"),
        ("UHERDING_STRATEGY", "herding", "one of uherding, .*, random, got 'herding'"),
        ("UHERDING_CLASSIFIER", "forest", "one of linear, mlp, finetune, got 'forest'"),
        ("UHERDING_FINETUNE_EPOCHS", "0", "1 or more, got '0'"),
        ("UHERDING_POLL_SECONDS", "0", "above 0, got '0'"),
        ("UHERDING_POLL_SECONDS", "soon", "above 0, got 'soon'"),
        ("UHERDING_POLL_SECONDS", "nan", "above 0, got 'nan'"),
        ("LABEL_STUDIO_URL", "label-studio:8080", "must start with http"),
        ("LABEL_STUDIO_URL", "https://", "must start with http"),
        ("LABEL_STUDIO_API_KEY", "key", "LABEL_STUDIO_URL is not"),
        ("BASIC_AUTH_USER", "me", "Set both"),
        ("BASIC_AUTH_PASS", "secret", "Set both"),
        ("UHERDING_HOST", "0.0.0.0", "which other machines can reach"),  # noqa: S104
    ],
)
def test_what_cannot_work_is_refused_with_the_value(name: str, value: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        Settings.from_environment({name: value})


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_this_machine_needs_no_password(host: str) -> None:
    assert Settings.from_environment({"UHERDING_HOST": host}).host == host


@pytest.mark.parametrize(("user", "password"), [("a:b", "secret"), ("studio", "pässword")])
def test_a_password_that_basic_authentication_cannot_carry_is_refused(
    user: str, password: str
) -> None:
    given = {"BASIC_AUTH_USER": user, "BASIC_AUTH_PASS": password}

    with pytest.raises(SettingsError, match="must be ASCII, the user without a colon"):
        Settings.from_environment(given)
