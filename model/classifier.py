"""Multinomial logistic regression on fixed features, trained from zero every round."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from model.arrays import UNLABELED, Inputs, Labels, Logits
from model.errors import ModelError
from model.scipy_import import minimize

# How much one label weighs against the penalty |weights|^2 / 2. Tried from 3 to 1,000 on patches
# and EfficientNet features of CIFAR-10 and Fashion-MNIST with 20, 100 and 500 labels: 100 was
# within 1.6 points of the best accuracy everywhere. The temperature with the least log-loss was
# 0.8 to 1.2, on CIFAR-10 with patches 1.6 to 1.9; with 10 it was often below 1, where calibration
# does not look.
STRENGTH = 100.0
ITERATIONS = 300
TYPICAL_CURVATURE = 0.01  # of the loss along a logit; from 0.3 to 0.01 steps grew no more
NEGLIGIBLE = 1e-10  # share of the largest eigenvalue below which a direction holds no label


class Classifier(Protocol):
    """One logit for each class that has a label; classes without labels are not columns."""

    @property
    def classes(self) -> NDArray[np.int64]:
        """Class ids (c,), ascending."""
        ...

    def logits(self, inputs: Inputs) -> Logits:
        """Logits (n, c), column j belonging to class ``classes[j]``."""
        ...


class Train(Protocol):
    """A way to get a classifier; always from zero, and the same input gives the same one."""

    def __call__(self, inputs: Inputs, labels: Labels, *, seed: int) -> Classifier:
        """Fit labelled rows; at least one."""
        ...


@dataclass(frozen=True, slots=True)
class LinearClassifier:
    """Logits that are linear in the features."""

    weights: NDArray[np.float64]  # (d, c)
    bias: NDArray[np.float64]  # (c,)
    classes: NDArray[np.int64]  # (c,), class ids, ascending

    def logits(self, inputs: Inputs) -> Logits:
        """Logits (n, c), column j belonging to class ``classes[j]``."""
        return inputs.astype(np.float64) @ self.weights + self.bias


def train(inputs: Inputs, labels: Labels, *, seed: int = 0) -> LinearClassifier:
    """Fit the labelled rows; there is one best fit, so that the seed changes nothing.

    Args:
        inputs: Features of labelled rows only, at least one.
        labels: Their class ids. One class only gives a classifier that is sure of it.
        seed: Not used.
    """
    check_labels(inputs, labels)
    classes, columns = np.unique(labels, return_inverse=True)
    if len(classes) == 1:
        return LinearClassifier(np.zeros((inputs.shape[1], 1)), np.zeros(1), classes)
    with one_thread():
        solution = _minimise(inputs.astype(np.float64), columns.reshape(-1), len(classes))
    return LinearClassifier(solution[:-1], solution[-1], classes)


def check_labels(inputs: Inputs, labels: Labels) -> None:
    """Refuse what nothing can be trained on."""
    if len(labels) == 0 or len(labels) != len(inputs) or (labels == UNLABELED).any():
        raise ModelError(
            f"Training needs one class for each image and at least one image, got {len(inputs)} "
            f"images and {int((labels != UNLABELED).sum())} classes."
        )


@contextmanager
def one_thread() -> Iterator[None]:
    """Hundreds of tiny products: on a busy machine, threads wait for each other far longer."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _minimise(
    points: NDArray[np.float64], columns: NDArray[np.intp], classes: int
) -> NDArray[np.float64]:
    """Weights and, as the last row, bias: (d + 1, c), where penalised log-loss is least."""
    inputs = torch.from_numpy(np.hstack([points, np.ones((len(points), 1))]))
    targets = torch.from_numpy(columns.astype(np.int64))
    spectrum, basis, coordinates = _principal_axes(inputs)  # (r,), (d + 1, r), (n, r)
    # Every axis is stretched by its curvature, so that the loss is about as steep in all.
    scale = (TYPICAL_CURVATURE * spectrum + 1.0 / STRENGTH).sqrt()
    coordinates = (coordinates / scale).T.contiguous()  # (r, n): long rows, twice as fast below
    penalties = 1.0 / STRENGTH / scale**2
    wanted = torch.nn.functional.one_hot(targets, classes).T.to(torch.float64).contiguous()

    def penalised_loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        solution = torch.from_numpy(flat).view(classes, -1)
        logarithms = torch.log_softmax(solution @ coordinates, dim=0)  # (c, n)
        pull = penalties * solution  # on the bias too: with separable labels it would run away
        loss = (solution * pull).sum() / 2 - (logarithms * wanted).sum()
        gradient = (logarithms.exp() - wanted) @ coordinates.T + pull
        return float(loss) / len(targets), (gradient / len(targets)).reshape(-1).numpy()

    found = minimize(
        penalised_loss,
        np.zeros(len(spectrum) * classes),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": ITERATIONS, "maxcor": 20, "gtol": 1e-6, "ftol": 1e-12},
    )
    solution = torch.from_numpy(found.x).view(classes, -1) / scale
    return np.asarray((basis @ solution.T).numpy())


def _principal_axes(inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Squared lengths, directions and coordinates along the axes that labelled rows span.

    The best weights lie in that span, so that with fewer labels than features nothing larger
    than labels x labels is ever solved.
    """
    rows, columns = inputs.shape
    if rows < columns:
        spectrum, vectors = torch.linalg.eigh(inputs @ inputs.T)
        kept = spectrum > NEGLIGIBLE * spectrum[-1]
        spectrum, vectors = spectrum[kept], vectors[:, kept]
        lengths = spectrum.sqrt()
        return spectrum, inputs.T @ (vectors / lengths), vectors * lengths
    spectrum, vectors = torch.linalg.eigh(inputs.T @ inputs)
    kept = spectrum > NEGLIGIBLE * spectrum[-1]
    return spectrum[kept], vectors[:, kept], inputs @ vectors[:, kept]
