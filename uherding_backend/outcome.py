"""What a round leaves for predictions: one .npz file, written whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.arrays import Probabilities
from model.classifier import Classifier, LinearClassifier
from model.classifiers import classifier_arrays, classifier_from
from model.files import save_arrays
from model.pipeline import Ranking
from uherding_backend.labels import ProjectId, TaskId
from uherding_backend.store import Store
from uherding_backend.store.round_records import RoundId

CLASSIFIER = "classifier."  # begins the keys of the classifier's arrays


@dataclass(frozen=True, slots=True)
class Outcome:
    """A published round's model and its view of the pool.

    Attributes:
        classes: Class names; a column of ``probabilities`` each.
        tasks: The pool's tasks, in the order of the rows.
        classifier: None before the first label.
    """

    classes: tuple[str, ...]
    tasks: Mapping[TaskId, int]
    probabilities: Probabilities
    uncertainty: NDArray[np.float64]
    classifier: Classifier | None
    temperature: float


def outcome_path(store: Store, project: ProjectId, round_id: RoundId) -> Path:
    """Where a round's outcome is."""
    return store.project_dir(project) / f"round-{round_id}.npz"


def save_outcome(
    path: Path, tasks: Sequence[TaskId], classes: Sequence[str], ranking: Ranking
) -> None:
    """Write the outcome; a process killed meanwhile leaves the old file or none."""
    arrays: dict[str, NDArray[Any]] = {
        "tasks": np.array(tasks, dtype=np.int64),
        "classes": np.array(classes, dtype=np.str_),
        "probabilities": ranking.probabilities.astype(np.float32),
        "uncertainty": ranking.uncertainty.astype(np.float32),
        "temperature": np.array(ranking.temperature),
    }
    if ranking.classifier is not None:
        parts = classifier_arrays(ranking.classifier)
        arrays |= {f"{CLASSIFIER}{key}": part for key, part in parts.items()}
    save_arrays(path, arrays)


def load_outcome(path: Path) -> Outcome:
    """Read an outcome; nothing in it can run code."""
    with np.load(path, allow_pickle=False) as stored:
        return Outcome(
            classes=tuple(str(name) for name in stored["classes"]),
            tasks={TaskId(int(task)): row for row, task in enumerate(stored["tasks"])},
            probabilities=stored["probabilities"].astype(np.float64),
            uncertainty=stored["uncertainty"].astype(np.float64),
            classifier=_classifier(stored),
            temperature=float(stored["temperature"]),
        )


def _classifier(stored: Mapping[str, NDArray[Any]]) -> Classifier | None:
    if "weights" in stored:  # as written before there were other classifiers
        return LinearClassifier(stored["weights"], stored["bias"], stored["class_ids"])
    parts = {
        key.removeprefix(CLASSIFIER): stored[key] for key in stored if key.startswith(CLASSIFIER)
    }
    return classifier_from(parts) if parts else None
