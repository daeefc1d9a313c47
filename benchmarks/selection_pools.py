"""The pools that `benchmarks.selection` chooses from: made up, or features of real images."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from benchmarks.console import tell
from benchmarks.result_files import CACHE
from model.arrays import Features, Rows, Uncertainty
from model.radius import DEFAULT_RADIUS, labeled_radius

if TYPE_CHECKING:
    from model.neighbours import NeighbourGraph

REAL = ("fashion-mnist", "patches")
DIMENSION, CLUSTERS, INNER, CHUNK = 384, 100, 24, 10_000
EARLIER = 4  # one in so many labels was there when the graph was built


@dataclass(frozen=True)
class Case:
    """What is to be chosen; batch 0 = something done to the pool whatever is chosen."""

    data: str
    n: int
    batch: int = 0
    labels: int = 0

    def __str__(self) -> str:
        wanted = f", batch {self.batch:,}, {self.labels:,} labels" if self.batch else ""
        return f"{self.data} {self.n:,}{wanted}"


@dataclass(frozen=True)
class Pool:
    """A case, in memory; meanings as in `select`."""

    features: Features
    uncertainty: Uncertainty
    labeled: Rows
    radius: float
    count: int
    graph: NeighbourGraph | None = None

    @classmethod
    def of(cls, case: Case, features: Features, radius: float | None = None) -> Pool:
        generator = np.random.default_rng(1)
        labeled = np.sort(generator.permutation(case.n)[: case.labels])
        uncertainty = generator.random(case.n) if case.labels else np.ones(case.n)
        uncertainty[labeled] = 0.0
        if radius is None:
            known = case.labels > 0
            radius = labeled_radius(features, labeled).value if known else DEFAULT_RADIUS
        return cls(features, uncertainty, labeled, radius, case.batch)

    @property
    def weights(self) -> NDArray[np.float64]:
        return self.uncertainty / len(self.features)


def clustered(n: int) -> Iterator[Features]:
    """Seeded: clusters of unequal size, each spread along a few directions and a bit along all."""
    generator = np.random.default_rng(0)
    shares = generator.dirichlet(np.full(CLUSTERS, 0.7))
    centres = generator.normal(size=(CLUSTERS, DIMENSION)) / np.sqrt(DIMENSION)
    basis = generator.normal(size=(INNER, DIMENSION)) / np.sqrt(DIMENSION)
    for start in range(0, n, CHUNK):
        size = min(CHUNK, n - start)
        rows = centres[generator.choice(CLUSTERS, size, p=shares)]
        rows += 0.7 * (generator.normal(size=(size, INNER)) @ basis) / np.sqrt(INNER)
        rows += 0.3 * generator.normal(size=(size, DIMENSION)) / np.sqrt(DIMENSION)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        yield rows.astype(np.float32)


def real() -> Features:
    """All images of a part, those to choose from first; one extractor has seen them all."""
    from benchmarks.datasets import Part, feature_split

    dataset, extractor = REAL
    split = feature_split(dataset, Part.JUDGED, extractor)
    return np.concatenate([split.pool, split.test])


@dataclass(frozen=True)
class Files:
    """Features and graphs of this run, in a directory that goes when it ends."""

    directory: Path

    def features(self, data: str, n: int) -> Path | None:
        """Written when first asked for; None if there are not as many rows."""
        path = self.directory / f"{data}-{n}.npy"
        if path.exists():
            return path
        return self._write_clustered(path, n) if data == "clustered" else self._write_real(path, n)

    def graph(self, case: Case, features: Path) -> Path:
        """As an earlier round with a quarter of the labels left it; built when first asked for."""
        from model.neighbours import NeighbourGraph

        path = self.directory / f"{case.data}-{case.n}-{case.labels}-graph.npz"
        if not path.exists():
            tell(f"building the graph of {case.n:,} {case.data} rows")
            pool = Pool.of(case, np.load(features), radius=1.0)
            graph = NeighbourGraph.around(pool.features, pool.labeled[::EARLIER])
            if graph is None:
                raise SystemExit(f"{case}: there is no place for the graph.")
            graph.save(path)
        return path

    def _write_clustered(self, path: Path, n: int) -> Path:
        tell(f"making {n:,} clustered rows")
        memory = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, DIMENSION))
        for place, rows in enumerate(clustered(n)):
            memory[place * CHUNK : place * CHUNK + len(rows)] = rows
        memory.flush()  # writing must not go on under a measurement
        return path

    def _write_real(self, path: Path, n: int) -> Path | None:
        everything = self.directory / "real.npy"
        if not everything.exists():
            tell(f"features of {' with '.join(REAL)}; computed if they are not in {CACHE}")
            try:
                np.save(everything, real())
            except (OSError, subprocess.CalledProcessError) as error:
                tell(f"real features are left out: {error}")
                np.save(everything, np.empty((0, 0)))
        rows = np.load(everything, mmap_mode="r")
        if len(rows) < n:
            return None
        np.save(path, rows[:n])
        return path
