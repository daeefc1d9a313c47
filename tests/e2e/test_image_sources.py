"""Real Label Studio: every way in which a task can name its image, with both kinds of token."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Callable, Iterator

import pytest
import requests

from tests.support.live import IMAGES, LiveBackend, LiveLabelStudio, make_project
from uherding_backend.demo.dataset import data_uri, png

BUCKET_LISTING = (
    b'<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
    b"<Name>bucket</Name><KeyCount>0</KeyCount><IsTruncated>false</IsTruncated></ListBucketResult>"
)


class PictureHandler(http.server.BaseHTTPRequestHandler):
    """A web server and, as far as Label Studio asks, an S3 server."""

    asked: list[tuple[str, str | None]]

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        self.asked.append((self.path, self.headers.get("Authorization")))
        body = png(IMAGES.pool[int(path[-8:-4])]) if path.endswith(".png") else BUCKET_LISTING
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def pictures() -> Iterator[tuple[str, list[tuple[str, str | None]]]]:
    """A server elsewhere: its address, and what it was asked with which credentials."""
    handler = type("Handler", (PictureHandler,), {"asked": []})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", handler.asked  # type: ignore[attr-defined]
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("kind", ["legacy token", "personal access token"])
def test_images_come_from_uploads_storage_the_web_and_data_uris(
    kind: str,
    real_label_studio: LiveLabelStudio,
    own_backend: Callable[..., LiveBackend],
    pictures: tuple[str, list[tuple[str, str | None]]],
    personal_token: str,
) -> None:
    elsewhere, asked = pictures
    token = personal_token if kind == "personal access token" else real_label_studio.token
    backend = own_backend(LABEL_STUDIO_API_KEY=token, LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT="")
    backend.start()
    project = make_project(
        real_label_studio, backend, images=2
    )  # local files, through Label Studio
    _upload(real_label_studio, project.id, row=2)
    _add_s3_storage(real_label_studio, project.id, elsewhere)
    addresses = [f"{elsewhere}/0003.png", data_uri(IMAGES.pool[4]), "s3://bucket/0005.png"]
    broken = ["s3://another/0006.png", f"{elsewhere[:-1]}/0007.png", "ftp://a/b.png"]
    real_label_studio.call(
        "POST",
        f"/api/projects/{project.id}/import",
        [{"data": {"image": address}} for address in addresses + broken],
    )

    project.connect(queue_size=10)

    round_ = project.published()
    assert round_["report"]["pool"] == 6, project.status()["unreadable"]
    assert round_["report"]["unreadable"] == 3
    assert len(project.status()["unreadable"]) == 3
    assert all(item["problem"] for item in project.status()["unreadable"])
    pictures_asked = [(path, header) for path, header in asked if ".png" in path]
    assert len(pictures_asked) >= 2
    assert all(token not in f"{path} {header}" for path, header in pictures_asked)


def _upload(studio: LiveLabelStudio, project: int, row: int) -> None:
    response = requests.post(
        f"{studio.url}/api/projects/{project}/import",
        files={"file": (f"{row:04d}.png", png(IMAGES.pool[row]), "image/png")},
        headers={"Authorization": f"Token {studio.token}"},
        timeout=60,
    )
    assert response.status_code == 201, response.text[:300]


def _add_s3_storage(studio: LiveLabelStudio, project: int, endpoint: str) -> None:
    storage = {
        "project": project,
        "title": "bucket",
        "bucket": "bucket",
        "s3_endpoint": endpoint,
        "region_name": "us-east-1",
        "aws_access_key_id": "key",
        "aws_secret_access_key": "secret",
        "presign": True,
        "use_blob_urls": True,
    }
    studio.call("POST", "/api/storages/s3", storage)
