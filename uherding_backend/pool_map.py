"""The map of a project's pool: places that stay, and what the last round knows of each image.

A round writes it as the compressed file that the browser gets, so that nothing is computed when
somebody looks.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.arrays import Features
from model.files import load_arrays, save_arrays
from model.projection import Places, lay_out, place_beside
from uherding_backend.labels import ProjectId, TaskId
from uherding_backend.outcome import Outcome, load_outcome, outcome_path
from uherding_backend.project_extractor import stored_features
from uherding_backend.store import Round, Store

PLACES = "map-places.npz"
NEVER_SEEN_BEFORE = 0.5  # of the images: then the whole map is drawn anew
SAME = 1e-4  # fingerprints closer than this are of the same features
SIDE = 10_000  # the longer side of the map, in the whole numbers that browsers get


@dataclass(frozen=True, slots=True)
class PoolMap:
    """Draws the map of one round."""

    store: Store
    project: ProjectId
    round: Round
    on_progress: Callable[[float], None]

    def draw(self) -> None:
        """Write the round's map; maps of earlier rounds go."""
        outcome = load_outcome(outcome_path(self.store, self.project, self.round.id))
        tasks = list(outcome.tasks)
        directory = self.store.project_dir(self.project)
        features = stored_features(self.store, self.round, tasks)
        places = pool_places(directory, tasks, features, self.on_progress)
        path = self.store.map_path(self.project, self.round.id)
        text = json.dumps(self._columns(tasks, places, outcome), separators=(",", ":"))
        _write(path, gzip.compress(text.encode(), compresslevel=6, mtime=0))
        for earlier in set(directory.glob("map-*.json.gz")) - {path}:
            earlier.unlink(missing_ok=True)

    def _columns(self, tasks: list[TaskId], places: Places, outcome: Outcome) -> dict[str, Any]:
        labels = self.store.rounds.labels(self.round.id)
        number = {name: at for at, name in enumerate(outcome.classes)}
        ranks = {e.task: rank for rank, e in enumerate(self.store.rounds.queue(self.round.id))}
        predicted = outcome.probabilities.argmax(axis=1)
        x, y = _whole_numbers(places)
        return {
            "round": self.round.id,
            "classes": list(outcome.classes),
            "task": tasks,
            "x": x,
            "y": y,
            "label": [number.get(labels.get(task, ""), -1) for task in tasks],
            "predicted": predicted.tolist() if outcome.classifier else [-1] * len(tasks),
            "uncertainty": np.rint(100 * outcome.uncertainty).astype(np.int64).tolist(),
            "rank": [ranks.get(task, -1) for task in tasks],
        }


def pool_places(
    directory: Path,
    tasks: list[TaskId],
    features: Features,
    on_progress: Callable[[float], None],
) -> Places:
    """A place for every task; those that had one with the same features keep it.

    Args:
        directory: Where the project keeps its files.
        tasks: Of the pool.
        features: Their rows.
        on_progress: Called with the share that is done, if a map must be drawn anew.
    """
    fingerprints = _fingerprints(features)
    places = np.full((len(tasks), 2), np.nan, dtype=np.float32)
    path = directory / PLACES
    if path.exists():
        _keep_places(places, tasks, fingerprints, load_arrays(path))
    new = np.isnan(places[:, 0])
    if new.mean() > NEVER_SEEN_BEFORE:
        places = lay_out(features, seed=0, on_progress=on_progress)
    elif new.any():
        known = ~new
        places[new] = place_beside(features[new], features[known], places[known], seed=0)
    save_arrays(path, {"tasks": np.array(tasks), "places": places, "fingerprints": fingerprints})
    return places


def _keep_places(
    places: Places,
    tasks: list[TaskId],
    fingerprints: NDArray[np.float32],
    stored: dict[str, NDArray[Any]],
) -> None:
    row_of = {int(task): row for row, task in enumerate(stored["tasks"])}
    for row, task in enumerate(tasks):
        old = row_of.get(task)
        if old is not None and abs(stored["fingerprints"][old] - fingerprints[row]) < SAME:
            places[row] = stored["places"][old]


def _fingerprints(features: Features) -> NDArray[np.float32]:
    """A number for each row that another image, or other features, would not have."""
    direction = np.random.default_rng(0).standard_normal((features.shape[1],), dtype=np.float32)
    return np.asarray(features @ direction, dtype=np.float32)


def _whole_numbers(places: Places) -> tuple[list[int], list[int]]:
    low, high = places.min(axis=0), places.max(axis=0)
    scale = SIDE / (float((high - low).max()) or 1.0)
    scaled: NDArray[np.float32] = np.subtract(places, low) * scale + 0.5
    x, y = scaled.astype(np.int64).T.tolist()
    return x, y


def _write(path: Path, data: bytes) -> None:
    unfinished = path.with_suffix(".tmp")
    unfinished.write_bytes(data)
    unfinished.replace(path)
