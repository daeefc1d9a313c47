"""One project as plain data, a function for each page: read from what rounds stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from typing import Any

from model.names import STRATEGY_NAMES
from uherding_backend.errors import UHerdingError, UnknownProjectError
from uherding_backend.labels import ProjectId, TaskId
from uherding_backend.options import TITLES, Options
from uherding_backend.remaining import remaining_seconds, share_done
from uherding_backend.settings import Settings
from uherding_backend.status import round_status, state_and_problem
from uherding_backend.store import Project, Round, Store
from uherding_backend.store.round_records import RoundId
from uherding_backend.why import why

MEASURES = {
    "audit": "the audit slice: labels drawn at random and never trained on, so nothing biases it",
    "ground_truth": "tasks marked as ground truth in Label Studio, predicted by classifiers that "
    "did not see them",
    "held_out": "held-out labels: classifiers trained on half of the labels, judged on the other "
    "half. Labelled images were chosen because they are hard, so it is pessimistic",
}


def task_link(project: Project, task: int) -> str:
    """Where a person finds a task in Label Studio."""
    return f"{project.link_url}/projects/{project.id}/data?task={task}"


def progress(store: Store, now: float) -> list[dict[str, Any]]:
    """What runs, in every project: cheap enough to be asked for every second."""
    return [_progress(store, project, now) for project in store.projects.all() if project.active]


def _progress(store: Store, project: Project, now: float) -> dict[str, Any]:
    rounds = store.rounds.latest(project.id, limit=3)
    published = store.rounds.last_published(project.id)
    running = next((one for one in rounds if one.state.value == "running"), None)
    state, problem = state_and_problem(project, rounds)
    return {
        "project": project.id,
        "state": state,
        "problem": problem,
        "paused": project.paused,
        "published": published.id if published else None,
        "newest": rounds[0].id if rounds else None,
        "running": _running(running, published, now) if running else None,
    }


def _running(round_: Round, published: Round | None, now: float) -> dict[str, Any]:
    before: Mapping[str, float] = (published.report if published else {}).get("seconds", {})
    left = remaining_seconds(round_, before, now)
    return {
        "round": round_.id,
        "step": round_.step or "starting",
        "step_progress": round_.progress,
        "progress": round(share_done(round_, before, now), 4),
        "seconds_left": None if left is None else round(left, 1),
    }


def curve(store: Store, project: Project) -> dict[str, Any]:
    """Accuracy by labels, by each way of measuring, and what else changes from round to round.

    Rounds without new labels would stand above each other: of those, the newest is listed.
    """
    history = store.rounds.history(project.id)
    return {
        "measures": MEASURES,
        "accuracy": {
            name: _newest(
                {"round": one.id, **one.measured[name]} for one in history if name in one.measured
            )
            for name in MEASURES
        },
        "rounds": _newest(
            {"round": one.id, "finished_at": one.finished_at, **_figures(one.report)}
            for one in history
        ),
    }


def _newest(points: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """By labels; the last point of each number of labels."""
    by_labels = {point["labels"]: point for point in points}
    return [by_labels[labels] for labels in sorted(by_labels)]


def _figures(report: Mapping[str, Any]) -> dict[str, Any]:
    names = ("temperature", "ece_before", "ece_after", "radius", "coverage")
    return {"labels": report["labels"], **{name: report.get(name) for name in names}}


def class_curves(store: Store, project: Project) -> dict[str, list[dict[str, Any]]]:
    """How well each class was recognised, round by round."""
    curves: dict[str, list[dict[str, Any]]] = {}
    for round_id, classes in store.rounds.class_history(project.id):
        for one in classes:
            if one["recognised"]:
                point = {"round": round_id, **one["recognised"], "labels": one["labels"]}
                curves.setdefault(one["name"], []).append(point)
    return {name: _newest(points) for name, points in curves.items()}


def insights(store: Store, project: Project) -> dict[str, Any]:
    """What the last published round found out; links lead into Label Studio."""
    published = store.rounds.last_published(project.id)
    found = store.rounds.insights(published.id) if published else {}
    return {
        "round": published.id if published else None,
        "measured": found.get("measured", {}),
        "classes": found.get("classes", []),
        "reliability": found.get("reliability", {"before": [], "after": []}),
        "annotators": found.get("annotators", []),
        "label_errors": _linked(project, found.get("label_errors", [])),
        "disagreements": _linked(project, found.get("disagreements", [])),
        "comparison": found.get("comparison"),
        "stopping": found.get("stopping"),
    }


def _linked(project: Project, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**one, "link": task_link(project, one["task"])} for one in found]


def stopping(store: Store, project: Project) -> dict[str, Any]:
    """The curve so far, its forecast, and the advice."""
    found = insights(store, project)["stopping"] or {
        "measured_on": "held_out",
        "forecasts": [],
        "verdict": "too early to say",
        "reason": "No round with labels has been published yet.",
    }
    return {
        **found,
        "measure": MEASURES[found["measured_on"]],
        "points": curve(store, project)["accuracy"][found["measured_on"]],
    }


def audit(store: Store, settings: Settings, project: Project) -> dict[str, Any]:
    """The audit slice: how large it is, what it says, what it costs."""
    published = store.rounds.last_published(project.id)
    report = published.report if published else {}
    found = insights(store, project)
    return {
        "fraction": _options(settings, project).audit_fraction,
        "tasks": report.get("audit_tasks", 0),
        "labels": report.get("audit_labels", 0),
        "labels_in_all": report.get("labels", 0),
        "accuracy": found["measured"].get("audit"),
        "comparison": found["comparison"],
    }


def queue(
    store: Store, project: Project, start: int = 0, count: int | None = None
) -> dict[str, Any]:
    """The published queue, best task first, with a reason for each.

    Args:
        store: Where it is.
        project: Whose it is.
        start: The first rank to list.
        count: How many to list; all if None.
    """
    published = store.rounds.last_published(project.id)
    if published is None:
        return {"version": "", "round": None, "length": 0, "start": 0, "tasks": []}
    strategy = str(published.report.get("strategy", ""))
    entries = store.rounds.queue(published.id, start, count)
    answered = store.pool.answered(project.id, [entry.task for entry in entries])
    return {
        "version": published.version,
        "round": published.id,
        "length": store.rounds.queue_length(published.id),
        "start": start,
        "tasks": [
            {
                **asdict(entry),
                "rank": rank,
                "why": why(entry, strategy),
                "answered": entry.task in answered,
                "link": task_link(project, entry.task),
                "thumbnail": f"api/projects/{project.id}/thumbnails/{entry.task}",
            }
            for rank, entry in enumerate(entries, start)
        ],
    }


def one_round(store: Store, project: Project, number: int) -> dict[str, Any]:
    """A round with all that it stored."""
    found = store.rounds.get(RoundId(number))
    if found is None or found.project != project.id:
        raise UnknownProjectError(f"Project {project.id} has no round {number}.")
    return {**round_status(found), "insights": store.rounds.insights(found.id)}


def thumbnail(store: Store, project: ProjectId, task: int) -> bytes | None:
    """A task's small picture, if it was ever read."""
    item = store.pool.item(project, TaskId(task))
    return store.thumbnails.get(item.content_hash) if item and item.content_hash else None


def choices(settings: Settings, project: Project) -> dict[str, Any]:
    """What can be changed here: the value in force, where it comes from, what there is."""
    in_force = asdict(_options(settings, project))
    return {
        "paused": project.paused,
        "can_change": settings.has_password,
        "strategies": STRATEGY_NAMES,
        "settings": {
            name: {"value": in_force[name], "from": _source(settings, project, name)}
            for name in TITLES
        },
        "titles": TITLES,
        "queue_follows": not project.options.get("queue_size", settings.queue_size),
        "others": {
            field.name: in_force[field.name]
            for field in fields(Options)
            if field.name not in TITLES
        },
    }


def _source(settings: Settings, project: Project, name: str) -> str:
    if name in project.chosen:
        return "dashboard"
    if name in project.options:
        return "Label Studio"
    usual = getattr(settings, name) == getattr(Settings(), name)
    return "default" if usual else "environment"


def _options(settings: Settings, project: Project) -> Options:
    try:
        return Options.of(settings, project.options)
    except UHerdingError:  # the worker says what is wrong with them
        return Options.of(settings, {})
