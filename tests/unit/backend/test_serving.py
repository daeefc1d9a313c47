from __future__ import annotations

import io
import socket
import subprocess
import sys
import threading
import time

import pytest

from tests.support.builders import make_settings
from uherding_backend import serving
from uherding_backend.errors import SettingsError
from uherding_backend.serving import check_port_is_free, exit_with_parent, serve
from uherding_backend.store import Store


def test_a_free_port_is_fine() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    check_port_is_free("127.0.0.1", port)
    check_port_is_free("::1", port)


def test_a_port_in_use_is_refused_with_its_number_and_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        with pytest.raises(SettingsError, match=f"127.0.0.1:{port}.*UHERDING_PORT or --port"):
            check_port_is_free("127.0.0.1", port)


@pytest.mark.parametrize(("host", "port"), [("127.0.0.1", 99999), ("192.0.2.1", 9090)])
def test_an_address_that_cannot_be_listened_on_is_refused(host: str, port: int) -> None:
    with pytest.raises(SettingsError, match="Cannot listen on"):
        check_port_is_free(host, port)


@pytest.mark.parametrize("with_worker", [True, False])
def test_the_worker_is_kept_only_while_the_server_runs(
    store: Store, monkeypatch: pytest.MonkeyPatch, with_worker: bool
) -> None:
    kept: list[str] = []

    def keep(_: object, stop: threading.Event) -> None:
        kept.append("started")
        stop.wait()
        kept.append("stopped")

    monkeypatch.setattr(serving, "_keep_worker", keep)
    monkeypatch.setattr(
        "uherding_backend.serving.uvicorn.run", lambda *_, **__: kept.append("served")
    )
    monkeypatch.setattr(serving, "check_port_is_free", lambda *_: None)

    serve(make_settings(store.data_dir), time.monotonic, with_worker=with_worker)

    assert sorted(kept) == (["served", "started", "stopped"] if with_worker else ["served"])


def test_a_worker_that_dies_is_started_again_and_the_last_one_is_stopped(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    stop = threading.Event()
    started: list[subprocess.Popen[bytes]] = []
    scripts = iter(["raise SystemExit(3)", "import time; time.sleep(60)"])
    popen = subprocess.Popen

    def start(command: list[str], **options: int) -> subprocess.Popen[bytes]:
        assert command[1:5] == ["-m", "uherding_backend", "worker", "--exit-with-parent"]
        worker = popen([sys.executable, "-c", next(scripts)], **options)  # type: ignore[call-overload]
        started.append(worker)
        if len(started) == 2:
            stop.set()
        return started[-1]

    monkeypatch.setattr("uherding_backend.serving.subprocess.Popen", start)
    monkeypatch.setattr(serving, "RESTART_SECONDS", 0.01)

    serving._keep_worker(make_settings(store.data_dir), stop)

    assert [worker.returncode for worker in started] == [3, -15]
    assert "the worker ended with code 3; starting it again" in caplog.text


def test_a_worker_ends_when_the_server_that_started_it_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended = threading.Event()
    codes: list[int] = []

    def leave(code: int) -> None:
        codes.append(code)
        ended.set()

    class ClosedInput:
        buffer = io.BytesIO()

    monkeypatch.setattr("uherding_backend.serving.sys.stdin", ClosedInput)
    monkeypatch.setattr("uherding_backend.serving.os._exit", leave)

    exit_with_parent()

    assert ended.wait(5)
    assert codes == [0]
