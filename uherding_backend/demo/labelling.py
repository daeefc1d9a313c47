"""Label what is served, round by round, and check that the backend keeps its promises."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import requests

from uherding_backend.console import Console
from uherding_backend.demo.annotator import Annotator
from uherding_backend.demo.dataset import DemoImages
from uherding_backend.demo.trial import RANDOM_DRAWS, RandomBaseline, held_out_accuracy
from uherding_backend.errors import UHerdingError

ROUND_SECONDS = 300.0
STEPS = (
    *("labels", "tasks", "features", "classifier", "calibration", "selection", "storing"),
    *("uploading", "switching"),
)


@dataclass
class Checks:
    """What must hold for the demo to end well."""

    out_of_order: list[str] = field(default_factory=list)
    failed_rounds: set[int] = field(default_factory=set)
    lost: list[str] = field(default_factory=list)

    def verdict(self) -> list[str]:
        """One sentence per promise; those that were broken begin with FAILED."""
        return [
            _sentence("every round was published", [f"round {id_}" for id_ in self.failed_rounds]),
            _sentence("every served task was the best-ranked one", self.out_of_order),
            _sentence("no label was lost or counted twice", self.lost),
        ]

    @property
    def passed(self) -> bool:
        """Whether all promises were kept."""
        return not (self.out_of_order or self.failed_rounds or self.lost)


def label_and_report(
    annotator: Annotator,
    backend_url: str,
    baseline: RandomBaseline,
    labels: int,
    console: Console,
) -> int:
    """Give so many labels; prints a line per round and a verdict. Returns the exit code."""
    status = _status(backend_url, annotator.project)
    before, round_size = int(status["labels"]), int(status["round_size"])
    images = baseline.images
    checks = Checks()
    console.say(_HEADER)
    for given in range(1, labels + 1):
        console.renew("Labelling", given / labels, f" {given} of {labels}")
        _label_one(annotator, backend_url, images, checks)
        if given % round_size == 0 or given == labels:
            console.renew("Waiting for the round", detail=f" with {before + given} labels")
            report = _wait_for_round(backend_url, annotator.project, before + given, checks)
            accuracy = held_out_accuracy(backend_url, str(annotator.project), images)
            console.say(_line(report, accuracy, baseline.accuracy(before + given)))
    _check_nothing_lost(annotator, backend_url, checks)
    console.say(f"\n  random: mean and standard deviation of {RANDOM_DRAWS} draws")
    for sentence in checks.verdict():
        console.say(f"  {sentence}")
    return 0 if checks.passed else 1


def _label_one(annotator: Annotator, backend_url: str, images: DemoImages, checks: Checks) -> None:
    best = _best_ranked(annotator, backend_url)
    task = annotator.next_task()
    if task is None:
        raise UHerdingError("Label Studio has no task left to label.")
    if task["id"] != best:
        # The queue may have been switched between the two calls.
        best_now = _best_ranked(annotator, backend_url)
        if task["id"] != best_now:
            checks.out_of_order.append(f"task {task['id']} instead of {best_now}")
    annotator.submit(task["id"], images.true_class(task["data"]["image"]))


def _best_ranked(annotator: Annotator, backend_url: str) -> int | None:
    """The first task of the queue that is shown and not labelled yet."""
    queue = requests.get(f"{backend_url}/api/projects/{annotator.project}/queue", timeout=30).json()
    if queue["version"] != annotator.shown_version():
        return None
    done = annotator.submitted
    return next((entry["task"] for entry in queue["tasks"] if entry["task"] not in done), None)


def _wait_for_round(
    backend_url: str, project: int, labels: int, checks: Checks
) -> Mapping[str, Any]:
    """The report of the round that used so many labels."""
    deadline = time.monotonic() + ROUND_SECONDS
    asked = False
    while time.monotonic() < deadline:
        status = _status(backend_url, project)
        rounds: Sequence[Mapping[str, Any]] = status["rounds"]
        checks.failed_rounds |= {r["id"] for r in rounds if r["state"] == "failed"}
        report: Mapping[str, Any] = (status["published"] or {}).get("report", {})
        if report.get("labels") == labels:
            return report
        if status["new_labels"] < status["round_size"] and not asked:
            requests.post(f"{backend_url}/api/projects/{project}/rounds", timeout=30)
            asked = True
        time.sleep(0.1)
    raise UHerdingError(f"No round with {labels} labels after {ROUND_SECONDS:.0f} s.")


def _check_nothing_lost(annotator: Annotator, backend_url: str, checks: Checks) -> None:
    exported = annotator.exported()
    for task, answer in annotator.submitted.items():
        if exported.get(task) != [answer]:
            checks.lost.append(f"task {task}: {answer!r} became {exported.get(task)}")
    used = _status(backend_url, annotator.project)["published"]["report"]["labels"]
    if used != len(exported):
        checks.lost.append(f"{len(exported)} tasks are labelled, the last round used {used}")


def _status(backend_url: str, project: int) -> dict[str, Any]:
    found: dict[str, Any] = requests.get(f"{backend_url}/api/projects/{project}", timeout=30).json()
    return found


def _sentence(promise: str, broken: Sequence[str]) -> str:
    if not broken:
        return f"ok      {promise}"
    return f"FAILED  {promise}: not so {len(broken)} times, first {broken[0]}"


_HEADER = f"""  accuracy on images that are not in the project, and the seconds of each step

  labels  accuracy       random     T  radius   ECE   {"  ".join(STEPS)}"""


def _line(report: Mapping[str, Any], accuracy: float, random: tuple[float, float]) -> str:
    ece = "    -" if report["ece_after"] is None else f"{report['ece_after']:5.3f}"
    seconds = report["seconds"]
    steps = "  ".join(f"{seconds.get(step, 0.0):{len(step)}.2f}" for step in STEPS)
    return (
        f"  {report['labels']:6d}   {accuracy:6.1%}  {random[0]:6.1%} ±{100 * random[1]:4.1f}"
        f"  {report['temperature']:4.1f}  {report['radius']:6.3f} {ece}   {steps}"
    )
