"""When a round is due: from stored state alone, never from an event."""

from __future__ import annotations

from collections.abc import Sequence

from uherding_backend.options import Options
from uherding_backend.store import Project, Round, RoundState, Store

FIRST_RETRY_SECONDS = 5.0
LONGEST_RETRY_SECONDS = 600.0


def due(store: Store, project: Project, options: Options, now: float) -> str | None:
    """Why a round is due, from stored state alone; None if none is, or none is wanted."""
    if project.paused:
        return None
    latest = store.rounds.latest(project.id)
    if latest and latest[0].state in (RoundState.DUE, RoundState.RUNNING):
        return None
    if latest and latest[0].state is RoundState.FAILED:
        return _retry_reason(latest, now)
    published = store.rounds.last_published(project.id)
    if published is None:
        return "first queue"
    if project.tasks_changed:
        return "tasks or label config changed"
    arrived = store.counts.get(project.id).new_labels
    if arrived >= options.round_size:
        return f"{arrived} new labels"
    queued = [entry.task for entry in store.rounds.queue(published.id)]
    waiting = len(queued) - len(store.pool.answered(project.id, queued))
    if waiting <= options.low_water and published.report.get("left_out", 0) > 0:
        return f"only {waiting} tasks left in the queue"
    return None


def _retry_reason(latest: Sequence[Round], now: float) -> str | None:
    failures = next(
        (n for n, round_ in enumerate(latest) if round_.state is not RoundState.FAILED), len(latest)
    )
    wait = min(FIRST_RETRY_SECONDS * 2 ** (failures - 1), LONGEST_RETRY_SECONDS)
    if now < (latest[0].finished_at or 0.0) + wait:
        return None
    return "trying again after a failure"
