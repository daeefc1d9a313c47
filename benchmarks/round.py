"""The whole round against a real Label Studio: from the last label to the queue that it shows.

    .venv/bin/python -m benchmarks.round [--items 20000] [--labels 50,100,1000] [--output FILE.md]

Starts Label Studio and `uherding serve` in a temporary directory, makes a project, has its features
extracted and its first queue chosen once (told apart), and then times rounds: one without labels,
as an edited label config makes it due, and one for each number of labels, which begins when an
annotator submits the last of them. All labels but the last are written while the webhook is
switched off, so that they make no round due. The images are those of the demo, shifted and
mirrored. Label Studio must be installed (`make label-studio`).
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.console import tell
from benchmarks.memory import forget_peak, megabytes
from benchmarks.round_project import Project, delete_old_queue, make_project, make_round_due
from benchmarks.round_tables import AFTERWARDS, QUEUE_SIZE, Measured, notes, steps, tables
from tests.support.live import make_backend, make_label_studio

NEVER = "86000"  # seconds between polls: only webhooks make rounds due
FEATURES_SECONDS = 3600.0
ROUND_SECONDS = 900.0

clock = time.time  # noqa: TID251 - the clock that the backend is given too


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--labels", default="50,100,1000", help="numbers of labels, ascending")
    parser.add_argument("--output", type=Path, help="also write the tables into this file")
    program = Path(".labelstudio/venv/bin/label-studio")
    parser.add_argument("--label-studio", type=Path, default=program)
    parsed = parser.parse_args()
    labels = [int(number) for number in parsed.labels.split(",") if number]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # what was started is stopped
    with tempfile.TemporaryDirectory() as directory:
        text = run(Path(directory), parsed.label_studio, parsed.items, labels)
    sys.stdout.write(text)
    if parsed.output:
        parsed.output.write_text(text)


def run(directory: Path, program: Path, items: int, labels: Sequence[int]) -> str:
    """Start everything, measure, stop everything; returns the tables."""
    tell("starting Label Studio")
    studio = make_label_studio(program, directory)
    studio.start()
    backend = make_backend(studio, directory, {"UHERDING_POLL_SECONDS": NEVER})
    try:
        started = time.monotonic()
        backend.start()
        health_seconds = time.monotonic() - started
        project = make_project(studio, backend, items)
        tell("extracting features")
        project.live.connect(round_size=1, queue_size=QUEUE_SIZE)
        first = project.wait_for_round(0, FEATURES_SECONDS)
        rounds = [measured(project, lambda: make_round_due(project, clock()))]
        rounds += [labelled_round(project, count) for count in labels]
        deleting = seconds_of(lambda: delete_old_queue(project))
    finally:
        backend.process.stop()
        studio.process.stop()
    return tables(items, rounds) + notes(first, health_seconds, deleting)


def labelled_round(project: Project, count: int) -> Measured:
    """Write labels until one is missing, then time what the last one sets off."""
    tasks = project.unlabeled(count - len(project.labeled))
    project.listen(active=False)
    project.label(tasks[:-1])
    project.listen(active=True)
    return measured(project, lambda: project.label(tasks[-1:]))


def measured(project: Project, trigger: Callable[[], None]) -> Measured:
    """The round that ``trigger`` makes due."""
    time.sleep(3.0)  # what was set off before has ended
    processes = project.live.backend.process.family()
    for process in processes:
        forget_peak(process)
    before = megabytes("VmRSS", processes[-1])
    last = project.last_published()
    began = clock()
    trigger()
    heard = project.store.projects.get(project.id).heard_at
    round_ = project.wait_for_round(last.id if last else 0, ROUND_SECONDS)
    shown = project.live.annotator.shown_version()
    if shown != round_.version:
        raise SystemExit(f"Label Studio shows {shown!r} instead of {round_.version!r}.")
    web, worker = (megabytes("VmHWM", process) for process in processes)
    seconds = steps(round_, began, max(heard, began))
    afterwards = sum(taken for (_, whose), taken in seconds.items() if whose == AFTERWARDS)
    return Measured(
        labels=round_.report["labels"],
        seconds=seconds,
        total=(round_.finished_at or 0.0) - began - afterwards,
        megabytes=(before, worker, web),
    )


def seconds_of(action: Callable[[], None]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
