"""A real worker that kills itself (as kill -9 does) at a given point of a round.

Run as `python -m tests.support.crashing_worker POINT` with the backend's environment. POINT is a
step's name ("calibration"), or before:METHOD / after:METHOD of the Label Studio client.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from uherding_backend.labelstudio import LabelStudio, connect_with
from uherding_backend.settings import Settings
from uherding_backend.store import Store
from uherding_backend.store.round_records import RoundId
from uherding_backend.store.rounds import RoundStore
from uherding_backend.worker import Worker


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_at_step(wanted: str) -> None:
    told = RoundStore.progress

    def progress(
        self: RoundStore, round_id: RoundId, step: str, progress: float, now: float
    ) -> None:
        told(self, round_id, step, progress, now)
        if step == wanted:
            die()

    RoundStore.progress = progress  # type: ignore[method-assign]


def die_around(method: str, *, after: bool) -> None:
    real: Callable[..., Any] = getattr(LabelStudio, method)

    def call(self: LabelStudio, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401
        changes_version = method != "update_project" or arguments[-1].get("model_version")
        if changes_version and not after:
            die()
        answer = real(self, *arguments, **options)
        if changes_version:
            die()
        return answer

    setattr(LabelStudio, method, call)


def main(point: str) -> None:
    kind, _, method = point.rpartition(":")
    if kind:
        die_around(method, after=kind == "after")
    else:
        die_at_step(point)
    settings = Settings.from_environment(os.environ)  # noqa: TID251 - an entry point
    clock = time.time  # noqa: TID251
    Worker(Store(settings.data_dir), settings, clock, connect_with(settings)).run(threading.Event())


if __name__ == "__main__":
    main(sys.argv[1])
