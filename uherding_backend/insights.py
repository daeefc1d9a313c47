"""What a round found out beside its queue, as plain data for the dashboard. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np

from model.arrays import UNLABELED, Rows
from model.arrays import Labels as RowLabels
from model.audit import audited_accuracy, compare_with_random
from model.classifier import Train
from model.forecast import Measurement, forecast, recommend
from model.held_out import HeldOutAnswers, held_out_answers, reliability
from model.label_errors import Suspect, suspects
from model.pipeline import Ranking
from uherding_backend.labels import Annotation, Labels, TaskId, disputed
from uherding_backend.pool_features import Pool

SHOWN = 50  # label errors and disagreements: nobody works through more at a time
PAUSE_SECONDS = 1800.0  # without an answer for this long, an annotator was away
AUDIT, GROUND_TRUTH, HELD_OUT = "audit", "ground_truth", "held_out"  # the best one first
LEAST_TESTED = 30  # items that make a better measure the one to go by


@dataclass(frozen=True, slots=True)
class Material:
    """What a round has in hand when it has ranked the pool."""

    pool: Pool
    classes: Sequence[str]
    labels: Labels
    annotations: Sequence[Annotation]
    apart: frozenset[TaskId]  # the audit slice
    ranking: Ranking
    trained_on: RowLabels  # (n,), UNLABELED where nothing was trained on

    def rows_of(self, tasks: set[TaskId] | frozenset[TaskId]) -> Rows:
        """The labelled ones of these tasks, as rows of the pool."""
        found = [
            row
            for row, task in enumerate(self.pool.tasks)
            if task in tasks and task in self.labels.classes
        ]
        return np.array(found, dtype=np.int64)

    def class_ids(self, rows: Rows) -> RowLabels:
        """What people said of labelled rows."""
        named = [self.labels.classes[self.pool.tasks[row]] for row in rows]
        return np.array([self.classes.index(name) for name in named], dtype=np.int64)


def insights(
    material: Material,
    people: Mapping[str, str],
    earlier: Sequence[Mapping[str, Any]],
    *,
    fit: Train | None,
    seed: int,
) -> dict[str, Any]:
    """Everything, ready to be stored.

    Args:
        material: The round.
        people: Names of annotators.
        earlier: What earlier rounds measured, oldest first.
        fit: How to train on features; None where training takes too long to do it for a check.
        seed: Decides what is left to chance.
    """
    labeled = np.flatnonzero(material.trained_on != UNLABELED)
    labels = material.trained_on[labeled]
    calibration = material.ranking.calibration
    answers = held_out_answers(labels, calibration)
    measured = _measured(material, labeled, answers)
    return {
        "measured": measured,
        "classes": _classes(material, answers),
        "reliability": {
            "before": [asdict(one) for one in reliability(labels, calibration, 1.0)],
            "after": [
                asdict(one) for one in reliability(labels, calibration, calibration.temperature)
            ],
        },
        "label_errors": _label_errors(material, labeled, answers),
        "disagreements": _disagreements(material),
        "annotators": annotators(material.annotations, people),
        "comparison": _comparison(material, fit, seed),
        "stopping": stopping([*earlier, measured], len(labeled)),
    }


def stopping(measured: Sequence[Mapping[str, Any]], labels: int) -> dict[str, Any]:
    """The forecast by the best measure there is, and whether to go on.

    Args:
        measured: What each round measured, oldest first.
        labels: The classifier is trained on so many now.
    """
    source = best_measure(measured)
    points = [
        Measurement(one[source]["labels"], one[source]["value"], one[source]["tested"])
        for one in measured
        if one.get(source)
    ]
    forecasts = forecast(points, labels)
    advice = recommend(points, forecasts)
    return {
        "measured_on": source,
        "forecasts": [asdict(one) for one in forecasts],
        "verdict": advice.verdict.value,
        "reason": advice.reason,
    }


def best_measure(measured: Sequence[Mapping[str, Any]]) -> str:
    """Which measure to go by: unbiased ones first, once enough items are behind them."""
    last = measured[-1] if measured else {}
    for source in (AUDIT, GROUND_TRUTH):
        if (last.get(source) or {}).get("tested", 0) >= LEAST_TESTED:
            return source
    return HELD_OUT


def annotators(
    annotations: Sequence[Annotation], people: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Who labelled how much and how fast, the most active first."""
    by_author: dict[str, list[Annotation]] = {}
    for annotation in annotations:
        by_author.setdefault(annotation.author, []).append(annotation)
    found = [
        {
            "id": author,
            "name": people.get(author, f"user {author}" if author else "unknown"),
            "labels": sum(one.answer is not None for one in given),
            "skipped": sum(one.skipped for one in given),
            "median_seconds": _median([one.seconds for one in given if one.seconds is not None]),
            "per_hour": _per_hour([one.created for one in given if one.created]),
            "last": max((one.created or one.updated for one in given), default=""),
        }
        for author, given in by_author.items()
    ]
    return sorted(found, key=lambda one: (-int(str(one["labels"])), str(one["name"])))


def suspected(answers: HeldOutAnswers) -> list[Suspect]:
    """The labels that are most likely wrong, as many as anybody works through."""
    columns = np.searchsorted(answers.classes, answers.labels)
    return suspects(answers.probabilities, columns, answers.held_out)[:SHOWN]


def _measured(material: Material, labeled: Rows, answers: HeldOutAnswers | None) -> dict[str, Any]:
    """Accuracy, by each way to measure it that there is."""
    half = len(labeled) // 2
    truths = {one.task for one in material.annotations if one.ground_truth}
    tasks = [material.pool.tasks[row] for row in labeled]
    by_truth = np.array([task in truths for task in tasks], dtype=np.bool_)
    found: dict[str, Any] = {}
    if answers is not None and (overall := answers.accuracy()):
        found[HELD_OUT] = {**asdict(overall), "labels": half}
        if truth := answers.accuracy(by_truth):
            found[GROUND_TRUTH] = {**asdict(truth), "labels": half}
    audited = material.rows_of(material.apart)
    if material.ranking.classifier is not None:
        said = material.ranking.probabilities[audited].argmax(axis=1)
        if estimate := audited_accuracy(said, material.class_ids(audited)):
            found[AUDIT] = {**asdict(estimate), "labels": len(labeled)}
    return found


def _classes(material: Material, answers: HeldOutAnswers | None) -> list[dict[str, Any]]:
    given = Counter(material.labels.classes.values())
    recognised = answers.by_class() if answers else {}
    expected = material.ranking.probabilities.mean(axis=0)  # (c,), of the whole pool
    return [
        {
            "name": name,
            "labels": given[name],
            "expected_share": float(expected[at]) if material.ranking.classifier else None,
            "recognised": asdict(recognised[at]) if at in recognised else None,
        }
        for at, name in enumerate(material.classes)
    ]


def _label_errors(
    material: Material, labeled: Rows, answers: HeldOutAnswers | None
) -> list[dict[str, Any]]:
    if answers is None:
        return []
    return [
        {
            "task": material.pool.tasks[labeled[one.item]],
            "label": material.classes[answers.classes[one.label]],
            "instead": material.classes[answers.classes[one.instead]],
            "confidence": one.confidence,
        }
        for one in suspected(answers)
    ]


def _disagreements(material: Material) -> list[dict[str, Any]]:
    found = disputed(material.annotations, material.classes)
    return [
        {"task": task, "votes": dict(votes), "taken": material.labels.classes.get(task, "")}
        for task, votes in sorted(found.items())[:SHOWN]
    ]


def _comparison(material: Material, fit: Train | None, seed: int) -> dict[str, Any] | None:
    if fit is None or not material.apart:
        return None
    first = {one.task: one.created or one.updated for one in reversed(material.annotations)}
    trained = np.flatnonzero(material.trained_on != UNLABELED)
    order = sorted(trained, key=lambda row: first.get(material.pool.tasks[row], ""))
    chosen = np.array(order, dtype=np.int64)
    audited = material.rows_of(material.apart)
    features = material.pool.features
    compared = compare_with_random(
        (features[chosen], material.trained_on[chosen]),
        (features[audited], material.class_ids(audited)),
        seed=seed,
        fit=fit,
    )
    return asdict(compared) if compared else None


def _median(seconds: Sequence[float]) -> float | None:
    return round(median(seconds), 1) if seconds else None


def _per_hour(created: Sequence[str]) -> float | None:
    """Answers for each hour of work; breaks are not work."""
    moments = sorted(moment for text in created if (moment := _moment(text)) is not None)
    gaps = [later - earlier for earlier, later in pairwise(moments)]
    at_work = [gap for gap in gaps if gap <= PAUSE_SECONDS]
    spent = sum(at_work)
    return round(3600.0 * len(at_work) / spent, 1) if spent > 0 else None


def _moment(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None
