"""ActiveFT (Xie et al. 2023): learn points that stand for the pool and keep apart."""

import numpy as np
import torch
from torch.nn.functional import normalize

from model.arrays import NO_ROWS, Features, Mask, Rows
from model.classifier import one_thread
from model.kernels import blocks

LEARNING_RATE = 1e-3


def activeft(  # noqa: PLR0913 (the last three have names at every call)
    features: Features,
    count: int,
    available: Mask,
    generator: np.random.Generator,
    *,
    iterations: int = 300,
    temperature: float = 0.07,
    balance: float = 1.0,
) -> Rows:
    """Choose the rows nearest to learned points, in no particular order.

    Each point in turn takes the available row with the largest cosine that is not taken yet;
    ties go to the lowest row.

    Args:
        features: The whole pool, which the points are to stand for.
        count: How many rows to choose; all that are available if there are fewer.
        available: False for rows that must not be chosen.
        generator: Decides the available rows where the points start.
        iterations: Steps of Adam.
        temperature: Cosines are divided by it: the smaller, the more the nearest points repel.
        balance: Weight of keeping apart against standing for the pool; 0 = do not keep apart.
    """
    candidates = np.flatnonzero(available)
    wanted = min(count, len(candidates))
    if wanted <= 0:
        return NO_ROWS
    pool = torch.tensor(features)
    start = pool[torch.from_numpy(generator.choice(candidates, wanted, replace=False))]
    with one_thread():
        points = _learn(pool, start, iterations, temperature, balance)
        return _nearest_distinct(points @ pool.T, available)


def _learn(
    pool: torch.Tensor, start: torch.Tensor, iterations: int, temperature: float, balance: float
) -> torch.Tensor:
    """Points on the unit sphere, (k, d), after some steps of Adam."""
    points = start.clone().requires_grad_()
    optimizer = torch.optim.Adam([points], lr=LEARNING_RATE)
    for _ in range(iterations):
        optimizer.zero_grad()
        unit = normalize(points)
        loss = -closeness(pool, unit, temperature) + balance * crowding(unit, temperature)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return normalize(points).detach()


def closeness(pool: torch.Tensor, points: torch.Tensor, temperature: float) -> torch.Tensor:
    """Mean over the pool of the cosine to the nearest point, divided by the temperature.

    Only the nearest point has a gradient, so that the pool can be summed up point by point first:
    no more than a block of (n, k) cosines is in memory at a time.
    """
    sums = torch.zeros_like(points)  # (k, d), of all rows nearest to the point
    with torch.no_grad():
        for block in blocks(len(pool), len(points)):
            sums.index_add_(0, (pool[block] @ points.T).argmax(dim=1), pool[block])
    return (sums * points).sum() / (len(pool) * temperature)


def crowding(points: torch.Tensor, temperature: float) -> torch.Tensor:
    """Mean over points of log sum of exp(cosine / temperature) to all others; 0 for one point."""
    if len(points) == 1:
        return torch.zeros(())
    cosines = points @ points.T / temperature
    alone = torch.eye(len(points), dtype=torch.bool)
    return cosines.masked_fill(alone, -torch.inf).logsumexp(dim=1).mean()


def _nearest_distinct(cosines: torch.Tensor, available: Mask) -> Rows:
    """For each point, (k, n), the nearest available row that no earlier point has taken."""
    free = torch.from_numpy(available.copy())
    rows = []
    for to_pool in cosines:
        rows.append(int(to_pool.masked_fill(~free, -torch.inf).argmax()))
        free[rows[-1]] = False
    return np.array(rows, dtype=np.int64)
