"""Near-copies in the pool: video frames, re-saved files. They collapse the radius."""

import numpy as np

from model.arrays import Features, Rows

THRESHOLD = 0.95  # cosine; docs/features.md shows what it finds and what it spares
BLOCK = 512  # rows: larger blocks are not faster, only larger
NOT_A_COPY = -1


def near_duplicates(features: Features, threshold: float = THRESHOLD) -> Rows:
    """For each row the first earlier row that it nearly repeats, NOT_A_COPY if there is none.

    Args:
        features: The whole pool.
        threshold: Cosine of two rows from which they count as copies.
    """
    copies = np.full(len(features), NOT_A_COPY, dtype=np.int64)
    for start in range(0, len(features), BLOCK):
        stop = min(start + BLOCK, len(features))
        similar = features[start:stop] @ features[:stop].T >= threshold  # (block, stop)
        similar &= np.arange(stop)[None, :] < np.arange(start, stop)[:, None]  # earlier rows only
        found = similar.any(axis=1)
        copies[start:stop][found] = similar.argmax(axis=1)[found]
    return copies
