"""Run the web server and its worker: two processes, so that training never delays an answer."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable

import uvicorn

from uherding_backend.errors import SettingsError
from uherding_backend.server import create_app
from uherding_backend.settings import Settings
from uherding_backend.store import Store

log = logging.getLogger(__name__)

RESTART_SECONDS = 2.0


def serve(settings: Settings, clock: Callable[[], float], *, with_worker: bool) -> None:
    """Serve until interrupted."""
    app = create_app(settings, Store(settings.data_dir), clock)
    stop = threading.Event()
    supervisor = threading.Thread(target=_keep_worker, args=(settings, stop))
    if with_worker:
        supervisor.start()
    try:
        uvicorn.run(app, host=settings.host, port=settings.port, log_level="warning")
    finally:
        stop.set()
        if with_worker:
            supervisor.join()


def check_port_is_free(host: str, port: int) -> None:
    """Raise a sentence if something else listens there."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except (OSError, OverflowError) as error:
            raise SettingsError(
                f"Cannot listen on {host}:{port} ({error}). Stop what uses the port, or "
                "choose another one with UHERDING_PORT or --port."
            ) from error


def exit_with_parent() -> None:
    """End this process when the server that started it is gone, however that happened.

    The server holds the other end of standard input and never writes; reading returns when the
    system closes it.
    """

    def wait() -> None:
        sys.stdin.buffer.read()
        os._exit(0)

    threading.Thread(target=wait, daemon=True).start()


def _keep_worker(settings: Settings, stop: threading.Event) -> None:
    """Run a worker process, and another one whenever it dies."""
    while not stop.is_set():
        command = [sys.executable, "-m", "uherding_backend", "worker", "--exit-with-parent"]
        command += ["--data-dir", str(settings.data_dir)]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as worker:  # noqa: S603
            while worker.poll() is None and not stop.wait(0.2):
                pass
            if worker.poll() is None:
                worker.terminate()
        if not stop.wait(RESTART_SECONDS):
            log.error("the worker ended with code %s; starting it again", worker.returncode)
