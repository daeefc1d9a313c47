"""How long each step of a round took, and how much of that was waiting for Label Studio."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Stopwatch:
    """Seconds by step; a step that comes twice is added up.

    Attributes:
        waited: Seconds that Label Studio's answers took so far.
        now: Seconds since any moment.
    """

    waited: Callable[[], float]
    now: Callable[[], float] = time.perf_counter
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    label_studio_seconds: defaultdict[str, float] = field(
        default_factory=lambda: defaultdict(float)
    )

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Measure what happens in the block."""
        began, waited = self.now(), self.waited()
        yield
        self.seconds[name] += self.now() - began
        if self.waited() > waited:
            self.label_studio_seconds[name] += self.waited() - waited

    def added_to(self, report: Mapping[str, Any]) -> dict[str, Any]:
        """The report with these seconds; of steps that were measured before, the later ones."""
        measured = {"seconds": self.seconds, "label_studio_seconds": self.label_studio_seconds}
        return dict(report) | {
            key: {**report.get(key, {}), **{step: round(s, 3) for step, s in found.items()}}
            for key, found in measured.items()
        }
