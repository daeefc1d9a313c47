"""Start Label Studio and the backend as child processes, and stop what was started."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import requests

from uherding_backend.errors import UHerdingError

STOP_SECONDS = 10.0
PR_SET_PDEATHSIG = 1  # from linux/prctl.h
LOG_LINES_SHOWN = 15


@dataclass
class ChildProcess:
    """A server in a process group of its own, with its output in a file.

    Attributes:
        name: For messages.
        url: Where it answers; ``/health`` tells when it is ready.
        environment: Added to this process's own.
    """

    name: str
    command: Sequence[str]
    url: str
    environment: Mapping[str, str]
    log: Path
    _process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; does not wait."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        inherited = dict(os.environ)  # noqa: TID251 - handed on to the child, not read
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own programs
                self.command,
                env={**inherited, **self.environment},
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )

    def wait_until_ready(self, seconds: float, waiting: Callable[[float], None]) -> None:
        """Wait for /health; raises with the end of the log if it dies or takes too long."""
        started = time.monotonic()
        while not self.answers():
            waited = time.monotonic() - started
            if self._process is None or self._process.poll() is not None:
                raise UHerdingError(f"{self.name} ended before it was ready.\n{self.log_tail()}")
            if waited > seconds:
                raise UHerdingError(
                    f"{self.name} did not answer within {seconds:.0f} s.\n{self.log_tail()}"
                )
            waiting(waited)
            time.sleep(0.25)

    def answers(self) -> bool:
        """Whether /health says 200."""
        try:
            return requests.get(f"{self.url}/health", timeout=2).status_code == 200
        except requests.RequestException:
            return False

    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process is not None and self._process.poll() is None

    def family(self) -> list[int]:
        """The ids of the running process and of those that it started (Linux only)."""
        if self._process is None or not self.alive():
            return []
        pid = self._process.pid
        started = [path.read_text() for path in Path("/proc").glob(f"{pid}/task/*/children")]
        return [pid, *(int(child) for child in " ".join(started).split())]

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the whole process group."""
        if self._process is not None and self.alive():
            os.killpg(self._process.pid, number)

    def stop(self) -> None:
        """Stop it and everything it started: kindly, then not."""
        if self._process is None:
            return
        self.signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGKILL)
            self._process.wait()
        self._process = None

    def kill(self) -> None:
        """What a crash does."""
        self.signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait()
        self._process = None

    def log_tail(self) -> str:
        """The end of the log, for messages."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return "\n".join([f"The end of {self.log}:", *lines[-LOG_LINES_SHOWN:]])

    def __enter__(self) -> ChildProcess:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def _end_with_parent() -> None:
    """In the child: have Linux end it when this process dies, however that happens."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def label_studio(
    program: Path, directory: Path, port: int, *, user: str, password: str, token: str
) -> ChildProcess:
    """Label Studio on loopback, with its embedded database and files under ``directory``."""
    files = directory / "files"
    files.mkdir(parents=True, exist_ok=True)
    url = f"http://127.0.0.1:{port}"
    return ChildProcess(
        name="Label Studio",
        command=[
            str(program.absolute()),
            *("start", "--no-browser", "--internal-host", "127.0.0.1", "--port", str(port)),
        ],
        url=url,
        log=directory / "label-studio.log",
        environment={
            "LABEL_STUDIO_BASE_DATA_DIR": str((directory / "label-studio").absolute()),
            "LABEL_STUDIO_HOST": url,
            "LABEL_STUDIO_USERNAME": user,
            "LABEL_STUDIO_PASSWORD": password,
            "LABEL_STUDIO_USER_TOKEN": token,
            "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
            # Without this it refuses to call a backend on loopback or in a private network.
            "USE_DEFAULT_BANNED_SUBNETS": "false",
            "LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED": "true",
            "LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT": str(files.absolute()),
            "LATEST_VERSION_CHECK": "false",
            "COLLECT_ANALYTICS": "false",
            "SENTRY_DSN": "",
            "FRONTEND_SENTRY_DSN": "",
        },
    )


def backend(directory: Path, port: int, environment: Mapping[str, str]) -> ChildProcess:
    """`uherding serve`, with its state under ``directory``."""
    return ChildProcess(
        name="uherding-backend",
        command=[sys.executable, "-m", "uherding_backend", "serve", "--port", str(port)],
        url=f"http://127.0.0.1:{port}",
        log=directory / "backend.log",
        environment={
            "UHERDING_DATA_DIR": str((directory / "backend").absolute()),
            "LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT": str((directory / "files").absolute()),
            **environment,
        },
    )


def free_port(wanted: int) -> int:
    """``wanted`` if nothing listens there, else one that the system picks."""
    for port in (wanted, 0):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise UHerdingError("No port is free on 127.0.0.1.")
