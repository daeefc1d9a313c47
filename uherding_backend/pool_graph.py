"""The neighbour graph of a project's pool: built once, kept in a file, used by every round."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from model.arrays import Features, Rows
from model.errors import ModelError
from model.greedy import ignore
from model.large import EXACT_UP_TO
from model.neighbours import MOST_OPEN, NeighbourGraph
from uherding_backend.caching import dispensable

log = logging.getLogger(__name__)

LEAST_IMAGES = 10_000  # below, a selection without a graph takes half a second
IMAGES_PER_LABEL = 50  # beyond EXACT_UP_TO, where comparing all images takes many minutes
SMALLER = 0.5  # share of its pairs at which a graph is written anew


@dataclass(frozen=True)
class PoolGraph:
    """Finds, builds and keeps the graph of one project.

    Attributes:
        directory: Where the project keeps its files.
        features: The whole pool.
        on_progress: Called with the share that is done, if a graph must be built.
    """

    directory: Path
    features: Features
    on_progress: Callable[[float], None] = ignore

    def for_labels(self, labeled: Rows) -> NeighbourGraph | None:
        """From its file or else built around the labels; None if it would be too large."""
        return self._narrowed(labeled) or self._built(labeled)

    def prepare(self, expected: Rows) -> bool:
        """Build it around images that will have a label in the next round.

        Returns:
            False if it is there already, or would be too large.
        """
        return not self._path.exists() and self._built(expected) is not None

    def _narrowed(self, labeled: Rows) -> NeighbourGraph | None:
        """What of the file still matters; None if too many images have no label in reach."""
        graph = self._read()
        if graph is None:
            return None
        squared = graph.squared_to_labels(self.features, labeled)
        if np.isinf(squared).mean() > MOST_OPEN:
            return None
        narrowed = graph.narrowed(squared)
        if len(narrowed.pairs) < SMALLER * len(graph.pairs):
            self._write(narrowed)
        return narrowed

    def _built(self, centres: Rows) -> NeighbourGraph | None:
        graph = NeighbourGraph.around(self.features, centres, on_progress=self.on_progress)
        if graph is not None:
            self._write(graph)
        return graph

    def _read(self) -> NeighbourGraph | None:
        if not self._path.exists():
            return None
        try:
            return NeighbourGraph.load(self._path)
        except ModelError as error:
            log.warning("%s", error)
            return None

    def _write(self, graph: NeighbourGraph) -> None:
        """In one go; files of earlier pools are deleted."""
        with dispensable(self._path):
            for other in {*self.directory.glob("neighbours-*")} - {self._path}:
                other.unlink()
            graph.save(self._path)

    @cached_property
    def _path(self) -> Path:
        digest = hashlib.blake2b(np.ascontiguousarray(self.features).data, digest_size=12)
        return self.directory / f"neighbours-{digest.hexdigest()}.npz"


def graph_pays(images: int, labels: int) -> bool:
    """Whether rounds with so many images and labels gain from a graph."""
    return (
        labels > 0
        and images >= LEAST_IMAGES
        and (images <= EXACT_UP_TO or labels * IMAGES_PER_LABEL >= images)
    )
