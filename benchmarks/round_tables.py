"""What each step of a round took, and who took it, as tables."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from uherding_backend.settings import Settings
from uherding_backend.store import Round

QUEUE_SIZE = 3 * Settings().round_size  # as without options
OURS, LABEL_STUDIO, AFTERWARDS = "ours", "Label Studio", "ours, after the switch"
UNAWAITED = ("map",)  # steps after the switch


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


def steps(round_: Round, began: float, heard: float) -> dict[tuple[str, str], float]:
    """Every step's seconds by who took them."""
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
        whose = AFTERWARDS if step in UNAWAITED else OURS
        found[step, whose] = seconds - waited.get(step, 0.0)
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
        f"in the first round extracting the features (`{first.report['features']}`) took "
        f"{seconds['features']:.0f} s and choosing {seconds['selection']:.1f} s; deleting an old "
        "queue, later while nobody labels, is one call of Label Studio that took "
        f"{deleting:.1f} s.\n"
    )


def largest(measured: Measured) -> str:
    own = measured.of(OURS)
    step = max(own, key=lambda name: own[name])
    return f"{step}, {own[step] / sum(own.values()):.0%}"


def chosen(measured: Measured) -> float:
    own = measured.of(OURS)
    return own["selection"] + own["calibration"]


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
