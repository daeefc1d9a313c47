"""The radius of the kernel: how far one labelled image is taken to speak for its neighbours."""

from dataclasses import dataclass

import numpy as np

from model.arrays import Features, Rows
from model.kernels import blocks, squared_distances

# As in the runs of the paper. On Fashion-MNIST (5 pools of 2,000; the first 20 and 50 picks) it
# gave 67 % and 76 % accuracy, random picks 50 % and 67 %. Radii from 0.7 to 2 and the median
# distance (1.43) were not better beyond the spread between pools, 2 %.
DEFAULT_RADIUS = 1.0
# On the tuning images of benchmarks/datasets.py the median was ahead of the smallest distance with
# few labels and level with it later; docs/quality.md has the figures.
TYPICAL = 0.5
SMALLEST = 0.0  # the paper's
NEAR_DUPLICATE = 1e-3  # closer labelled images are copies of one image, not neighbours


@dataclass(frozen=True, slots=True)
class Radius:
    """A distance in feature units, and a sentence when something about it should be known."""

    value: float
    note: str


def labeled_radius(features: Features, labeled: Rows, *, quantile: float = TYPICAL) -> Radius:
    """How far a labelled image typically is from the labelled image nearest to it.

    The paper takes the smallest of these distances, which two similar images among hundreds
    decide. Copies (distance below NEAR_DUPLICATE) are left out. Where no distance remains,
    DEFAULT_RADIUS holds.

    Args:
        features: The whole pool.
        labeled: Rows with a label.
        quantile: Which of the distances: 0 = the smallest, 0.5 = the median.
    """
    points = features[labeled].astype(np.float64)
    nearest = np.full(len(points), np.inf)
    copies = 0
    for block in blocks(len(points), len(points)):
        squared = squared_distances(points[block], points)  # (rows, labelled)
        rows = np.arange(len(points))[block, None]
        others = np.arange(len(points)) != rows
        distances = np.sqrt(squared)
        apart = distances >= NEAR_DUPLICATE
        nearest[block] = distances.min(axis=1, where=apart & others, initial=np.inf)
        copies += int((~apart & (np.arange(len(points)) < rows)).sum())  # each pair once
    if np.isfinite(nearest).any():
        value = float(np.quantile(nearest[np.isfinite(nearest)], quantile))
        return Radius(value, _copies_note(copies))
    return Radius(DEFAULT_RADIUS, _default_note(len(labeled)))


def _copies_note(copies: int) -> str:
    if copies == 0:
        return ""
    pairs = "1 pair" if copies == 1 else f"{copies} pairs"
    return f"{pairs} of labelled images are nearly identical; the radius leaves them out."


def _default_note(labeled: int) -> str:
    reason = "fewer than two images are" if labeled < 2 else "only copies of one image are"
    return f"The radius is the default {DEFAULT_RADIUS:g}, because {reason} labelled."
