"""The whole round against a real Label Studio: from the last label to the queue that it shows.

    .venv/bin/python -m benchmarks.round [--items 20000] [--labels 100,1000] [--output FILE.md]

Starts Label Studio and `uherding serve` in a temporary directory, makes a project, has its features
extracted once (told apart), and then times rounds: one without labels, and one for each number of
labels, which begins when an annotator submits the last of them. All labels but the last are written
while the webhook is switched off, so that they make no round due. The images are those of the demo,
shifted and mirrored. Label Studio must be installed (`make label-studio`).
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tests.support.live import (
    LiveBackend,
    LiveLabelStudio,
    LiveProject,
    make_backend,
    make_label_studio,
)
from uherding_backend.demo.annotator import Annotator
from uherding_backend.demo.dataset import CLASSES, LABEL_CONFIG, DemoImages, png
from uherding_backend.labels import ProjectId
from uherding_backend.labelstudio import LabelStudio
from uherding_backend.settings import Settings
from uherding_backend.store import Round, RoundState, Store

QUEUE_SIZE = 3 * Settings().round_size  # as without options
NEVER = "86000"  # seconds between polls: only webhooks make rounds due
FEATURES_SECONDS = 3600.0
ROUND_SECONDS = 900.0
OURS, LABEL_STUDIO = "ours", "Label Studio"

clock = time.time  # noqa: TID251 - the clock that the backend is given too


@dataclass(frozen=True)
class Project:
    """A project of `--items` images, and the class of each task."""

    live: LiveProject
    store: Store
    classes: dict[int, str]
    labeled: set[int] = field(default_factory=set)

    @property
    def id(self) -> ProjectId:
        return ProjectId(self.live.id)

    def last_published(self) -> Round | None:
        return self.store.rounds.last_published(self.id)

    def wait_for_round(self, after: int, seconds: float) -> Round:
        """The next round after this one, once it is published."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            newest = self.store.rounds.latest(self.id, limit=1)
            if newest and newest[0].state is RoundState.FAILED:
                raise SystemExit(f"Round {newest[0].id} failed: {newest[0].error}")
            published = self.last_published()
            if published is not None and published.id > after:
                return published
            time.sleep(0.05)
        raise SystemExit(f"No round after {seconds:.0f} s.\n{self.live.backend.process.log_tail()}")

    def unlabeled(self, count: int) -> list[int]:
        """Tasks that are neither labelled nor queued: the queue must not run empty."""
        taken = self.labeled | set(self.live.queue())
        free = [task for task in self.classes if task not in taken]
        order = np.random.default_rng(len(self.labeled)).permutation(len(free))
        return [free[at] for at in order[:count]]

    def listen(self, *, active: bool) -> None:
        """Switch the webhook on or off; what it listens to would else be forgotten."""
        (hook,) = self.live.studio.call("GET", f"/api/webhooks/?project={self.id}")
        fields = {"is_active": active, "actions": hook["actions"]}
        self.live.studio.call("PATCH", f"/api/webhooks/{hook['id']}/", fields)

    def label(self, tasks: Sequence[int]) -> None:
        for number, task in enumerate(tasks):
            self.live.annotator.submit(task, self.classes[task])
            self.labeled.add(task)
            if number % 100 == 99:
                tell(f"{number + 1} labels written")


@dataclass(frozen=True)
class Measured:
    """One round.

    Attributes:
        seconds: By step and by who took them.
        total: From the submit of the last label to the switched queue.
        megabytes: Memory of the worker before the round, its most and that of the web server.
    """

    labels: int
    seconds: dict[tuple[str, str], float]
    total: float
    megabytes: tuple[float, float, float]

    def of(self, whose: str) -> dict[str, float]:
        return {step: taken for (step, who), taken in self.seconds.items() if who == whose}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--labels", default="100,1000", help="numbers of labels, ascending")
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
        rounds = [measured(project, lambda: ask_for_round(project))]
        rounds += [labelled_round(project, count) for count in labels]
        deleting = seconds_of(lambda: delete_old_queue(project))
    finally:
        backend.process.stop()
        studio.process.stop()
    return tables(items, rounds) + notes(first, health_seconds, deleting)


def make_project(studio: LiveLabelStudio, backend: LiveBackend, items: int) -> Project:
    tell(f"making a project of {items} images")
    files = studio.directory / "files" / "images"
    files.mkdir(parents=True)
    classes = write_images(files, items)
    id_ = studio.call("POST", "/api/projects", {"title": "round", "label_config": LABEL_CONFIG})[
        "id"
    ]
    storage = {"project": id_, "path": str(files.absolute()), "use_blob_urls": True}
    studio.call("POST", "/api/storages/localfiles", {**storage, "title": "images"})
    tasks = [{"data": {"image": f"/data/local-files/?d=images/{name}"}} for name in classes]
    path = f"/api/projects/{id_}/import?return_task_ids=true"
    ids = studio.call("POST", path, tasks)["task_ids"]
    live = LiveProject(studio, backend, id_, Annotator(studio.url, studio.token, id_))
    return Project(live, backend.store, dict(zip(ids, classes.values(), strict=True)))


def write_images(directory: Path, count: int) -> dict[str, str]:
    """The demo's images, then the same shifted or mirrored; returns names and classes."""
    images = DemoImages.load()
    shifts = sorted(itertools.product((0, 1, -1, 2, -2, 3, -3), repeat=2), key=lambda s: max(s))
    variants = [(flip, *shift) for shift in shifts for flip in (1, -1)]
    classes = {}
    for number in range(count):
        variant, row = divmod(number, len(images.pool))
        flip, down, right = variants[variant]
        pixels = np.roll(images.pool[row][:, ::flip], (down, right), axis=(0, 1))
        classes[f"{number:06d}.png"] = CLASSES[images.pool_labels[row]]
        (directory / f"{number:06d}.png").write_bytes(png(np.ascontiguousarray(pixels)))
    return classes


def ask_for_round(project: Project) -> None:
    project.store.rounds.request(project.id, "asked for by the benchmark", clock())


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
        Path(f"/proc/{process}/clear_refs").write_text("5")  # peaks are counted from here
    before = megabytes(processes[-1], "VmRSS")
    last = project.last_published()
    began = clock()
    trigger()
    heard = project.store.projects.get(project.id).heard_at
    round_ = project.wait_for_round(last.id if last else 0, ROUND_SECONDS)
    shown = project.live.annotator.shown_version()
    if shown != round_.version:
        raise SystemExit(f"Label Studio shows {shown!r} instead of {round_.version!r}.")
    web, worker = (megabytes(process, "VmHWM") for process in processes)
    return Measured(
        labels=round_.report["labels"],
        seconds=steps(round_, began, max(heard, began)),
        total=(round_.finished_at or 0.0) - began,
        megabytes=(before, worker, web),
    )


def steps(round_: Round, began: float, heard: float) -> dict[tuple[str, str], float]:
    """Every step's seconds by who took them; together they are the whole round."""
    started, finished = round_.started_at or 0.0, round_.finished_at or 0.0
    taken = round_.report["seconds"]
    waited = round_.report["label_studio_seconds"]
    found = {
        ("label is stored, webhook called", LABEL_STUDIO): heard - began,
        ("worker notices it", OURS): started - heard,
    }
    for step, seconds in taken.items():
        if step in waited:
            found[step, LABEL_STUDIO] = waited[step]
        found[step, OURS] = seconds - waited.get(step, 0.0)
    found["everything else", OURS] = finished - started - sum(taken.values())
    return found


def tables(items: int, rounds: Sequence[Measured]) -> str:
    """What each step took, and what that means for the goals."""
    heads = [f"{measured.labels:,} labels" for measured in rounds]
    lines = [
        f"A round on {items:,} items, {os.cpu_count()} cores; queue of {QUEUE_SIZE}; seconds.\n",
        row("Step", "Whose", *heads),
        row(*["---"] * (2 + len(rounds))),
    ]
    for step, whose in dict.fromkeys(key for measured in rounds[::-1] for key in measured.seconds):
        found = [measured.seconds.get((step, whose)) for measured in rounds]
        lines.append(row(step, whose, *("" if s is None else f"{s:.2f}" for s in found)))
    for whose in (LABEL_STUDIO, OURS):
        sums = [f"**{sum(measured.of(whose).values()):.2f}**" for measured in rounds]
        lines.append(row("**all**", f"**{whose}**", *sums))
    lines += [
        row("**label to queue**", "", *(f"**{measured.total:.2f}**" for measured in rounds)),
        row("our largest step", "", *(largest(measured) for measured in rounds)),
        row("selection + calibration", OURS, *(f"{chosen(m):.2f}" for m in rounds)),
        row("worker, MB before", "", *(f"{measured.megabytes[0]:.0f}" for measured in rounds)),
        row("worker, MB at most", "", *(f"{measured.megabytes[1]:.0f}" for measured in rounds)),
        row("web server, MB at most", "", *(f"{measured.megabytes[2]:.0f}" for measured in rounds)),
    ]
    return "\n".join(lines) + "\n"


def notes(first: Round, health_seconds: float, deleting: float) -> str:
    """What is not part of those rounds."""
    seconds = first.report["seconds"]
    return (
        f"\nNot part of it: `uherding serve` answered /health after {health_seconds:.1f} s; "
        f"extracting the features (`{first.report['features']}`) took {seconds['features']:.0f} s, "
        "once; deleting an old queue, later while nobody labels, is one call of Label Studio that "
        f"took {deleting:.1f} s.\n"
    )


def largest(measured: Measured) -> str:
    own = measured.of(OURS)
    step = max(own, key=lambda name: own[name])
    return f"{step}, {own[step] / sum(own.values()):.0%}"


def chosen(measured: Measured) -> float:
    own = measured.of(OURS)
    return own["selection"] + own["calibration"]


def delete_old_queue(project: Project) -> None:
    """Of the two queues that are kept, the one that is not shown."""
    studio = LabelStudio(project.live.studio.url, project.live.studio.token)
    shown = project.live.annotator.shown_version()
    old = [version for version in studio.prediction_counts(project.id) if version != shown]
    studio.delete_version(project.id, old[-1])


def seconds_of(action: Callable[[], None]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def megabytes(process: int, kind: str) -> float:
    status = Path(f"/proc/{process}/status").read_text()
    found = re.search(rf"{kind}:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else 0.0


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def tell(text: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")


if __name__ == "__main__":
    main()
