"""BADGE (Ash et al. 2020): how the last layer's loss gradients of two images differ.

The gradient of the predicted class's log-loss by the weights of a linear layer is, up to its
sign, the outer product of q and the features, where q is the one-hot prediction minus the
probabilities. It is short where the classifier is sure.
"""

import numpy as np
from numpy.typing import NDArray

from model.arrays import Features, Probabilities
from model.errors import ModelError

LARGEST = 10_000  # images: 0.8 GB for each of a few arrays
MOST_NUMBERS = 5 * 10**8  # 2 GB


class GradientMetric:
    """Squared distances between gradient embeddings that are never written down.

    The product of two outer products is the product of their factors' products, so that the
    n x c x d numbers are not needed. In the unit of the features, squared; 0 between two rows
    that the classifier is sure of, however far apart they are.
    """

    def __init__(self, probabilities: Probabilities, features: Features) -> None:
        self.residuals = residuals(probabilities)
        self.points = features.astype(np.float64)
        self.size = len(features)
        self.lengths = _squared_lengths(self.residuals) * _squared_lengths(self.points)  # (n,)

    def squared_distances_to(self, row: int) -> NDArray[np.float64]:
        """From every row to this one, (n,), never below 0."""
        products = (self.residuals @ self.residuals[row]) * (self.points @ self.points[row])
        return np.asarray(np.maximum(self.lengths + self.lengths[row] - 2.0 * products, 0.0))


def gradient_distances(probabilities: Probabilities, features: Features) -> NDArray[np.float64]:
    """Distances between all embeddings, (n, n); an ablation, for pools of some thousand images."""
    if len(features) > LARGEST:
        raise ModelError(
            f"This strategy compares all pairs of images in memory; it is meant for experiments "
            f"with up to {LARGEST}, not {len(features)}. Choose `badge` or `uherding`."
        )
    short, points = residuals(probabilities), features.astype(np.float64)
    products = (short @ short.T) * (points @ points.T)
    lengths = np.diagonal(products)
    squared = np.maximum(lengths[:, None] + lengths - 2.0 * products, 0.0)
    np.fill_diagonal(squared, 0.0)
    return np.asarray(np.sqrt(squared))


def residuals(probabilities: Probabilities) -> NDArray[np.float64]:
    """One-hot prediction minus probabilities, (n, c); every row sums to 0.

    Among classes that are equally likely the first one is the prediction.
    """
    predicted = np.zeros_like(probabilities)
    predicted[np.arange(len(probabilities)), probabilities.argmax(axis=1)] = 1.0
    return predicted - probabilities


def gradient_embeddings(probabilities: Probabilities, features: Features) -> NDArray[np.float32]:
    """The embeddings themselves, (n, c * d), class by class, for methods that need coordinates.

    Large: 10,000 images with 100 classes and 512 features are 2 GB. `GradientMetric` is the same
    geometry without them.
    """
    numbers = len(features) * probabilities.shape[1] * features.shape[1]
    if numbers > MOST_NUMBERS:
        raise ModelError(
            f"The loss gradients of {len(features)} images are {numbers / 1e9:.1f} billion "
            "numbers, and this strategy is meant for less. Choose `badge` or `uherding`."
        )
    short = residuals(probabilities).astype(np.float32)
    outer = short[:, :, None] * features[:, None, :].astype(np.float32)  # (n, c, d)
    return outer.reshape(len(features), -1)


def _squared_lengths(points: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.einsum("nd,nd->n", points, points))
