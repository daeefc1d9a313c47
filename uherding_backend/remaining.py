"""How long a running round will take, by the last one and by how far this one is. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from uherding_backend.store import Round

STEPS = (
    *("labels", "tasks", "features", "images", "neighbours", "classifier", "calibration"),
    *("selection", "insights", "storing", "uploading", "switching", "map"),
)
TELLING = 0.05  # of a step must be done before its own pace says anything
# Steps that only the first round has, told by how their names begin.
PART_OF = {"choosing features": "features", "fetching": "features", "learning": "features"}


def remaining_seconds(round_: Round, before: Mapping[str, float], now: float) -> float | None:
    """Seconds until a running round is done; None if nothing tells.

    Args:
        round_: That runs.
        before: Seconds by step of the last published round; empty if there was none.
        now: Seconds since the epoch.
    """
    step = _step(round_.step)
    if round_.step_started_at is None or step not in STEPS:
        return None
    elapsed = max(0.0, now - round_.step_started_at)
    later = sum(before.get(name, 0.0) for name in STEPS[STEPS.index(step) + 1 :])
    if round_.progress >= TELLING and elapsed > 0:
        return later + elapsed * (1.0 - round_.progress) / round_.progress
    if not before:
        return None
    return later + max(0.0, before.get(step, 0.0) - elapsed)


def share_done(round_: Round, before: Mapping[str, float], now: float) -> float:
    """How far a running round is in all, from 0 to 1."""
    left = remaining_seconds(round_, before, now)
    if left is None or round_.started_at is None:
        step = _step(round_.step)
        done = STEPS.index(step) if step in STEPS else 0
        return (done + round_.progress) / len(STEPS)
    spent = max(0.0, now - round_.started_at)
    return spent / (spent + left) if spent + left > 0 else 0.0


def _step(name: str) -> str:
    return next((whole for start, whole in PART_OF.items() if name.startswith(start)), name)
