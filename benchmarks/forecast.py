"""How often do the forecast's intervals hold the truth? Measured on real learning curves.

    .venv/bin/python -m benchmarks.forecast

The curves are those of `benchmarks.quality` (real images, tested on thousands of them). Each is
cut after every budget with enough measurements before it; what comes later is forecast. The
measurements are the curve itself, or what a project of that size would have measured: on as many
items as there are labels, mostly the same ones in every round.
"""

from __future__ import annotations

import csv
import gzip
import io
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.console import tell
from model.forecast import LEAST_MEASUREMENTS, LIKENESS, Measurement, forecast

CURVES = Path(__file__).parent / "results" / "quality.csv.gz"
STRATEGIES = ("uherding", "random")
TESTED = 3_000  # images by which the curves were measured, at least
AHEAD = {"up to 100": 100, "101 to 500": 500, "501 to 1,000": 1_000}

Curve = dict[int, float]  # accuracy by labels


def main() -> None:
    held: dict[tuple[str, str], list[bool]] = defaultdict(list)
    errors: dict[tuple[str, str], list[float]] = defaultdict(list)
    curves = list(read_curves())
    for number, curve in enumerate(curves):
        if number % 20 == 0:
            tell(f"{number} of {len(curves)} curves")
        for way, measured in (
            ("exactly", exact(curve)),
            ("as a project would", as_a_project(curve, number)),
        ):
            for more, inside, error in checked(curve, measured):
                ahead = next(name for name, most in AHEAD.items() if more <= most)
                held[way, ahead].append(inside)
                errors[way, ahead].append(error)
    lines = ["| measured | more labels | forecasts | truth within 90 % interval | mean error |"]
    lines.append("|---|---|---|---|---|")
    for way, ahead in held:
        inside, error = np.mean(held[way, ahead]), np.mean(errors[way, ahead])
        count = len(held[way, ahead])
        lines.append(
            f"| {way} | {ahead} | {count:,} | {100 * inside:.0f} % | {100 * error:+.1f} points |"
        )
    sys.stdout.write("\n".join(lines) + "\n")


def read_curves() -> Iterator[Curve]:
    found: dict[tuple[str, str, str], Curve] = defaultdict(dict)
    with gzip.open(CURVES, "rb") as packed:
        for row in csv.DictReader(io.TextIOWrapper(packed, newline="")):
            if row["strategy"] in STRATEGIES:
                key = row["setting"], row["strategy"], row["seed"]
                found[key][int(row["labels"])] = float(row["accuracy"])
    yield from found.values()


def exact(curve: Curve) -> list[Measurement]:
    return [Measurement(labels, accuracy, TESTED) for labels, accuracy in sorted(curve.items())]


def as_a_project(curve: Curve, seed: int) -> list[Measurement]:
    """An item is right if it is easier than the classifier is good, and sometimes by chance."""
    generator = np.random.default_rng(seed)
    hardness = generator.random(max(curve))
    measured = []
    for labels, accuracy in sorted(curve.items()):
        same = generator.random(labels) < LIKENESS
        again = np.where(same, hardness[:labels], generator.random(labels))
        measured.append(Measurement(labels, float((again < accuracy).mean()), labels))
    return measured


def checked(curve: Curve, measured: list[Measurement]) -> Iterator[tuple[int, bool, float]]:
    """How far ahead each forecast was, whether its interval held the truth, and its error."""
    for cut in range(LEAST_MEASUREMENTS, len(measured)):
        now = measured[cut - 1].labels
        ahead = [
            one.labels - now for one in measured[cut:] if one.labels - now <= max(AHEAD.values())
        ]
        for one in forecast(measured[:cut], now, ahead)[1:]:
            truth = curve[one.labels]
            yield one.more, one.low <= truth <= one.high, one.expected - truth


if __name__ == "__main__":
    main()
