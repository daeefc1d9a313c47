"""Real Label Studio: whatever is killed, restarted or lost, the queue stays whole."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import requests

from tests.support.live import (
    LiveBackend,
    LiveLabelStudio,
    LiveProject,
    make_project,
)
from uherding_backend.errors import LabelConfigError, LabelStudioError

OwnBackend = Callable[..., LiveBackend]
POINTS = (
    "labels",
    "tasks",
    "fetching images",
    "learning features",
    "classifier",
    "calibration",
    "selection",
    "storing",
    "uploading",
    "before:upload_predictions",
    "after:upload_predictions",
    "after:update_project",
)


@pytest.mark.parametrize("point", POINTS)
def test_a_worker_killed_at_any_point_of_a_round_is_followed_by_one_that_finishes_it(
    point: str, real_label_studio: LiveLabelStudio, own_backend: OwnBackend
) -> None:
    backend = own_backend()
    without_worker = [*backend.process.command, "--no-worker"]
    with_worker, backend.process.command = backend.process.command, without_worker
    backend.start()
    project = make_project(real_label_studio, backend, images=30)
    project.connect(round_size=5, queue_size=12)

    killed = _run_crashing_worker(point, backend)

    shown = project.annotator.shown_version()
    unfinished = backend.store.rounds.latest(project.id)[0]  # type: ignore[arg-type]
    assert killed == -9
    assert unfinished.state.value == "running"
    assert shown in ("", unfinished.version)
    assert (shown == unfinished.version and shown != "") == (point == "after:update_project")

    backend.process.stop()
    backend.process.command = with_worker
    backend.start()
    round_ = project.published()

    assert round_["id"] == unfinished.id
    assert project.annotator.shown_version() == round_["version"]
    assert project.prediction_counts() == {round_["version"]: 12}
    assert project.label(3) == project.queue()[:3]


def _run_crashing_worker(point: str, backend: LiveBackend) -> int:
    environment = {**os.environ, **backend.process.environment}  # noqa: TID251 - handed on
    command = [sys.executable, "-m", "tests.support.crashing_worker", point]
    root = Path(__file__).parents[2]
    finished = subprocess.run(command, env=environment, cwd=root, timeout=120, check=False)  # noqa: S603
    return finished.returncode


def test_a_backend_killed_while_people_label_loses_no_label(
    real_label_studio: LiveLabelStudio, own_backend: OwnBackend
) -> None:
    backend = own_backend()
    backend.start()
    project = make_project(real_label_studio, backend)
    project.connect(round_size=8, queue_size=30)
    cold = project.published()
    project.label(4)

    backend.process.kill()
    project.label(5)  # Label Studio calls a webhook that nobody answers
    backend.start()

    round_ = project.published(after=cold["id"], labels=9)
    assert round_["reason"] == "9 new labels"
    assert project.label(2) == project.queue()[:2]


def test_a_lost_webhook_costs_at_most_a_poll_interval(project: LiveProject) -> None:
    project.connect(round_size=4, queue_size=20)
    cold = project.published()
    for hook in project.studio.call("GET", f"/api/webhooks/?project={project.id}"):
        project.studio.call("DELETE", f"/api/webhooks/{hook['id']}/")

    project.label(4)

    round_ = project.published(after=cold["id"], labels=4)
    assert round_["reason"] == "4 new labels"


def test_label_studio_restarted_in_between_is_waited_for(
    real_label_studio: LiveLabelStudio, own_backend: OwnBackend
) -> None:
    backend = own_backend()
    backend.start()
    project = make_project(real_label_studio, backend)
    project.connect(round_size=5, queue_size=20)
    cold = project.published()
    project.label(4)

    real_label_studio.process.stop()
    project.ask_for_round()
    failure = project.wait(
        lambda: next((r for r in project.status()["rounds"] if r["state"] == "failed"), None),
        "failed round",
    )
    real_label_studio.start()
    project.label(1)

    project.published(after=cold["id"], labels=5)
    assert "did not answer" in failure["error"]
    assert "Check that it runs" in failure["error"]
    assert project.status()["problem"] == ""


def test_a_personal_access_token_works_for_everything(
    real_label_studio: LiveLabelStudio, own_backend: OwnBackend, personal_token: str
) -> None:
    """Images come through Label Studio here, not from disk."""
    backend = own_backend(
        LABEL_STUDIO_API_KEY=personal_token, LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT=""
    )
    backend.start()
    project = make_project(real_label_studio, backend, images=20)
    project.connect(round_size=4, queue_size=10)
    cold = project.published(pool=20, unreadable=0)

    project.label(4)

    project.published(after=cold["id"], labels=4)
    assert personal_token.count(".") == 2


def test_the_token_that_comes_with_setup_is_enough(
    real_label_studio: LiveLabelStudio, own_backend: OwnBackend
) -> None:
    backend = own_backend(LABEL_STUDIO_API_KEY="", LABEL_STUDIO_URL="")
    backend.start()
    project = make_project(real_label_studio, backend, images=20)
    fields = {"project": project.id, "url": backend.url, "title": "UHerding"}
    real_label_studio.call("POST", "/api/ml", {**fields, "extra_params": {"queue_size": 50}})
    first = project.published(pool=20)

    backend.process.kill()
    backend.start()  # and no new /setup
    project.ask_for_round()

    assert project.published(after=first["id"])["report"]["queue"] == 20


def test_a_password_is_asked_for_and_given_to_the_webhook_too(
    real_label_studio: LiveLabelStudio, own_backend: OwnBackend
) -> None:
    backend = own_backend(
        BASIC_AUTH_USER="studio", BASIC_AUTH_PASS="right", UHERDING_POLL_SECONDS="3600"
    )
    backend.start()
    project = make_project(real_label_studio, backend, images=20)
    wrong = replace(backend.settings, basic_auth_pass="wrong")
    project.connect(round_size=4, queue_size=10)
    cold = project.published()

    project.label(4)  # with an hour between looks, only an authenticated webhook can tell

    project.published(after=cold["id"], labels=4)
    refused = requests.post(f"{backend.url}/webhook", json={}, timeout=10)
    assert refused.status_code == 401
    assert requests.get(f"{backend.url}/health", timeout=10).status_code == 200
    right, backend.settings = backend.settings, wrong
    with pytest.raises(LabelStudioError, match="401"):
        project.connect(round_size=4)
    backend.settings = right


def test_an_unsupported_label_config_is_refused_in_words(
    real_label_studio: LiveLabelStudio, shared_backend: LiveBackend
) -> None:
    config = (
        '<View><Image name="image" value="$image"/>'
        '<Choices name="label" toName="image" choice="multiple">'
        '<Choice value="a"/><Choice value="b"/></Choices></View>'
    )
    project = make_project(real_label_studio, shared_backend, images=2, config=config)

    with pytest.raises(LabelConfigError, match="gives several classes"):
        project.connect()

    refused = requests.post(
        f"{real_label_studio.url}/api/ml",
        json={"project": project.id, "url": shared_backend.url, "title": "UHerding"},
        headers={"Authorization": f"Token {real_label_studio.token}"},
        timeout=30,
    )
    assert refused.status_code == 400
    answer = requests.post(
        f"{shared_backend.url}/setup",
        json={"project": f"{project.id}.1", "schema": config},
        timeout=10,
    )
    assert "one answer per image" in answer.json()["detail"]


def test_label_studio_finds_the_backend_in_time_while_a_round_runs(
    real_label_studio: LiveLabelStudio, own_backend: OwnBackend
) -> None:
    """Label Studio itself judges: it gives /health 1 s and /setup 3 s."""
    backend = own_backend()
    backend.start()
    project = make_project(real_label_studio, backend, images=200)
    project.connect(queue_size=100)
    states = set()
    seen_running = False

    while not (status := project.status())["published"]:
        found = real_label_studio.call("GET", f"/api/ml?project={project.id}")
        states.add(found[0]["state"])
        seen_running |= status["state"] == "running a round"

    assert seen_running
    assert states == {"CO"}
