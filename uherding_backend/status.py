"""What is going on, as plain data: for `uherding status`, the API and the dashboard."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from uherding_backend.errors import UHerdingError
from uherding_backend.labelstudio import SAMPLING
from uherding_backend.options import Options
from uherding_backend.settings import Settings
from uherding_backend.store import Project, Round, Store

UNREADABLE_SHOWN = 20


def overview(store: Store, settings: Settings) -> list[dict[str, Any]]:
    """Every connected project."""
    return [project_status(store, settings, p) for p in store.projects.all() if p.active]


def project_status(store: Store, settings: Settings, project: Project) -> dict[str, Any]:
    """One project: its labels, what runs, what was published, what failed and what to do."""
    rounds = store.rounds.latest(project.id)
    published = store.rounds.last_published(project.id)
    counts = store.counts.get(project.id)
    return {
        "id": project.id,
        "title": project.title,
        "link": f"{project.link_url}/projects/{project.id}",
        "tasks": counts.tasks,
        "classes": list(counts.classes),
        "labels": counts.labels,
        "set_aside": counts.set_aside,
        "new_labels": counts.new_labels,
        "state": _state(project, rounds),
        "problem": _problem(project, rounds),
        "paused": project.paused,
        "features": asdict(project.extractor) if project.extractor.version else None,
        **_choices(settings, project),
        "notes": list(project.notes),
        "unreadable": [
            {"task": item.task, "problem": item.problem}
            for item in store.pool.unreadable(project.id, UNREADABLE_SHOWN)
        ],
        "published": round_status(published) if published else None,
        "rounds": [round_status(round_) for round_ in rounds],
    }


def state_and_problem(project: Project, rounds: list[Round]) -> tuple[str, str]:
    """Where a project stands, and what is wrong with it, by its newest rounds."""
    return _state(project, rounds), _problem(project, rounds)


def round_status(round_: Round) -> dict[str, Any]:
    """One round."""
    return {
        "id": round_.id,
        "state": round_.state.value,
        "reason": round_.reason,
        "step": round_.step,
        "progress": round_.progress,
        "version": round_.version,
        "error": round_.error,
        "requested_at": round_.requested_at,
        "started_at": round_.started_at,
        "finished_at": round_.finished_at,
        "accuracy": round_.accuracy,
        "report": dict(round_.report),
    }


def _choices(settings: Settings, project: Project) -> dict[str, Any]:
    try:
        chosen: Options | Settings = Options.of(settings, project.options)
    except UHerdingError:  # the worker says what is wrong with them
        chosen = settings
    return {
        "round_size": chosen.round_size,
        "strategy": chosen.strategy,
        "classifier": chosen.classifier,
    }


def _state(project: Project, rounds: list[Round]) -> str:
    if project.problem:
        return "in trouble"
    if not project.prepared:
        return "connecting"
    states = {round_.state.value for round_ in rounds[:2]}
    if "running" in states:
        return "running a round"
    if rounds and rounds[0].state.value == "failed":
        return "last round failed"
    if "due" in states or not rounds:
        return "a round is due" if rounds or not project.paused else "paused"
    return "paused" if project.paused else "queue is up"


def _problem(project: Project, rounds: list[Round]) -> str:
    if project.sampling not in ("", SAMPLING):
        return (
            f'Task sampling was set to "{project.sampling}", so annotators do not get the queue. '
            f"Run `uherding disconnect {project.id}` and `uherding connect {project.id}` to set it "
            f'back to "{SAMPLING}".'
        )
    return project.problem or (rounds[0].error if rounds else "")
