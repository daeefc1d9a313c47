"""What every part of a round has at hand, and how it says what it is doing."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from uherding_backend.labelstudio import LabelStudio
from uherding_backend.publishing import version_name
from uherding_backend.settings import Settings
from uherding_backend.stopwatch import Stopwatch
from uherding_backend.store import Project, Round, Store


@dataclass(frozen=True, slots=True)
class RoundWork:
    """One round of one project."""

    store: Store
    settings: Settings
    studio: LabelStudio
    project: Project
    round: Round
    clock: Callable[[], float]
    stopwatch: Stopwatch

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Name what is done in the block, and take its time."""
        self.progress(name, 0.0)
        with self.stopwatch.step(name):
            yield

    def progress(self, step: str, done: float) -> None:
        """Say how far a step is, from 0 to 1."""
        self.store.rounds.progress(self.round.id, step, done, self.clock())

    def new_version(self) -> str:
        """A model_version that Label Studio has never heard of."""
        return version_name(self.project.id, self.round.id, secrets.token_hex(3))
