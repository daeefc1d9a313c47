"""Why a task is in the queue, as a sentence. Pure."""

from __future__ import annotations

from model.names import STRATEGY_NAMES
from uherding_backend.store.round_records import QueueEntry

NEW_REGION = 5  # images like it without a label near them: fewer are no region
UNDECIDED = 0.5  # margins below one half


def why(entry: QueueEntry, strategy: str) -> str:
    """The sentence that people read beside a task.

    Args:
        entry: The task.
        strategy: That chose it.
    """
    if entry.audit:
        return "drawn at random for the audit slice: it is judged by and not trained on"
    reasons = []
    if entry.company >= NEW_REGION:
        reasons.append(f"new region: {entry.company:,} similar images have no label near them")
    if entry.second and entry.uncertainty >= UNDECIDED:
        reasons.append(f"model undecided between {entry.predicted} and {entry.second}")
    if not reasons and entry.company:
        similar = (
            "1 similar image has" if entry.company == 1 else f"{entry.company} similar images have"
        )
        reasons.append(f"{similar} no label near")
    if not reasons:
        reasons.append(_by_strategy(entry, strategy))
    return "; ".join(reasons)


def _by_strategy(entry: QueueEntry, strategy: str) -> str:
    if strategy.startswith("uherding") and entry.uncertainty > 0:
        return "stands for images around it whose classes are not certain yet"
    return f"{strategy}: {STRATEGY_NAMES.get(strategy, 'as it ranks').rstrip('.').lower()}"
