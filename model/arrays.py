"""The arrays that pass between the modules, named once with their shape and their promise.

n is the number of images in the pool, d the feature dimension, c the number of classes.
"""

import numpy as np
from numpy.typing import NDArray

Features = NDArray[np.float32]  # (n, d), every row of length 1
Rows = NDArray[np.int64]  # (k,), positions in the pool
Labels = NDArray[np.int64]  # (n,), class ids from 0, UNLABELED where nobody has labelled yet
Logits = NDArray[np.float64]  # (n, c)
Probabilities = NDArray[np.float64]  # (n, c), every row sums to 1
Uncertainty = NDArray[np.float64]  # (n,), 0 = sure, 1 = cannot tell two classes apart
Mask = NDArray[np.bool_]  # (n,)
Images = NDArray[np.uint8]  # (n, height, width, 3), RGB

Inputs = Features | Images  # what a classifier sees: features, or the pixels themselves

UNLABELED = -1
NO_ROWS: Rows = np.empty(0, dtype=np.int64)
