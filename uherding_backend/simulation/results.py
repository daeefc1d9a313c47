"""The files of a simulation: results.csv, which a kill at any moment leaves usable."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from model.simulate import Step
from uherding_backend.errors import UHerdingError

COLUMNS = ("strategy", "seed", "labels", "accuracy", "seconds")
HEADER = ",".join(COLUMNS) + "\n"

Key = tuple[str, int]  # strategy, seed


@dataclass(frozen=True, slots=True)
class Curve:
    """One learning curve: one strategy, one seed."""

    strategy: str
    seed: int
    steps: tuple[Step, ...]

    @property
    def key(self) -> Key:
        """What tells it from the other curves of a simulation."""
        return self.strategy, self.seed

    @property
    def labels(self) -> tuple[int, ...]:
        """Where it was measured."""
        return tuple(step.labels for step in self.steps)


@dataclass(frozen=True, slots=True)
class Results:
    """The curves in one directory; a curve counts when all its budgets are there."""

    directory: Path
    budgets: tuple[int, ...]

    @classmethod
    def open(
        cls, directory: Path, settings: Mapping[str, object], budgets: tuple[int, ...]
    ) -> Results:
        """Start in a new directory, or go on in one that has the same settings.

        Args:
            directory: Made if it is missing.
            settings: What curves must have in common to be compared; kept in settings.json.
            budgets: Of every curve.
        """
        directory.mkdir(parents=True, exist_ok=True)
        results = cls(directory, budgets)
        results._claim({**settings, "budgets": list(budgets)})
        results._keep_complete()
        return results

    @property
    def path(self) -> Path:
        """The file with the curves."""
        return self.directory / "results.csv"

    def curves(self) -> dict[Key, Curve]:
        """All complete curves."""
        steps: dict[Key, list[Step]] = {}
        for strategy, seed, labels, accuracy, seconds in self._rows():
            step = Step(int(labels), float(accuracy), float(seconds))
            steps.setdefault((strategy, int(seed)), []).append(step)
        found = (Curve(*key, tuple(steps[key])) for key in steps)
        return {curve.key: curve for curve in found if curve.labels == self.budgets}

    def append(self, curve: Curve) -> None:
        """Add a finished curve; on disk when this returns."""
        with self.path.open("ab") as file:
            file.write(_lines([curve]).encode())
            file.flush()
            os.fsync(file.fileno())

    def _claim(self, settings: Mapping[str, object]) -> None:
        path = self.directory / "settings.json"
        if not self.path.exists():
            replace_file(path, json.dumps(settings, indent=2) + "\n")
            return
        there = _json(path)
        other = [name for name, value in settings.items() if there.get(name) != value]
        if other:
            raise UHerdingError(
                f"{self.path} was made with another {' and another '.join(other)}. Choose another "
                f"--output, or remove {self.directory} to start anew."
            )

    def _keep_complete(self) -> None:
        """Drop what a killed run left of its last curve."""
        complete = _lines(self.curves().values()) if self.path.exists() else ""
        replace_file(self.path, HEADER + complete)

    def _rows(self) -> list[list[str]]:
        lines = self.path.read_text(encoding="utf-8").splitlines(keepends=True)
        if lines and not lines[-1].endswith("\n"):
            lines.pop()  # cut in the middle: what is left of a number may look like one
        if lines and lines[0] != HEADER:
            raise UHerdingError(
                f"{self.path} does not begin with the line {HEADER.strip()!r}. Choose another "
                "--output, or remove the file to start anew."
            )
        rows = list(csv.reader(lines[1:]))
        for number, row in enumerate(rows, start=2):
            if not _is_step(row):
                raise UHerdingError(
                    f"Line {number} of {self.path} is not a result: {','.join(row)!r}. Remove the "
                    "line; its curve is then computed again."
                )
        return rows


def replace_file(path: Path, text: str) -> None:
    """Write a file whole: a crash leaves the old one or the new one."""
    new = path.with_name(path.name + ".tmp")
    with new.open("w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def _lines(curves: Iterable[Curve]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for curve in curves:
        for step in curve.steps:
            accuracy, seconds = f"{step.accuracy:.6f}", f"{step.seconds:.4f}"
            writer.writerow([curve.strategy, curve.seed, step.labels, accuracy, seconds])
    return text.getvalue()


def _is_step(row: list[str]) -> bool:
    try:
        _, _, _ = int(row[1]), int(row[2]), [float(number) for number in row[3:]]
    except (ValueError, IndexError):
        return False
    return len(row) == len(COLUMNS)


def _json(path: Path) -> dict[str, object]:
    """What is in settings.json; nothing if it is missing or unreadable."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
