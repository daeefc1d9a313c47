"""docker-compose.yml, the Dockerfile and .env.example agree with each other and with the code."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from uherding_backend import cli
from uherding_backend.settings import Settings

ROOT = Path(__file__).parents[2]
COMPOSE_TEXT = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
OURS = ("backend", "worker")
SECRET = re.compile(r"PASS|TOKEN|KEY")


def services() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(COMPOSE_TEXT)["services"]
    return found


def settings_read() -> set[str]:
    return set(re.findall(r'"([A-Z][A-Z_]+)"', inspect.getsource(Settings.from_environment)))


def variables() -> list[tuple[str, str]]:
    """Every ${NAME...} of the compose file: its name and what follows, such as ":-8080"."""
    return re.findall(r"\$\{(\w+)([^}]*)\}", COMPOSE_TEXT)


def example() -> dict[str, str]:
    lines = (ROOT / ".env.example").read_text(encoding="utf-8").splitlines()
    given = [line.partition("=") for line in lines if line and not line.startswith("#")]
    return {name: value for name, _, value in given}


def mounts(service: str) -> dict[str, str]:
    """What is mounted, by the path inside the container."""
    found = [mount.removesuffix(":ro").rsplit(":", 1) for mount in services()[service]["volumes"]]
    return {inside: source for source, inside in found}


def filled_in(service: str) -> dict[str, str]:
    """A service's environment as compose would pass it, with every secret set to "x"."""
    environment = services()[service]["environment"]
    return {
        name: re.sub(
            r"\$\{\w+:([-?])([^}]*)\}",
            lambda found: found[2] if found[1] == "-" else "x",
            value,
        )
        for name, value in environment.items()
    }


def test_has_label_studio_with_its_database_the_backend_and_the_worker() -> None:
    assert services().keys() == {"db", "label-studio", *OURS}
    assert services()["label-studio"]["image"] == "heartexlabs/label-studio:" + (
        (ROOT / "requirements-label-studio.txt").read_text().strip().removeprefix("label-studio==")
    )


@pytest.mark.parametrize("service", OURS)
def test_what_our_services_are_given_is_what_the_settings_read(service: str) -> None:
    assert services()[service]["environment"].keys() <= settings_read()


@pytest.mark.parametrize("service", OURS)
def test_settings_accept_what_our_services_are_given(service: str) -> None:
    settings = Settings.from_environment(filled_in(service))

    assert settings.has_password
    assert settings.host == "0.0.0.0"  # noqa: S104 - inside a container
    assert settings.label_studio_url == "http://label-studio:8080"


@pytest.mark.parametrize("service", OURS)
def test_commands_are_commands(service: str) -> None:
    command = services()[service]["command"]

    assert cli._parser().parse_args(command).command == command[0]


def test_backend_and_worker_share_the_data_volume() -> None:
    (data_dir,) = re.findall(r"UHERDING_DATA_DIR=(\S+)", DOCKERFILE)

    assert mounts("backend")[data_dir] == mounts("worker")[data_dir] == "uherding-data"
    assert "uherding-data" in yaml.safe_load(COMPOSE_TEXT)["volumes"]


def test_local_files_are_read_only_and_at_the_same_place_everywhere() -> None:
    for service in ("label-studio", *OURS):
        root = services()[service]["environment"]["LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT"]

        assert [m for m in services()[service]["volumes"] if m.endswith(f":{root}/images:ro")]


def test_each_service_starts_when_what_it_needs_is_healthy() -> None:
    needs = {
        name: list(service.get("depends_on", {}).items()) for name, service in services().items()
    }

    assert needs == {
        "db": [],
        "label-studio": [("db", {"condition": "service_healthy"})],
        "backend": [("label-studio", {"condition": "service_healthy"})],
        "worker": [("backend", {"condition": "service_healthy"})],
    }


def test_what_others_wait_for_has_a_health_check() -> None:
    assert services()["db"]["healthcheck"]["test"]
    assert services()["label-studio"]["healthcheck"]["test"]
    assert "HEALTHCHECK" in DOCKERFILE
    assert services()["worker"]["healthcheck"] == {"disable": True}  # it has no web server


def test_backend_has_a_name_that_label_studio_takes_for_webhooks() -> None:
    (alias,) = services()["backend"]["networks"]["default"]["aliases"]

    assert "." in alias
    assert f"--backend-url http://{alias}:9090" in COMPOSE_TEXT


def test_label_studio_may_call_a_private_backend_and_asks_nobody_outside() -> None:
    environment = services()["label-studio"]["environment"]

    assert environment["USE_DEFAULT_BANNED_SUBNETS"] == "false"
    assert environment["DJANGO_DB"] == "default"
    assert environment["TASK_LOCK_TTL"] == "3600"
    assert environment["LATEST_VERSION_CHECK"] == environment["COLLECT_ANALYTICS"] == "false"
    assert environment["SENTRY_DSN"] == environment["FRONTEND_SENTRY_DSN"] == ""


def test_label_studio_and_the_backend_are_given_the_same_token() -> None:
    ours = services()["backend"]["environment"]["LABEL_STUDIO_API_KEY"]

    assert services()["label-studio"]["environment"]["LABEL_STUDIO_USER_TOKEN"] == ours


def test_example_has_every_variable_and_no_other() -> None:
    assert example().keys() == {name for name, _ in variables()}


def test_every_variable_of_the_example_has_a_comment() -> None:
    text = (ROOT / ".env.example").read_text(encoding="utf-8")

    for block in text.split("\n\n"):
        if re.search(r"^\w+=", block, re.MULTILINE):
            assert block.startswith("# "), block


@pytest.mark.parametrize(("name", "rest"), [v for v in variables() if SECRET.search(v[0])])
def test_a_secret_has_no_default_and_a_missing_one_says_what_to_do(name: str, rest: str) -> None:
    assert rest == f":?Set {name} in .env, see .env.example"
    assert example()[name] == ""


@pytest.mark.parametrize("service", ["db", "label-studio", *OURS])
def test_a_secret_is_never_written_down(service: str) -> None:
    given = services()[service]["environment"]
    secrets = [value for name, value in given.items() if SECRET.search(name)]

    assert secrets
    assert all(value.startswith("${") or value == "true" for value in secrets)


def test_image_is_installed_as_make_install_does() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (recipe,) = re.findall(r"^\.venv/installed:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)

    def steps(text: str) -> list[str]:
        return re.findall(r"-r \S+\.txt|--no-deps(?: --editable)? \.", text)

    assert steps(DOCKERFILE) == [s.replace(" --editable", "") for s in steps(recipe)]
    assert steps(DOCKERFILE) == ["-r requirements.txt", "--no-deps ."]


def test_image_runs_as_another_user_than_root() -> None:
    (user,) = re.findall(r"^USER (\S+)$", DOCKERFILE, re.MULTILINE)

    assert user != "root"


def test_image_starts_the_server() -> None:
    (entry,) = re.findall(r"^ENTRYPOINT (.+)$", DOCKERFILE, re.MULTILINE)
    (command,) = re.findall(r"^CMD (.+)$", DOCKERFILE, re.MULTILINE)

    assert json.loads(entry) + json.loads(command) == ["uherding", "serve"]


def test_what_the_image_copies_is_in_the_build_context() -> None:
    kept = re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    copied = {
        name
        for line in re.findall(r"^COPY (.+) \S+$", DOCKERFILE, re.MULTILINE)
        for name in line.split()
    }

    assert set(kept) == copied
