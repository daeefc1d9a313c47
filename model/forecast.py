"""What more labels would bring: the learning curve so far, carried on with an honest interval.

Accuracy is taken to grow like a power law, a - b (x + d)^-c, towards a limit of at most 1. Every
such curve on a grid is weighed by how well it explains the measurements; the forecast is what the
weighed curves say together. Two things make it honest. Rounds are measured on nearly the same
items, so ten rounds do not count as ten independent measurements. And real curves are no power
laws, so the interval widens with the distance to the last measurement.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from model.errors import ModelError

AHEAD = (100, 500, 1000)
LEAST_MEASUREMENTS = 4  # fewer cannot tell a flat curve from a steep one
LEAST_TESTED = 10
MOST_MEASUREMENTS = 40  # later rounds are thinned out: their neighbours say the same
LIKENESS = 0.8  # correlation of two rounds' answers on one item
JITTER = 0.008  # a round's accuracy moves by so much for no reason: other draws, other seeds
DRIFT = 0.02  # misfit of the power law, for every doubling of the labels
OFFSETS = (0.0, 0.1, 0.5, 3.0)  # x is counted from here, in shares of the labels so far
TAIL = 0.05  # outside of the interval on each side
Z90 = 1.644854
STILL_ROUNDS = 3
STILL = 0.003  # 0.3 points
WORTH = 0.01  # one point: less is not worth 500 labels

Curve = NDArray[np.float64]  # (m,), accuracy at m numbers of labels


@dataclass(frozen=True, slots=True)
class Measurement:
    """Accuracy as it was measured once.

    Attributes:
        labels: The classifier was trained on so many.
        accuracy: Share of the tested items that it got right.
        tested: Items it was tested on.
    """

    labels: int
    accuracy: float
    tested: int


@dataclass(frozen=True, slots=True)
class Forecast:
    """Accuracy with so many labels, and what they add to now; 90 % intervals.

    Attributes:
        labels: In all.
        more: Than now.
    """

    labels: int
    more: int
    expected: float
    low: float
    high: float
    gain: float
    gain_low: float
    gain_high: float


class Verdict(Enum):
    """What the forecast comes to."""

    TOO_EARLY = "too early to say"
    GO_ON = "go on"
    LITTLE_LEFT = "little is left"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A verdict, and the sentence that gives its reason."""

    verdict: Verdict
    reason: str


def forecast(
    measurements: Sequence[Measurement], labels: int, ahead: Sequence[int] = AHEAD
) -> list[Forecast]:
    """Accuracy now and with so many more labels; empty while there is too little to go by.

    Args:
        measurements: One for each round, oldest first; of those with equal labels the last counts.
        labels: There are now.
        ahead: How many more to look at.
    """
    usable = _usable(measurements)
    if len(usable) < LEAST_MEASUREMENTS or labels < 1:
        return []
    curves = _Curves(usable)
    now = curves.at(labels)
    return [_forecast(curves, now, labels, more) for more in (0, *ahead)]


def recommend(measurements: Sequence[Measurement], forecasts: Sequence[Forecast]) -> Recommendation:
    """Whether to go on labelling, with the reason."""
    usable = _usable(measurements)
    if not forecasts:
        return Recommendation(
            Verdict.TOO_EARLY,
            f"A forecast needs rounds measured at {LEAST_MEASUREMENTS} different numbers of "
            f"labels, there are {len(usable)}.",
        )
    then = min(forecasts, key=lambda one: abs(one.more - 500))
    last = [one.accuracy for one in usable[-STILL_ROUNDS - 1 :]]
    still = max(last) - min(last) < STILL
    adds = f"{then.more} more labels are expected to add {_points(then.gain)}"
    if still and then.gain < WORTH:
        return Recommendation(
            Verdict.STOP,
            f"The last {STILL_ROUNDS} rounds moved accuracy by less than {_points(STILL)}, and "
            f"{adds}.",
        )
    if then.gain_high < WORTH:
        return Recommendation(
            Verdict.STOP, f"{_upper(adds)}, and hardly more than {_points(then.gain_high)}."
        )
    between = f"({100 * then.gain_low:+.1f} to {100 * then.gain_high:+.1f})"
    if then.gain < WORTH:
        return Recommendation(
            Verdict.LITTLE_LEFT,
            f"{_upper(adds)} {between}: probably not worth them, but that is not certain yet.",
        )
    doubt = ", though it may come to nothing" if then.gain_low <= 0.0 else ""
    return Recommendation(Verdict.GO_ON, f"{_upper(adds)} {between}{doubt}.")


class _Curves:
    """Power laws on a grid, each with its weight."""

    def __init__(self, measurements: Sequence[Measurement]) -> None:
        self.labels = np.array([one.labels for one in measurements], dtype=np.float64)
        self.accuracy = np.array([one.accuracy for one in measurements])
        self.tested = np.array([one.tested for one in measurements], dtype=np.float64)
        limit, start, left, offset = np.meshgrid(
            np.linspace(0.02, 1.0, 50),
            np.linspace(0.0, 1.0, 31),  # as a share of the limit
            np.linspace(0.02, 0.98, 16),  # of the way to the limit, at the last measurement
            np.array(OFFSETS),
            indexing="ij",
        )
        self.limit = limit.ravel()
        self.start = (limit * start).ravel()
        self.offset = offset.ravel() * self.labels.max()
        whole = np.log((self.labels.max() + self.offset) / (self.labels.min() + self.offset))
        self.power = -np.log(left.ravel()) / whole

    @cached_property
    def weights(self) -> Curve:
        """How likely each curve is, given the measurements."""
        misses = np.stack([self.at(labels) for labels in self.labels]) - self.accuracy[:, None]
        whitened = np.linalg.solve(np.linalg.cholesky(self._covariance()), misses)
        surprise = np.einsum("mg,mg->g", whitened, whitened) / 2
        weights = np.exp(surprise.min() - surprise)
        return np.asarray(weights / weights.sum())

    def at(self, labels: float) -> Curve:
        """Accuracy with so many labels, by each curve."""
        first = self.labels.min() + self.offset
        shrunk = ((labels + self.offset) / first) ** -self.power
        return np.asarray(self.limit - (self.limit - self.start) * shrunk)

    def interval(self, values: Curve, more_doubt: float) -> tuple[float, float, float]:
        """Mean and both ends of the weighed values, with a normal doubt added."""
        order = np.argsort(values)
        reached = np.cumsum(self.weights[order])
        at = np.searchsorted(reached, [TAIL, 1 - TAIL]).clip(max=len(order) - 1)
        low, high = values[order[at]].tolist()
        mean = float(values @ self.weights)
        doubt = Z90 * more_doubt
        return (
            mean,
            mean - float(np.hypot(max(0.0, mean - low), doubt)),
            mean + float(np.hypot(max(0.0, high - mean), doubt)),
        )

    def doubt(self, labels: int) -> float:
        """How far the truth may be from any power law, at so many labels."""
        return DRIFT * max(0.0, float(np.log2(labels / self.labels.max())))

    def _covariance(self) -> NDArray[np.float64]:
        """Of the measurements: the items of one round are among those of the next."""
        smooth = (self.accuracy * self.tested + 1) / (self.tested + 2)
        deviation = np.sqrt(smooth * (1 - smooth))
        shared = LIKENESS / np.maximum(self.tested[:, None], self.tested[None, :])
        np.fill_diagonal(shared, 1.0 / self.tested)
        return deviation[:, None] * shared * deviation[None, :] + JITTER**2 * np.eye(len(smooth))


def _forecast(curves: _Curves, now: Curve, labels: int, more: int) -> Forecast:
    then = curves.at(labels + more)
    expected, low, high = curves.interval(then, curves.doubt(labels + more))
    further = DRIFT * float(np.log2((labels + more) / labels))
    gain, gain_low, gain_high = curves.interval(then - now, further)
    return Forecast(
        labels=labels + more,
        more=more,
        expected=expected,
        low=max(0.0, low),
        high=min(1.0, high),
        gain=gain,
        gain_low=gain_low,
        gain_high=gain_high,
    )


def _usable(measurements: Sequence[Measurement]) -> list[Measurement]:
    """By labels, of those measured on enough items; at most MOST_MEASUREMENTS, the last kept."""
    for one in measurements:
        if not 0.0 <= one.accuracy <= 1.0:
            raise ModelError(f"An accuracy must be from 0 to 1, got {one.accuracy}.")
    found = {
        one.labels: one for one in measurements if one.labels > 0 and one.tested >= LEAST_TESTED
    }
    ordered = [found[labels] for labels in sorted(found)]
    if len(ordered) <= MOST_MEASUREMENTS:
        return ordered
    kept = np.unique(np.linspace(0, len(ordered) - 1, MOST_MEASUREMENTS).round().astype(int))
    return [ordered[at] for at in kept]


def _points(share: float) -> str:
    return f"{100 * share:.1f} points"


def _upper(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]
