"""Pools of several blocks, each with what makes a fast selection stumble."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model import Selection, select
from model.arrays import NO_ROWS, Features, Mask, Rows, Uncertainty
from tests.support import reference_arrays


def unit(points: NDArray[np.float64]) -> Features:
    """The same directions with length 1."""
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True), dtype=np.float32)


def spread(seed: int, size: int, dimension: int) -> Features:
    """Directions that have nothing to do with each other."""
    return unit(np.random.default_rng(seed).normal(size=(size, dimension)))


def clustered(
    seed: int, size: int, dimension: int, clusters: int = 40, width: float = 0.1
) -> Features:
    """Directions around some centres; `width` is the deviation of every coordinate."""
    generator = np.random.default_rng(seed)
    centres = spread(seed + 1, clusters, dimension)[generator.integers(clusters, size=size)]
    return unit(centres + width * generator.normal(size=(size, dimension)))


def unequal_clusters(seed: int, size: int, dimension: int, clusters: int = 40) -> Features:
    """Directions around centres of which some have many and most have few."""
    generator = np.random.default_rng(seed)
    shares = generator.dirichlet(np.full(clusters, 0.7))
    centres = spread(seed + 1, clusters, dimension)[generator.choice(clusters, size, p=shares)]
    return unit(centres + 0.1 * generator.normal(size=(size, dimension)))


def with_copies(features: Features, seed: int, size: int) -> Features:
    """So many rows, each drawn from these."""
    return features[np.random.default_rng(seed).integers(len(features), size=size)]


def some_rows(seed: int, size: int, count: int) -> Rows:
    """Different rows of a pool of this size, in any order."""
    return np.random.default_rng(seed).permutation(size)[:count].astype(np.int64)


def uncertainties(seed: int, size: int, zeros: float = 0.0) -> Uncertainty:
    """Values from 0 to 1, of which this share is 0."""
    generator = np.random.default_rng(seed)
    values = generator.random(size)
    values[generator.random(size) < zeros] = 0.0
    return values


@dataclass(frozen=True)
class Situation:
    """All that a selection depends on, and what the plain greedy chooses."""

    features: Features
    uncertainty: Uncertainty
    radius: float
    count: int
    labeled: Rows = field(default_factory=lambda: NO_ROWS)
    candidates: Mask | None = None

    def select(self, **options: Any) -> Selection:  # noqa: ANN401 - options of `select`
        return select(
            self.features,
            self.uncertainty,
            self.labeled,
            count=self.count,
            radius=self.radius,
            candidates=self.candidates,
            **options,
        )

    @cached_property
    def expected(self) -> tuple[list[int], list[float]]:
        kernel = reference_arrays.similarities(self.features, self.radius)
        return reference_arrays.select(
            kernel, self.uncertainty, self.labeled, self.count, self.candidates
        )

    def assert_chosen(self, selection: Selection) -> None:
        rows, gains = self.expected
        assert selection.rows.tolist() == rows
        np.testing.assert_allclose(selection.gains, gains, rtol=0.0, atol=1e-12)
        assert selection.error == 0.0
