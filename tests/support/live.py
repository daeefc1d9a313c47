"""A real Label Studio and real backends for the end-to-end tests."""

from __future__ import annotations

import itertools
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import requests

from uherding_backend.cli import main
from uherding_backend.connecting import connect_project
from uherding_backend.demo.annotator import Annotator
from uherding_backend.demo.dataset import LABEL_CONFIG, DemoImages, png
from uherding_backend.demo.processes import ChildProcess, backend, free_port, label_studio
from uherding_backend.labels import ProjectId
from uherding_backend.settings import Settings
from uherding_backend.store import Store

USER = "admin@example.com"
PASSWORD = "end-to-end"
TOKEN = "0123456789abcdef0123456789abcdef01234567"
POLL_SECONDS = 2.0
IMAGES = DemoImages.load()
Found = TypeVar("Found")
_numbers = itertools.count(1)


@dataclass
class LiveLabelStudio:
    """A running Label Studio with one admin."""

    process: ChildProcess
    directory: Path
    token: str = TOKEN

    @property
    def url(self) -> str:
        return self.process.url

    def call(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
        response = requests.request(
            method,
            f"{self.url}{path}",
            json=body,
            headers={"Authorization": f"Token {self.token}"},
            timeout=60,
        )
        assert response.ok, f"{method} {path}: {response.status_code} {response.text[:500]}"
        return response.json() if response.content else {}

    def restart(self) -> None:
        self.process.stop()
        self.start()

    def start(self) -> None:
        self.process.start()
        self.process.wait_until_ready(300, lambda _: None)

    def sign_in(self) -> requests.Session:
        """A browser's session of the admin."""
        session = requests.Session()
        session.get(f"{self.url}/user/login/", timeout=60)
        self._post_form(session, "/user/login/", {"email": USER, "password": PASSWORD})
        return session

    def add_annotator(self) -> str:
        """Sign a new user up with an invitation, as a person would; returns the user's token."""
        invite = self.call("GET", "/api/invite")["invite_url"]
        session = requests.Session()
        session.get(f"{self.url}{invite}", timeout=60)
        email = f"annotator{next(_numbers)}@example.com"
        self._post_form(session, invite, {"email": email, "password": PASSWORD})
        token = session.get(f"{self.url}/api/current-user/token", timeout=60)
        assert token.ok, token.text[:300]
        return str(token.json()["token"])

    def personal_access_token(self) -> str:
        session = self.sign_in()
        response = session.post(
            f"{self.url}/api/token",
            json={},
            headers={"X-CSRFToken": session.cookies["csrftoken"], "Referer": self.url},
            timeout=60,
        )
        assert response.status_code == 201, response.text[:300]
        return str(response.json()["token"])

    def _post_form(self, session: requests.Session, path: str, fields: dict[str, str]) -> None:
        form = {**fields, "csrfmiddlewaretoken": session.cookies["csrftoken"]}
        response = session.post(
            f"{self.url}{path}",
            data=form,
            headers={"Referer": self.url},
            timeout=60,
            allow_redirects=False,
        )
        assert response.status_code == 302, f"{path}: {response.status_code} {response.text[:300]}"


def make_label_studio(program: Path, directory: Path) -> LiveLabelStudio:
    """A Label Studio in this directory; migrating a new database takes a minute, so one is kept."""
    template = program.absolute().parents[2] / "template"
    if not template.exists():
        unfinished = template.with_name("template.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        first = _process(program, unfinished)
        with first:
            first.wait_until_ready(600, lambda _: None)
        unfinished.rename(template)
    shutil.copytree(template / "label-studio", directory / "label-studio")
    return LiveLabelStudio(_process(program, directory), directory)


def _process(program: Path, directory: Path) -> ChildProcess:
    return label_studio(program, directory, free_port(0), user=USER, password=PASSWORD, token=TOKEN)


@dataclass
class LiveBackend:
    """A running `uherding serve` of its own."""

    process: ChildProcess
    data_dir: Path
    settings: Settings

    @property
    def url(self) -> str:
        return self.process.url

    @property
    def store(self) -> Store:
        return Store(self.data_dir)

    def start(self) -> None:
        self.process.start()
        self.process.wait_until_ready(60, lambda _: None)

    def call(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
        auth = (self.settings.basic_auth_user, self.settings.basic_auth_pass)
        response = requests.request(
            method,
            f"{self.url}{path}",
            json=body,
            auth=auth if self.settings.has_password else None,
            timeout=60,
        )
        assert response.ok, f"{method} {path}: {response.status_code} {response.text[:500]}"
        return response.json()


def make_backend(
    studio: LiveLabelStudio, directory: Path, environment: Mapping[str, str] | None = None
) -> LiveBackend:
    """A backend beside a Label Studio whose files it may read; not started yet."""
    given = {
        "LABEL_STUDIO_URL": studio.url,
        "LABEL_STUDIO_API_KEY": studio.token,
        "UHERDING_POLL_SECONDS": str(POLL_SECONDS),
        "UHERDING_FEATURES": "patches",  # `auto` would ask the model hub first
        "UHERDING_DATA_DIR": str(directory / "backend"),
        "LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT": str(studio.directory / "files"),
        **(environment or {}),
    }
    process = backend(directory, free_port(0), given)
    return LiveBackend(process, directory / "backend", Settings.from_environment(given))


@dataclass
class LiveProject:
    """A project of real images in Label Studio, and its people."""

    studio: LiveLabelStudio
    backend: LiveBackend
    id: int
    annotator: Annotator
    images: int = 0
    answers: dict[int, str] = field(default_factory=dict)

    def connect(self, **options: object) -> None:
        connect_project(self.backend.settings, ProjectId(self.id), self.backend.url, options)

    def import_images(self, count: int) -> list[int]:
        """Import the next so many demo images; returns their task ids."""
        names = [f"{row:04d}.png" for row in range(self.images, self.images + count)]
        self.images += count
        tasks = [{"data": {"image": f"/data/local-files/?d=images/{name}"}} for name in names]
        path = f"/api/projects/{self.id}/import?return_task_ids=true"
        ids: list[int] = self.studio.call("POST", path, tasks)["task_ids"]
        return ids

    def person(self) -> Annotator:
        return Annotator(self.studio.url, self.studio.add_annotator(), self.id)

    def label(self, count: int, by: Annotator | None = None) -> list[int]:
        """Label what is served; returns the served task ids in order."""
        annotator = by or self.annotator
        served = []
        for _ in range(count):
            task = annotator.next_task()
            assert task is not None, "Label Studio served no task"
            annotator.submit(task["id"], IMAGES.true_class(task["data"]["image"]))
            served.append(int(task["id"]))
        return served

    def status(self) -> dict[str, Any]:
        status: dict[str, Any] = self.backend.call("GET", f"/api/projects/{self.id}")
        return status

    def ask_for_round(self) -> None:
        """As an admin does on the command line of the backend's machine."""
        assert main(["round", str(self.id), "--data-dir", str(self.backend.data_dir)]) == 0

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = self.studio.call("GET", f"/api/projects/{self.id}")
        return state

    def queue(self) -> list[int]:
        """The published queue, best task first."""
        tasks = self.backend.call("GET", f"/api/projects/{self.id}/queue")["tasks"]
        return [entry["task"] for entry in tasks]

    def prediction_counts(self) -> dict[str, int]:
        counts: dict[str, int] = self.studio.call("GET", f"/api/projects/{self.id}/model-versions/")
        return counts

    def published(self, after: int = 0, **report: object) -> dict[str, Any]:
        """Wait for a published round later than ``after`` whose report has these figures."""

        def found() -> dict[str, Any] | None:
            round_: dict[str, Any] | None = self.status()["published"]
            if round_ is None or round_["id"] <= after:
                return None
            same = all(round_["report"].get(key) == value for key, value in report.items())
            return round_ if same else None

        return self.wait(found, f"a round after {after} with {report}")

    def wait(self, find: Callable[[], Found | None], what: str, seconds: float = 90) -> Found:
        """Wait until ``find`` finds something; the failure shows the backend's log."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = find()
            if found is not None:
                return found
            time.sleep(0.1)
        raise AssertionError(f"no {what} after {seconds} s\n{self.backend.process.log_tail()}")


def make_project(
    studio: LiveLabelStudio, backend: LiveBackend, images: int = 60, config: str = LABEL_CONFIG
) -> LiveProject:
    """A new project with so many images, not connected yet."""
    files = studio.directory / "files" / "images"
    files.mkdir(parents=True, exist_ok=True)
    for row in range(200):
        path = files / f"{row:04d}.png"
        if not path.exists():
            path.write_bytes(png(IMAGES.pool[row]))
    title = f"project {next(_numbers)}"
    id_ = studio.call("POST", "/api/projects", {"title": title, "label_config": config})["id"]
    storage = {"project": id_, "path": str(files.absolute()), "use_blob_urls": True}
    studio.call("POST", "/api/storages/localfiles", {**storage, "title": "images"})
    project = LiveProject(studio, backend, id_, Annotator(studio.url, studio.token, id_))
    project.import_images(images)
    return project
