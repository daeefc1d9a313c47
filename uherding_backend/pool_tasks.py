"""Which tasks a project has: not read again while there is no sign that they changed.

Label Studio needs 8 seconds to list 20,000 tasks, for which annotators would wait in every round.
"""

from __future__ import annotations

from dataclasses import dataclass

from uherding_backend.due import made_by_labels
from uherding_backend.store import Round, Store

TRUSTED_SECONDS = 3600.0  # nothing tells of another image in an old task


@dataclass(frozen=True, slots=True)
class TasksKnown:
    """What a round's report says of the tasks that it went by.

    Attributes:
        data_key: Where a task's data has its image.
        read_at: When Label Studio listed them, in seconds since the epoch.
    """

    data_key: str
    read_at: float

    @classmethod
    def of_report(cls, round_: Round | None) -> TasksKnown:
        """Nothing is known before the first published round."""
        report = {} if round_ is None else round_.report
        return cls(str(report.get("data_key", "")), float(report.get("tasks_read_at", 0.0)))

    def report(self) -> dict[str, str | float]:
        """For the next round."""
        return {"data_key": self.data_key, "tasks_read_at": self.read_at}


def known_tasks(
    store: Store, round_: Round, data_key: str, task_count: int, now: float
) -> TasksKnown | None:
    """The stored tasks, if a round may go by them; None if they must be read again.

    Only rounds that labels make due may: whoever asks for a round, and a round that follows a
    failure, gets what Label Studio has.

    Args:
        store: Everything that is kept.
        round_: That is to be run.
        data_key: Where a task's data has its image now.
        task_count: How many tasks Label Studio has now.
        now: Seconds since the epoch.
    """
    known = TasksKnown.of_report(store.rounds.last_published(round_.project))
    same = known.data_key == data_key and store.counts.get(round_.project).tasks == task_count
    fresh = now < known.read_at + TRUSTED_SECONDS
    return known if same and fresh and made_by_labels(round_.reason) else None
