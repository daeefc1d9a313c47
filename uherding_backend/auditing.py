"""The audit slice: tasks drawn by lot, labelled like the others, judged by and never trained on.

Every task has a number from 0 to 1 that depends on nothing but its id. The tasks whose number is
below the audit fraction are set apart before they are labelled, so that no choice of the model ever
decides what is in the slice; they are handed out in the order of their numbers. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from typing import TypeVar

from uherding_backend.labels import Labels, TaskId

Entry = TypeVar("Entry")


def lot(uid: str, task: TaskId) -> float:
    """The task's number, from 0 to 1: uniform, and always the same."""
    digest = hashlib.blake2b(f"{uid} {task}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64


def set_apart(
    uid: str,
    tasks: Iterable[TaskId],
    labelled: Collection[TaskId],
    before: Collection[TaskId],
    fraction: float,
) -> frozenset[TaskId]:
    """The tasks of the slice, labelled or not.

    A task that was labelled before it could be set apart may have been chosen by the model, so it
    stays out.

    Args:
        uid: The project, so that two projects draw different lots.
        tasks: Of the whole pool.
        labelled: Those that have a label.
        before: Those that were set apart in the round before.
        fraction: How much of the pool; 0 dissolves the slice, and its labels are trained on.
    """
    return frozenset(
        task
        for task in tasks
        if lot(uid, task) < fraction and (task in before or task not in labelled)
    )


def next_drawn(uid: str, apart: Collection[TaskId], labels: Labels) -> list[TaskId]:
    """The tasks of the slice that nobody has answered, in the order in which they are drawn."""
    waiting = [
        task for task in apart if task not in labels.classes and task not in labels.set_aside
    ]
    return sorted(waiting, key=lambda task: lot(uid, task))


def drawn_share(queue_size: int, fraction: float) -> int:
    """How many entries of a queue are drawn."""
    return round(queue_size * fraction)


def interleave(chosen: Sequence[Entry], drawn: Sequence[Entry]) -> list[Entry]:
    """One queue, with the drawn entries spread evenly: annotators may stop at any point."""
    total = len(chosen) + len(drawn)
    queue: list[Entry] = []
    used = 0
    for rank in range(total):
        due = (rank + 1) * len(drawn) // total
        queue.append(drawn[used] if due > used else chosen[rank - used])
        used += due > used
    return queue
