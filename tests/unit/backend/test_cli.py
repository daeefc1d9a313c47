from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.support.builders import (
    BACKEND_URL,
    LABEL_STUDIO_URL,
    PROJECT,
    connected,
    make_connection,
    prepared,
    publish_round,
)
from tests.support.fake_label_studio import FakeLabelStudio
from uherding_backend import cli, connecting, serving, worker
from uherding_backend.cli import main
from uherding_backend.settings import Settings
from uherding_backend.store import Store

COMMANDS = ("serve", "worker", "connect", "disconnect", "round", "status", "demo")


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, store: Store, studio: FakeLabelStudio) -> None:
    names = (
        *("UHERDING_HOST", "UHERDING_PORT", "UHERDING_ROUND_SIZE", "UHERDING_POLL_SECONDS"),
        *("BASIC_AUTH_USER", "BASIC_AUTH_PASS"),
    )
    for name in names:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("UHERDING_DATA_DIR", str(store.data_dir))
    monkeypatch.setenv("LABEL_STUDIO_URL", LABEL_STUDIO_URL)
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", "key")
    monkeypatch.setattr(connecting, "LabelStudio", lambda *_: studio)


pytestmark = pytest.mark.usefixtures("_logging_as_before")


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])

    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert all(command in shown for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])

    assert ended.value.code == 0
    assert "docs/settings.md" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["dance"], ["connect"], ["connect", "x"]])
def test_a_wrong_call_ends_with_2_and_the_usage(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)

    assert ended.value.code == 2
    assert "usage: uherding" in capsys.readouterr().err


def test_a_mistake_ends_with_1_and_a_sentence_instead_of_a_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UHERDING_PORT", "many")

    code = main(["status"])

    shown = capsys.readouterr()
    assert code == 1
    assert shown.err == "uherding: UHERDING_PORT must be a whole number of 1 or more, got 'many'.\n"
    assert shown.out == ""


def test_an_interrupt_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "overview", interrupted)

    assert main(["status"]) == 130


def test_connect_connects_with_the_chosen_options(
    studio: FakeLabelStudio, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["connect", "1", "--round-size", "5", "--queue-size", "20", "--prelabel"])

    assert code == 0
    (backend,) = studio.ml_backends(PROJECT)
    assert backend["extra_params"] == {"round_size": 5, "queue_size": 20, "prelabel": True}
    assert backend["url"] == BACKEND_URL
    assert 'Connected project 1 "Shapes"' in capsys.readouterr().out


def test_connect_takes_a_strategy_and_a_classifier(studio: FakeLabelStudio) -> None:
    code = main(["connect", "1", "--strategy", "badge", "--classifier", "mlp"])

    assert code == 0
    (backend,) = studio.ml_backends(PROJECT)
    assert backend["extra_params"] == {"strategy": "badge", "classifier": "mlp"}


def test_connect_refuses_an_unknown_strategy_with_the_known_ones(
    studio: FakeLabelStudio, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["connect", "1", "--strategy", "bagde"])

    assert code == 1
    assert "badge, badge-kmeans" in capsys.readouterr().err
    assert studio.ml_backends(PROJECT) == []


def test_connect_leaves_the_options_that_were_not_chosen_to_the_settings(
    studio: FakeLabelStudio,
) -> None:
    main(["connect", "1", "--backend-url", "http://backend:9090"])

    (backend,) = studio.ml_backends(PROJECT)
    assert backend["extra_params"] == {}
    assert backend["url"] == "http://backend:9090"


def test_connecting_a_project_that_does_not_exist_ends_with_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["connect", "77"]) == 1
    assert capsys.readouterr().err.startswith("uherding: Label Studio refused")


def test_disconnect_stops_both_sides(
    store: Store, studio: FakeLabelStudio, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["connect", "1"])
    store.projects.connect(make_connection())

    code = main(["disconnect", "1"])

    assert code == 0
    assert studio.backends == {}
    assert studio.hooks == {}
    assert not store.projects.get(PROJECT).active
    assert "Annotators keep the queue" in capsys.readouterr().out


def test_a_round_is_asked_for_once_and_recorded(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    connected(store)
    monkeypatch.setattr("uherding_backend.cli.os.getuid", lambda: 0)

    codes = main(["round", "1"]), main(["round", "1"])

    assert codes == (0, 0)
    assert capsys.readouterr().out == "A round was asked for.\nA round is already waiting.\n"
    assert len(store.rounds.latest(PROJECT)) == 1
    (action,) = store.actions.latest(PROJECT)
    assert (action.who, action.what) == ("root on this machine", "asked for a round")


def test_a_round_is_recorded_where_the_system_user_has_no_name(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected(store)
    monkeypatch.setattr("uherding_backend.cli.os.getuid", lambda: 4_000_123)

    main(["round", "1"])

    assert store.actions.latest(PROJECT)[0].who == "user 4000123 on this machine"


def test_a_round_for_an_unknown_project_says_how_to_connect_it_and_where_it_was_looked_for(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["round", "77"]) == 1
    said = capsys.readouterr().err
    assert "uherding connect 77" in said
    assert str(store.data_dir) in said


def test_waiting_for_a_round_shows_what_it_does_until_it_is_published(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    connected(store)
    monkeypatch.setattr(
        "uherding_backend.cli.time.sleep", lambda _: publish_round(store, labels={1: "bars"})
    )

    code = main(["round", "1", "--wait"])

    assert code == 0
    assert capsys.readouterr().out.splitlines() == [
        "A round was asked for.",
        "Round 1: due",
        "Round 1 published 3 tasks from 1 labels.",
    ]


def test_waiting_for_a_round_that_fails_ends_with_1_and_its_error(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    connected(store)

    def fail(_: float) -> None:
        round_ = store.rounds.take(2.0)
        assert round_ is not None
        store.rounds.failed(round_.id, "no luck", 3.0)

    monkeypatch.setattr("uherding_backend.cli.time.sleep", fail)

    code = main(["round", "1", "--wait"])

    assert code == 1
    assert capsys.readouterr().err == "uherding: Round 1 failed: no luck\n"


def test_status_without_projects_says_how_to_connect_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["status"]) == 0
    assert "uherding connect PROJECT" in capsys.readouterr().out


def test_status_shows_labels_rounds_problems_and_notes(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    connected(store)
    prepared(store, notes=["Task sampling was changed."])
    publish_round(store)
    store.projects.trouble(PROJECT, "Label Studio is down.")

    main(["status"])

    shown = capsys.readouterr().out
    assert "Project 1 '': in trouble" in shown
    assert "0 labels of 0 tasks; 0 of 50 towards the next round" in shown
    assert "What is wrong: Label Studio is down." in shown
    assert "round 1: published, first queue" in shown
    assert "note: Task sampling was changed." in shown


def test_status_as_json_holds_everything_but_the_token(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    project = connected(store)

    main(["status", "--json"])

    shown = capsys.readouterr().out
    assert json.loads(shown)[0]["id"] == 1
    assert project.token not in shown


def test_the_data_directory_can_be_given_with_the_command(
    tmp_path: Path, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    connected(store)

    main(["status", "--data-dir", str(tmp_path / "another")])

    shown = capsys.readouterr().out
    assert "No project is connected yet" in shown
    assert f"The data directory is {tmp_path / 'another'}" in shown
    assert not (tmp_path / "another").exists(), "looking must not leave anything behind"


@pytest.mark.parametrize("command", ["round", "disconnect"])
def test_a_project_that_is_not_there_is_told_with_where_it_was_looked_for(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main([command, "99", "--data-dir", str(tmp_path)])

    assert code == 1
    assert f"The data directory is {tmp_path}" in capsys.readouterr().err


def test_serve_runs_the_server_with_its_worker_on_the_chosen_port(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    served: list[tuple[Settings, bool]] = []
    monkeypatch.setattr(
        serving,
        "serve",
        lambda settings, _, *, with_worker: served.append((settings, with_worker)),
    )

    codes = main(["serve", "--port", "9191"]), main(["serve", "--no-worker"])

    assert codes == (0, 0)
    assert [(settings.port, with_worker) for settings, with_worker in served] == [
        (9191, True),
        (9090, False),
    ]
    assert "so only this machine can reach it" in capsys.readouterr().out


def test_a_port_in_use_ends_serve_with_1_and_a_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code = main(["serve", "--port", "99999"])

    assert code == 1
    assert "Cannot listen on 127.0.0.1:99999" in capsys.readouterr().err


def test_worker_works_on_the_data_directory_until_stopped(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[Path] = []

    def run(self: worker.Worker, stop: threading.Event) -> None:
        ran.append(self.store.data_dir)

    monkeypatch.setattr(worker.Worker, "run", run)

    assert main(["worker"]) == 0
    assert ran == [store.data_dir]


def test_the_package_can_be_run_as_a_module() -> None:
    command = [sys.executable, "-m", "uherding_backend", "--help"]

    ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603

    assert ended.returncode == 0
    assert "usage: uherding" in ended.stdout
