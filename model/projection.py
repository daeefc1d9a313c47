"""A map of the pool: two coordinates for each image, so that similar images lie together.

A random sample is laid out as UMAP does it: linked to its nearest neighbours, links pull, random
others push. Everything else, new images too, is put beside the images of the sample that it
resembles most. What has a place keeps it, so that the map looks the same from round to round.
"""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from model.arrays import Features, Rows
from model.greedy import ignore

Places = NDArray[np.float32]  # (n, 2)

SAMPLE = 10_000  # rows that are laid out; more looks the same and takes longer
NEIGHBOURS = 12
EPOCHS = 250
PUSHES = 5  # random others that push, for each link
COMPONENTS = 50  # principal directions in which neighbours are looked for
SPREAD = (1.577, 0.895)  # UMAP's curve for a least distance of 0.1
BESIDE = 3  # neighbours that decide the place of a row outside of the sample
BLOCK = 4_000_000  # products computed at once, 16 MB


def lay_out(
    features: Features, *, seed: int, on_progress: Callable[[float], None] = ignore
) -> Places:
    """Places for a whole pool.

    Args:
        features: The pool.
        seed: Decides the sample and the pushes.
        on_progress: Called with the share that is done.
    """
    generator = np.random.default_rng(seed)
    sample = np.sort(generator.permutation(len(features))[:SAMPLE])
    places = np.empty((len(features), 2), dtype=np.float32)
    places[sample] = _spread_out(features[sample], seed, on_progress)
    rest = np.setdiff1d(np.arange(len(features)), sample)
    places[rest] = place_beside(features[rest], features[sample], places[sample], seed=seed)
    return places


def place_beside(features: Features, known: Features, places: Places, *, seed: int) -> Places:
    """Places for more images on a map that exists; nothing on it moves.

    Args:
        features: Of the new images.
        known: Of the images on the map, at least one.
        places: Of these.
        seed: Decides small shifts that keep copies from hiding each other.
    """
    if len(features) == 0:
        return np.empty((0, 2), dtype=np.float32)
    rows, cosines = _nearest(features, known, min(BESIDE, len(known)))
    closeness = np.exp((cosines - cosines[:, :1]) * 20.0)  # the nearest one counts most
    closeness /= closeness.sum(axis=1, keepdims=True)
    beside = np.einsum("nk,nkd->nd", closeness, places[rows])
    size = float(np.ptp(places, axis=0).max()) or 1.0
    shift = np.random.default_rng(seed).normal(scale=0.004 * size, size=beside.shape)
    return np.asarray(beside + shift, dtype=np.float32)


def _spread_out(features: Features, seed: int, on_progress: Callable[[float], None]) -> Places:
    start, reduced = _principal(features)
    if len(features) <= 3:
        return start
    count = min(NEIGHBOURS, len(features) - 1)
    rows, _ = _nearest(reduced, reduced, count + 1)
    heads = np.repeat(np.arange(len(features)), count)
    tails = _without_itself(rows, count).ravel()
    places = torch.from_numpy(start * (10.0 / (np.abs(start).max() or 1.0)))
    links = torch.from_numpy(np.stack([heads, tails]))
    chance = torch.Generator().manual_seed(seed)
    for epoch in range(EPOCHS):
        _pull_and_push(places, links, 1.0 - epoch / EPOCHS, chance)
        on_progress((epoch + 1) / EPOCHS)
    return _closed_up(places.numpy())


def _closed_up(places: Places) -> Places:
    """Less empty space between groups: half of each coordinate is its rank."""
    ranks = places.argsort(axis=0, kind="stable").argsort(axis=0) / max(1, len(places) - 1)
    low = places.min(axis=0)
    spread = places.max(axis=0) - low
    return np.asarray((places + low + ranks * spread) / 2, dtype=np.float32)


def _pull_and_push(
    places: torch.Tensor, links: torch.Tensor, rate: float, chance: torch.Generator
) -> None:
    """One step of UMAP's gradient descent, all links at once; moves `places`."""
    a, b = SPREAD
    heads, tails = links
    apart = places[heads] - places[tails]  # (links, 2)
    squared = (apart * apart).sum(dim=1, keepdim=True).clamp_(min=1e-6)
    pull = apart * (-2.0 * a * b * squared ** (b - 1.0) / (1.0 + a * squared**b))
    pull.clamp_(-4.0, 4.0)
    moves = torch.zeros_like(places)
    moves.index_add_(0, heads, pull)
    moves.index_add_(0, tails, -pull)
    # A push is computed once for each row and counted for all of its links.
    others = torch.randint(len(places), (len(places), PUSHES), generator=chance)
    away = places[:, None, :] - places[others]  # (n, pushes, 2)
    far = (away * away).sum(dim=2, keepdim=True)
    push = away * (2.0 * b / ((0.001 + far) * (1.0 + a * far**b)))
    moves += push.clamp_(-4.0, 4.0).sum(dim=1) * (len(heads) / len(places))
    degree = 2.0 * len(heads) / len(places)
    places += moves.clamp_(-4.0 * degree, 4.0 * degree) * (rate / degree)


def _principal(features: Features) -> tuple[Places, Features]:
    """Where to start, and the features in fewer dimensions."""
    centred = torch.from_numpy(features - features.mean(axis=0))
    _, vectors = torch.linalg.eigh(centred.T @ centred)
    directions = vectors.flip(1)[:, :COMPONENTS]
    signs = torch.sign(directions.sum(dim=0))  # eigenvectors come with any sign
    reduced = (centred @ (directions * torch.where(signs == 0, 1.0, signs))).numpy()
    start = np.zeros((len(features), 2), dtype=np.float32)
    start[:, : min(2, reduced.shape[1])] = reduced[:, :2]
    return start, np.ascontiguousarray(reduced)


def _nearest(
    features: Features, known: Features, count: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """For each row the nearest known rows and minus half their squared distances, near to far."""
    right = torch.from_numpy(known)
    half = (right * right).sum(dim=1) / 2.0
    step = max(1, BLOCK // len(known))
    rows = np.empty((len(features), count), dtype=np.int64)
    values = np.empty((len(features), count), dtype=np.float32)
    for begin in range(0, len(features), step):
        left = torch.from_numpy(features[begin : begin + step])
        scores = left @ right.T - half
        best = scores.topk(count, dim=1)
        rows[begin : begin + step] = best.indices.numpy()
        values[begin : begin + step] = best.values.numpy()
    return rows, values


def _without_itself(rows: NDArray[np.int64], count: int) -> Rows:
    """Neighbour lists without the row itself, which copies may have pushed out of the list."""
    own = rows == np.arange(len(rows))[:, None]
    own[~own.any(axis=1), -1] = True
    return np.asarray(rows[~own].reshape(len(rows), count))
