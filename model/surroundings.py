"""Why an image: how many images like it have no label near them."""

import numpy as np
from numpy.typing import NDArray

from model.arrays import Features, Rows
from model.kernels import blocks


def unlabeled_company(
    features: Features, chosen: Rows, labeled: Rows, radius: float
) -> NDArray[np.int64]:
    """For each chosen row, the images within the radius that no label is as near to, (chosen,).

    The chosen image itself is not counted.

    Args:
        features: The whole pool.
        chosen: Rows of the queue.
        labeled: Rows with a label.
        radius: How near is near, in feature units.
    """
    alone = ~_near_any(features, labeled, radius)  # (n,)
    counts = np.zeros(len(chosen), dtype=np.int64)
    least = 1.0 - radius**2 / 2.0  # cosine of unit rows at that distance
    strangers = features[alone]
    for block in blocks(len(chosen), max(1, len(strangers))):
        cosines = features[chosen[block]] @ strangers.T  # (rows, strangers)
        counts[block] = (cosines >= least).sum(axis=1)
    return counts - alone[chosen]


def _near_any(features: Features, labeled: Rows, radius: float) -> NDArray[np.bool_]:
    near = np.zeros(len(features), dtype=np.bool_)
    least = 1.0 - radius**2 / 2.0
    for block in blocks(len(features), max(1, len(labeled))):
        cosines = features[block] @ features[labeled].T  # (rows, labelled)
        near[block] = (cosines >= least).any(axis=1)
    near[labeled] = True
    return near
