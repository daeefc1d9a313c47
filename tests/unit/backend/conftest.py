from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from urllib3.util.retry import Retry

from model.arrays import Features, Images
from model.features import dictionary
from model.features.patches import PatchExtractor
from model.images import decode
from tests.support.builders import (
    FITTED_IMAGES,
    Clock,
    kind_of,
    make_settings,
    picture,
    pictures,
)
from tests.support.fake_label_studio import FakeLabelStudio
from uherding_backend.labels import ProjectId
from uherding_backend.store import Store
from uherding_backend.worker import Worker

_extract = PatchExtractor.extract
_features_seen: dict[tuple[str, bytes], Features] = {}


def _remembering_extract(extractor: PatchExtractor, images: Images) -> Features:
    """The same features as ever, computed once for each picture instead of in every test."""
    keys = [(extractor.version, image.tobytes()) for image in images]
    new = [at for at, key in enumerate(keys) if key not in _features_seen]
    if new:
        found = _extract(extractor, images[new])
        _features_seen.update({keys[at]: row for at, row in zip(new, found, strict=True)})
    return np.stack([_features_seen[key] for key in keys])


@pytest.fixture(autouse=True)
def _fast_features(monkeypatch: pytest.MonkeyPatch) -> None:
    """Learning features takes seconds; these tests are not about how good they are."""
    monkeypatch.setattr(dictionary, "ATOMS", 24)
    monkeypatch.setattr(dictionary, "SAMPLED_PATCHES", 2000)
    monkeypatch.setattr(dictionary, "SWEEPS", 3)
    monkeypatch.setattr(PatchExtractor, "extract", _remembering_extract)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again at once where a server does not answer."""
    monkeypatch.setattr(Retry, "sleep", lambda *_: None)


@pytest.fixture(scope="session")
def fitted_extractor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An extractor fitted once on the pictures that most tests use."""
    directory = tmp_path_factory.mktemp("extractor")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dictionary, "ATOMS", 24)
        patch.setattr(dictionary, "SAMPLED_PATCHES", 2000)
        numbers = range(1, FITTED_IMAGES + 1)
        images = [decode(picture(kind_of(number), number), 32) for number in numbers]
        extractor = PatchExtractor.fit(np.stack(images), seed=0, on_progress=lambda _: None)
    extractor.save(directory / f"{extractor.version}.npz")
    return directory / f"{extractor.version}.npz"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty data directory."""
    return Store(tmp_path / "data")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def studio() -> FakeLabelStudio:
    """A Label Studio with one project of 30 pictures."""
    server = FakeLabelStudio()
    server.add_project(pictures(FITTED_IMAGES))
    return server


@pytest.fixture
def worker(store: Store, clock: Clock, studio: FakeLabelStudio, fitted_extractor: Path) -> Worker:
    """A worker that has learned its features already; rounds are due after 6 labels."""
    for project in (1, 2):
        directory = store.project_dir(ProjectId(project))
        shutil.copy(fitted_extractor, directory)
    return Worker(store, make_settings(store.data_dir), clock, lambda _: studio)


@dataclass(frozen=True)
class Request:
    """What a server was asked."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


Answer = tuple[int, dict[str, str], bytes]


@dataclass
class Website:
    """A web server on the loopback interface that remembers what it was asked."""

    url: str
    answers: dict[str, Answer | Callable[[Request], Answer]]
    asked: list[Request] = field(default_factory=list)

    def says(self, path: str, body: bytes = b"", status: int = 200, **headers: str) -> None:
        """Answer a path like this from now on."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answers[path] = (status, named, body)

    def answer(self, request: Request) -> Answer:
        """What this request gets."""
        self.asked.append(request)
        found = self.answers.get(request.path) or self.answers.get(request.path.split("?")[0])
        if found is None:
            return 404, {}, b'{"detail": "Not found"}'
        return found(request) if callable(found) else found


@pytest.fixture
def new_website() -> Iterator[Callable[[], Website]]:
    """Starts web servers; all are stopped at the end."""
    started: list[tuple[ThreadingHTTPServer, threading.Thread]] = []

    def start() -> Website:
        site = Website("", {})

        class Handler(BaseHTTPRequestHandler):
            def respond(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                request = Request(self.command, self.path, dict(self.headers), body)
                status, headers, answer = site.answer(request)
                self.send_response(status)
                for name, value in {"Content-Length": str(len(answer)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_POST = do_PATCH = do_DELETE = respond  # noqa: N815 - the library's names

            def log_message(self, format: str, *args: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        started.append((server, thread))
        site.url = f"http://127.0.0.1:{server.server_address[1]}"
        return site

    yield start
    for server, thread in started:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def website(new_website: Callable[[], Website]) -> Website:
    """One web server."""
    return new_website()


@pytest.fixture
def _logging_as_before() -> Iterator[None]:
    """`main` sets logging up for the process; afterwards it is as it was."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
