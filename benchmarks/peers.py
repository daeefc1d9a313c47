"""scikit-activeml's strategies, made to choose from the same pool with the same classifier."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skactiveml.base import SkactivemlClassifier
from skactiveml.pool import Badge, CoreSet, Falcun, MaxHerding, ProbCover, TypiClust

from model.arrays import UNLABELED
from model.calibration import softmax
from model.greedy import Selection
from model.situation import Situation
from model.strategies import Strategy, at_random

Query = Callable[[Situation, int, NDArray[np.float64], NDArray[np.float64]], Any]


class OurClassifier(SkactivemlClassifier):  # type: ignore[misc]
    """The project's classifier behind scikit-activeml's interface."""

    def __init__(self, situation: Situation) -> None:
        super().__init__(classes=None, missing_label=np.nan)
        self.situation = situation

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OurClassifier:  # noqa: ANN401, N803
        """Nothing to do: the situation has trained it on the same labels."""
        del X, y, sample_weight
        classifier = self.situation.classifier
        self.classes_ = np.array([]) if classifier is None else classifier.classes
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: ANN401, N803
        """Of classes with labels."""
        classifier = self.situation.classifier
        if classifier is None:
            return np.ones((len(X), 1))
        return softmax(classifier.logits(np.asarray(X, dtype=np.float32)), 1.0)


def peer(query: Query, *, needs_classifier: bool = False) -> Strategy:
    """A scikit-activeml query as one of our strategies; by chance where it needs labels first."""

    def choose(situation: Situation, count: int) -> Selection:
        if needs_classifier and len(np.unique(situation.labels[situation.labeled])) < 2:
            return at_random(situation, count)
        known = np.where(situation.labels == UNLABELED, np.nan, situation.labels.astype(float))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # deprecations of other people's code
            rows = query(situation, count, situation.features.astype(np.float64), known)
        return Selection(rows=np.asarray(rows, dtype=np.int64), gains=np.zeros(len(rows)))

    return choose


def _seeded(situation: Situation) -> int:
    return situation.seed % 2**31


PEERS: dict[str, Strategy] = {
    "skactiveml MaxHerding": peer(
        lambda s, n, x, y: MaxHerding(
            normalize_samples=False, metric_dict={"gamma": 1.0}, random_state=_seeded(s)
        ).query(x, y, batch_size=n)
    ),
    "skactiveml TypiClust": peer(
        lambda s, n, x, y: TypiClust(random_state=_seeded(s)).query(x, y, batch_size=n)
    ),
    "skactiveml ProbCover": peer(
        lambda s, n, x, y: ProbCover(n_classes=s.class_count, random_state=_seeded(s)).query(
            x, y, batch_size=n
        )
    ),
    "skactiveml CoreSet": peer(
        lambda s, n, x, y: CoreSet(random_state=_seeded(s)).query(x, y, batch_size=n)
    ),
    "skactiveml Badge": peer(
        lambda s, n, x, y: Badge(random_state=_seeded(s)).query(
            x, y, OurClassifier(s).fit(x, y), fit_clf=False, batch_size=n
        ),
        needs_classifier=True,
    ),
    "skactiveml Falcun": peer(
        lambda s, n, x, y: Falcun(random_state=_seeded(s)).query(
            x, y, OurClassifier(s).fit(x, y), fit_clf=False, batch_size=n
        ),
        needs_classifier=True,
    ),
}
