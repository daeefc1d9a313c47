"""The demo's story: start everything, make a project, publish its first queue, then label."""

from __future__ import annotations

import json
import secrets
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import requests

from uherding_backend.connecting import connect_project
from uherding_backend.console import Console
from uherding_backend.demo.annotator import Annotator
from uherding_backend.demo.dataset import LABEL_CONFIG, DemoImages
from uherding_backend.demo.labelling import label_and_report
from uherding_backend.demo.processes import ChildProcess, backend, free_port, label_studio
from uherding_backend.demo.trial import RandomBaseline
from uherding_backend.errors import UHerdingError
from uherding_backend.labels import ProjectId
from uherding_backend.labelstudio import LabelStudio
from uherding_backend.project_extractor import reopened
from uherding_backend.settings import LOOPBACK, Settings
from uherding_backend.store import Store

USER = "demo@example.com"
DASHBOARD_USER = "demo"
TITLE = "Fashion (UHerding demo)"
ROUND_SIZE = 20
LABEL_STUDIO_PORT = 8080
BACKEND_PORT = 9090
FIRST_START_SECONDS = 600.0
FIRST_QUEUE_SECONDS = 900.0


@dataclass
class Demo:
    """What a second run needs to find everything again."""

    password: str
    token: str
    project: int = 0

    @classmethod
    def open(cls, directory: Path) -> Demo:
        """The demo in this directory, a new one if there is none."""
        path = directory / "demo.json"
        if path.exists():
            return cls(**json.loads(path.read_text()))
        demo = cls(password=f"demo-{secrets.token_hex(3)}", token=secrets.token_hex(20))
        demo.save(directory)
        return demo

    def save(self, directory: Path) -> None:
        """Write it whole or not at all; only the owner may read it."""
        directory.mkdir(parents=True, exist_ok=True)
        unfinished = directory / "demo.json.unfinished"
        unfinished.touch(mode=0o600)
        unfinished.write_text(json.dumps(asdict(self)))
        unfinished.replace(directory / "demo.json")


def run_demo(directory: Path, program: Path, labels: int, console: Console) -> int:
    """Run the demo until Ctrl-C, or until so many labels were given; returns the exit code."""
    if not program.exists():
        raise UHerdingError(f"There is no {program}. Run `make demo`, which installs it.")
    demo = Demo.open(directory)
    images = DemoImages.load()
    names = images.unpack(directory / "files" / "images")
    studio, server = _processes(directory, program, demo)
    with studio:
        studio.wait_until_ready(
            FIRST_START_SECONDS,
            lambda waited: console.renew(_patience(directory), detail=f": {waited:.0f} s so far"),
        )
        if not demo.project:
            console.renew(f"Creating a project with {len(names)} images")
            demo.project = _create_project(studio.url, demo.token, directory, names)
            demo.save(directory)
        with server:
            server.wait_until_ready(60.0, lambda _: console.renew("Starting the backend"))
            _connect(studio.url, server.url, demo)
            api = _with_password(server.url, demo)
            _wait_for_queue(api, demo.project, console)
            _welcome(studio.url, server.url, demo, directory, console)
            if not labels:
                console.say(_WHAT_TO_DO)
                return _stay(studio, server, console)
            annotator = Annotator(studio.url, demo.token, demo.project)
            baseline = _baseline(directory, demo.project, images)
            return label_and_report(annotator, api, baseline, labels, console)


def _processes(directory: Path, program: Path, demo: Demo) -> tuple[ChildProcess, ChildProcess]:
    studio = label_studio(
        program,
        directory,
        free_port(LABEL_STUDIO_PORT),
        user=USER,
        password=demo.password,
        token=demo.token,
    )
    server = backend(
        directory,
        free_port(BACKEND_PORT),
        {
            "LABEL_STUDIO_URL": studio.url,
            "LABEL_STUDIO_API_KEY": demo.token,
            "BASIC_AUTH_USER": DASHBOARD_USER,  # without a password nothing can be changed
            "BASIC_AUTH_PASS": demo.password,
            "UHERDING_HOST": LOOPBACK,
        },
    )
    return studio, server


def _with_password(url: str, demo: Demo) -> str:
    """The backend's address with what it asks for; both are letters, digits and dashes."""
    return url.replace("://", f"://{DASHBOARD_USER}:{demo.password}@")


def _patience(directory: Path) -> str:
    if (directory / "backend").exists():
        return "Starting Label Studio"
    return "Starting Label Studio, with a new database (1 to 2 minutes)"


def _create_project(url: str, token: str, directory: Path, names: list[str]) -> int:
    session = requests.Session()
    session.headers["Authorization"] = f"Token {token}"

    def post(path: str, body: object) -> Any:  # noqa: ANN401 - JSON
        response = session.post(f"{url}{path}", json=body, timeout=120)
        if not response.ok:
            raise UHerdingError(f"Label Studio refused POST {path}: {response.text[:300]}")
        return response.json()

    project = int(post("/api/projects", {"title": TITLE, "label_config": LABEL_CONFIG})["id"])
    # Label Studio only serves local files below a storage's path.
    storage = {"project": project, "path": str((directory / "files" / "images").absolute())}
    post("/api/storages/localfiles", {**storage, "use_blob_urls": True, "title": "demo images"})
    tasks = [{"data": {"image": f"/data/local-files/?d=images/{name}"}} for name in names]
    post(f"/api/projects/{project}/import", tasks)
    return project


def _connect(studio_url: str, server_url: str, demo: Demo) -> None:
    settings = Settings(
        label_studio_url=studio_url,
        label_studio_api_key=demo.token,
        basic_auth_user=DASHBOARD_USER,
        basic_auth_pass=demo.password,
    )
    connect_project(settings, ProjectId(demo.project), server_url, {"round_size": ROUND_SIZE})


def _wait_for_queue(url: str, project: int, console: Console) -> None:
    """Show the first round's steps until its queue is up."""
    deadline = time.monotonic() + FIRST_QUEUE_SECONDS
    while time.monotonic() < deadline:
        status = requests.get(f"{url}/api/projects/{project}", timeout=30).json()
        running = [round_ for round_ in status["rounds"] if round_["state"] == "running"]
        newest = status["rounds"][0] if status["rounds"] else {"state": "due"}
        if newest["state"] == "failed":
            raise UHerdingError(f"The round failed: {newest['error']}")
        if status["published"] and not running:
            return
        step = running[0]["step"] if running else ""
        done = running[0]["progress"] if step else None
        console.renew(f"First queue: {step or 'waiting for the worker'}", done)
        time.sleep(0.25)
    raise UHerdingError(
        f"No queue after {FIRST_QUEUE_SECONDS:.0f} s. The dashboard says what it does."
    )


def _baseline(directory: Path, project: int, images: DemoImages) -> RandomBaseline:
    """Labels drawn at random, with the features that the backend learned for this project."""
    store = Store(directory / "backend")
    used = store.projects.get(ProjectId(project)).extractor
    return RandomBaseline.of(images, reopened(store, ProjectId(project), used))


def _welcome(
    studio_url: str, server_url: str, demo: Demo, directory: Path, console: Console
) -> None:
    version = LabelStudio(studio_url, demo.token).project(ProjectId(demo.project)).model_version
    program, here = Path(sys.executable).with_name("uherding"), Path.cwd()
    program = program.relative_to(here) if program.is_relative_to(here) else program
    console.say(f"""
  The demo is up.

    Label Studio   {studio_url}/projects/{demo.project}
    log in with    {USER}   password  {demo.password}
    dashboard      {server_url}/        API  {server_url}/docs
    log in with    {DASHBOARD_USER}   the same password
    command line   {program} status --data-dir {directory / "backend"}
    queue          {version}
""")


_WHAT_TO_DO = f"""\
  Press "Label All Tasks" in Label Studio and label {ROUND_SIZE} images (keys 1 to 9 and 0):
  then a round runs, and the queue turns to what the model finds hard. Ctrl-C stops everything.
"""


def _stay(studio: ChildProcess, server: ChildProcess, console: Console) -> int:
    """Stay until Ctrl-C, which is the good end."""
    try:
        while studio.alive() and server.alive():
            time.sleep(0.5)
    except KeyboardInterrupt:
        console.say("Stopping Label Studio and the backend; labels and rounds are kept.")
        return 0
    ended = server if studio.alive() else studio
    raise UHerdingError(f"{ended.name} has ended.\n{ended.log_tail()}")
