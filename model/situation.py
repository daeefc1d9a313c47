"""What a strategy may ask about a pool; each answer is computed once, when first asked for."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from model.arrays import UNLABELED, Features, Inputs, Labels, Mask, Probabilities, Rows, Uncertainty
from model.calibration import SPLITS, Calibration, calibrate, softmax
from model.classifier import Classifier, Train, train
from model.greedy import ignore
from model.kernels import PoolDistances
from model.neighbours import NeighbourGraph
from model.radius import SMALLEST, TYPICAL, Radius, labeled_radius

Measure = Callable[[Probabilities], Uncertainty]


@dataclass(frozen=True, slots=True)
class Adaptation:
    """How temperature and radius follow the labels.

    Attributes:
        splits: As in `calibrate`.
        quantile: As in `labeled_radius`.
    """

    splits: int
    quantile: float


OURS = Adaptation(SPLITS, TYPICAL)
PAPERS = Adaptation(1, SMALLEST)


@dataclass
class Situation:
    """A pool with some labels, at the moment when the next images are to be chosen.

    Attributes:
        features: The whole pool.
        labels: One class id for each row, UNLABELED where there is none.
        available: True for rows that may be chosen.
        seed: Decides everything that is left to chance.
        class_count: Classes there are, those without a label included.
        inputs: What the classifier sees, if not the features.
        fit: How the classifier is trained.
        distances: Between all rows, where they are at hand already.
        adaptation: How temperature and radius follow the labels.
        graph: Of the features, where it is at hand already.
        on_progress: Called with the share of the selection that is done.
    """

    features: Features
    labels: Labels
    available: Mask
    seed: int
    class_count: int
    inputs: Inputs | None = None
    fit: Train = train
    distances: PoolDistances | None = None
    adaptation: Adaptation = OURS
    graph: NeighbourGraph | None = None
    on_progress: Callable[[float], None] = ignore

    @cached_property
    def labeled(self) -> Rows:
        """Rows with a label, ascending."""
        return np.flatnonzero(self.labels != UNLABELED)

    @cached_property
    def generator(self) -> np.random.Generator:
        """The only source of chance."""
        return np.random.default_rng(self.seed)

    @cached_property
    def classifier(self) -> Classifier | None:
        """Trained from zero on all labels; None without labels."""
        if len(self.labeled) == 0:
            return None
        return self.fit(self._seen[self.labeled], self.labels[self.labeled], seed=self.seed)

    @cached_property
    def calibration(self) -> Calibration:
        """The temperature, by held-out labels."""
        labels = self.labels[self.labeled]
        splits = self.adaptation.splits
        return calibrate(
            self._seen[self.labeled], labels, seed=self.seed, fit=self.fit, splits=splits
        )

    @cached_property
    def radius(self) -> Radius:
        """How far one label speaks for its neighbours."""
        return labeled_radius(self.features, self.labeled, quantile=self.adaptation.quantile)

    @cached_property
    def logits(self) -> NDArray[np.float64] | None:
        """Of the whole pool, (n, c); None without labels."""
        return None if self.classifier is None else self.classifier.logits(self._seen)

    def probabilities(self, temperature: float = 1.0) -> Probabilities:
        """Of the classes that have labels, (n, c); without labels one class that is sure."""
        if self.logits is None:
            return np.ones((len(self.features), 1))
        return softmax(self.logits, temperature)

    def uncertainty(self, measure: Measure, *, scaled: bool = True) -> Uncertainty:
        """How uncertain each row is; 0 where labelled.

        While nothing can be said about the temperature nothing is known about the uncertainty
        either, and every row without a label is equally uncertain.

        Args:
            measure: Turns probabilities into uncertainties.
            scaled: Whether the temperature is applied; if not, it is not needed either.
        """
        uncertainty = np.ones(len(self.features))
        if not scaled:
            uncertainty = measure(self.probabilities())
        elif self.calibration.fitted:
            uncertainty = measure(self.probabilities(self.calibration.temperature))
        uncertainty[self.labeled] = 0.0
        return uncertainty

    def adapted(self, adaptation: Adaptation) -> "Situation":
        """The same with another adaptation; a classifier that was trained is not trained again."""
        other = replace(self, adaptation=adaptation)
        other.__dict__.update(
            {k: v for k, v in vars(self).items() if k in ("classifier", "logits")}
        )
        return other

    @property
    def _seen(self) -> Inputs:
        return self.features if self.inputs is None else self.inputs
