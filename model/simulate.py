"""Active-learning experiments on data whose labels are known: what would a strategy have saved?"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from model.arrays import UNLABELED, Features, Images, Labels
from model.classifier import Classifier, Train, train
from model.errors import ModelError
from model.kernels import PoolDistances
from model.situation import OURS, Adaptation, Situation
from model.strategies import Strategy

DISTANCES_UP_TO = 6_000  # rows: 288 MB


@dataclass(frozen=True, slots=True)
class LabelledData:
    """A pool whose labels are revealed when they are asked for, and images to judge by.

    Attributes:
        images: Of the pool, for a classifier that sees these instead of the features.
        test_images: The same of the images to judge by.
    """

    features: Features
    labels: Labels
    test_features: Features
    test_labels: Labels
    images: Images | None = None
    test_images: Images | None = None

    def __post_init__(self) -> None:
        for rows, labels, name in (
            (self.features, self.labels, "features"),
            (self.test_features, self.test_labels, "test_features"),
        ):
            if rows.ndim != 2 or len(rows) == 0 or labels.shape != (len(rows),):
                raise ModelError(
                    f"{name} needs one row and one label for each image, got arrays of shape "
                    f"{rows.shape} and {labels.shape}."
                )


@dataclass(frozen=True, slots=True)
class Step:
    """One point of a learning curve.

    Attributes:
        labels: Labels so far.
        accuracy: Share of the test images that a classifier trained on them gets right.
        seconds: It took to choose the last labels and to train, calibration included.
    """

    labels: int
    accuracy: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Trial:
    """One draw of the pool; every strategy of one seed chooses from the same images."""

    data: LabelledData
    seed: int
    distances: PoolDistances | None

    @classmethod
    def draw(cls, data: LabelledData, *, share: float, seed: int) -> "Trial":
        """Leave out part of the pool.

        Strategies that leave nothing to chance choose the same images each time; how much their
        result hangs on the pool shows only when the pool differs.

        Args:
            data: The whole pool.
            share: Of the pool that stays, above 0 and up to 1.
            seed: Decides which part.
        """
        if not 0.0 < share <= 1.0:
            raise ModelError(f"The share of the pool must be above 0 and at most 1, got {share}.")
        kept = max(1, round(share * len(data.features)))
        rows = np.sort(np.random.default_rng(seed).permutation(len(data.features))[:kept])
        drawn = replace(
            data,
            features=data.features[rows],
            labels=data.labels[rows],
            images=None if data.images is None else data.images[rows],
        )
        distances = PoolDistances(drawn.features) if kept <= DISTANCES_UP_TO else None
        return cls(drawn, seed, distances)

    def run(
        self,
        strategy: Strategy,
        budgets: Sequence[int],
        *,
        fit: Train = train,
        adaptation: Adaptation = OURS,
    ) -> Iterator[Step]:
        """Label up to each budget in turn and judge; budgets beyond the pool are left out.

        Args:
            strategy: Chooses what is labelled next.
            budgets: Labels in all, ascending.
            fit: How the classifier is trained.
            adaptation: How temperature and radius follow the labels.
        """
        nothing = np.full(len(self.data.labels), UNLABELED)
        situation = self._situation(nothing, fit, adaptation)
        for budget in budgets:
            if budget > len(self.data.labels):
                return
            started = time.perf_counter()
            chosen = strategy(situation, budget - len(situation.labeled)).rows
            revealed = situation.labels.copy()
            revealed[chosen] = self.data.labels[chosen]
            situation = self._situation(revealed, fit, adaptation)
            classifier = situation.classifier  # trained now; the next choice needs it too
            seconds = time.perf_counter() - started
            if classifier is not None:
                yield Step(len(situation.labeled), self._accuracy(classifier), seconds)

    def _situation(self, labels: Labels, fit: Train, adaptation: Adaptation) -> Situation:
        free = labels == UNLABELED
        return Situation(
            features=self.data.features,
            labels=labels,
            available=free,
            seed=self.seed * 1_000_003 + int((~free).sum()),
            class_count=len(np.unique(self.data.labels)),
            inputs=self.data.images,
            fit=fit,
            distances=self.distances,
            adaptation=adaptation,
        )

    def _accuracy(self, classifier: Classifier) -> float:
        images = self.data.test_images
        seen = self.data.test_features if images is None else images
        best = classifier.logits(seen).argmax(axis=1)
        return float(np.mean(classifier.classes[best] == self.data.test_labels))
