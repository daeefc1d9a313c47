"""The model class under label-studio-ml's own server."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.builders import (
    LABEL_CONFIG,
    LABEL_STUDIO_URL,
    PROJECT,
    UID,
    Clock,
    annotation_payload,
    connected,
    kind_of,
    make_task,
    setup_payload,
    webhook_payload,
)
from tests.support.fake_label_studio import FakeLabelStudio
from uherding_backend.store import Store
from uherding_backend.worker import Worker

# 2026-11: label-studio-ml 1.0.9 pins Flask 1.1 (`itsdangerous.json`), whose names are deprecated.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

CHILD_SECONDS = 15.0  # a new Python process has to import torch


@pytest.fixture
def server(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of the server that `gunicorn uherding_backend._wsgi:app` would run."""
    monkeypatch.setenv("UHERDING_DATA_DIR", str(store.data_dir))
    monkeypatch.setenv("LABEL_STUDIO_URL", LABEL_STUDIO_URL)
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", "key")
    monkeypatch.delitem(sys.modules, "uherding_backend._wsgi", raising=False)
    wsgi = importlib.import_module("uherding_backend._wsgi")
    with wsgi.app.test_client() as client:
        yield client


def test_it_is_up(server: Any) -> None:  # noqa: ANN401 - Flask is untyped here
    assert server.get("/health").get_json()["status"] == "UP"


def test_setup_accepts_a_supported_label_config(server: Any) -> None:  # noqa: ANN401
    answer = server.post("/setup", json=setup_payload())

    assert answer.status_code == 200
    assert "model_version" in answer.get_json()


def test_setup_refuses_a_label_config_that_cannot_be_ranked_for(server: Any) -> None:  # noqa: ANN401
    answer = server.post("/setup", json=setup_payload(schema="<View><Text name='a'/></View>"))

    assert answer.status_code == 500
    assert "no <Choices> on an <Image>" in answer.get_data(as_text=True)


def test_predictions_come_from_the_round_that_the_worker_published(
    server: Any,  # noqa: ANN401
    worker: Worker,
    studio: FakeLabelStudio,
) -> None:
    connected(worker.store, uid=UID)
    for task in range(1, 13):
        studio.submit(task, kind_of(task))
    worker.step()
    server.post("/setup", json=setup_payload())

    body = {"tasks": [make_task(14)], "project": UID, "label_config": LABEL_CONFIG}
    answer = server.post("/predict", json=body)

    (found,) = answer.get_json()["results"]
    assert found["result"][0]["value"]["choices"][0] in ("bars", "checks", "disc")
    assert found["model_version"] == worker.store.rounds.latest(PROJECT)[0].version


def test_a_label_is_written_down_and_connects_its_project(
    server: Any,  # noqa: ANN401
    store: Store,
    clock: Clock,
) -> None:
    annotation = annotation_payload(5, task=9, answer="disc")

    answer = server.post(
        "/webhook", json=webhook_payload("ANNOTATION_CREATED", annotation=annotation)
    )

    assert answer.status_code == 201
    deadline = time.monotonic() + CHILD_SECONDS
    while not store.pool.annotations(PROJECT) and time.monotonic() < deadline:
        time.sleep(0.1)
    (recorded,) = store.pool.annotations(PROJECT)
    assert (recorded.id, recorded.task, recorded.answer) == (5, 9, "disc")
    project = store.projects.get(PROJECT)
    assert project.uid == "1.1794819425"
    assert project.label_studio_url == LABEL_STUDIO_URL
