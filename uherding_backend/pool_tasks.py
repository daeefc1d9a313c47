"""Which tasks a project has: not listed again while there is no sign that they changed.

Label Studio needs 8 seconds to list 20,000 tasks, for which annotators would wait in every round.
"""

from __future__ import annotations

from uherding_backend.labels import ProjectId
from uherding_backend.store import Store

TRUSTED_SECONDS = 3600.0  # nothing tells of another image in an old task


def tasks_are_known(
    store: Store, project: ProjectId, data_key: str, task_count: int, now: float
) -> bool:
    """Whether a round may go by the stored tasks.

    They are doubted when Label Studio tells of tasks or has another number of them, when somebody
    asks for a round, after a failure, and when the project is connected again.

    Args:
        store: Everything that is kept.
        project: Whose tasks.
        data_key: Where a task's data has its image now.
        task_count: How many tasks Label Studio has now.
        now: Seconds since the epoch.
    """
    listed = store.pool.listing(project)
    return (
        listed is not None
        and listed.data_key == data_key
        and listed.doubts == store.projects.get(project).task_doubts
        and 0.0 <= now - listed.at < TRUSTED_SECONDS
        and store.counts.get(project).tasks == task_count
    )
