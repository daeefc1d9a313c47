"""Predictions for Label Studio's /predict: from the last published round, never by training."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from model.arrays import Images, Inputs, Probabilities
from model.classifiers import image_size
from model.errors import UnreadableImageError
from model.features import Extractor
from model.images import decode
from model.pipeline import predict
from uherding_backend.errors import ImageError
from uherding_backend.images_source import ImageSource
from uherding_backend.label_config import LabelSchema, parse_label_config
from uherding_backend.labels import TaskId
from uherding_backend.outcome import Outcome, load_outcome, outcome_path
from uherding_backend.predictions import LAST, choice_result, prediction, queue_score
from uherding_backend.project_extractor import reopened
from uherding_backend.store import Project, Round, Store
from uherding_backend.store.project_records import ExtractorInUse

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Predictor:
    """A project's published model, loaded."""

    schema: LabelSchema
    round: Round
    outcome: Outcome
    scores: Mapping[TaskId, float]
    extractor: Extractor

    @classmethod
    def load(cls, store: Store, project: Project, published: Round) -> Predictor:
        """Read what the round stored."""
        queue = store.rounds.queue(published.id)
        used = ExtractorInUse(published.report["features"], published.report["extractor"])
        return cls(
            schema=parse_label_config(project.label_config),
            round=published,
            outcome=load_outcome(outcome_path(store, project.id, published.id)),
            scores={entry.task: queue_score(rank, len(queue)) for rank, entry in enumerate(queue)},
            extractor=reopened(store, project.id, used),
        )

    def predict(
        self, tasks: Sequence[Mapping[str, Any]], source: ImageSource
    ) -> list[dict[str, Any]]:
        """One prediction per task; one whose image cannot be had gets an empty result."""
        found = self._stored(tasks)
        found |= self._computed([at for at in range(len(tasks)) if at not in found], tasks, source)
        return [self._prediction(task, found.get(at)) for at, task in enumerate(tasks)]

    def _stored(self, tasks: Sequence[Mapping[str, Any]]) -> dict[int, Probabilities]:
        rows = {at: self.outcome.tasks.get(_id(task)) for at, task in enumerate(tasks)}
        return {at: self.outcome.probabilities[row] for at, row in rows.items() if row is not None}

    def _computed(
        self, new: Sequence[int], tasks: Sequence[Mapping[str, Any]], source: ImageSource
    ) -> dict[int, Probabilities]:
        """Probabilities of tasks that were not in the pool when the round ran."""
        positions, pixels = [], []
        size = image_size(self.outcome.classifier) or self.extractor.image_size
        key = self.schema.data_key
        wanted = [(_id(tasks[at]), _address(tasks[at].get("data"), key)) for at in new]
        for at, (task, data) in zip(new, source.fetch_all(wanted), strict=True):
            try:
                if isinstance(data, ImageError):
                    raise data
                pixels.append(decode(data, size))
                positions.append(at)
            except (ImageError, UnreadableImageError) as error:
                log.warning("no prediction for task %s: %s", task, error)
        if not pixels:
            return {}
        inputs = self._seen(np.stack(pixels))
        outcome = self.outcome
        computed = predict(outcome.classifier, outcome.temperature, inputs, len(outcome.classes))
        return dict(zip(positions, computed, strict=True))

    def _seen(self, images: Images) -> Inputs:
        """What the classifier sees of images: themselves, or their features."""
        if image_size(self.outcome.classifier) is not None:
            return images
        return self.extractor.extract(images)

    def _prediction(
        self, task: Mapping[str, Any], probabilities: Probabilities | None
    ) -> dict[str, Any]:
        score = self.scores.get(_id(task), LAST)
        if probabilities is None or self.outcome.classifier is None:
            return prediction([], score, self.round.version)
        best = int(probabilities.argmax())
        answer = self.outcome.classes[best]
        result = choice_result(self.schema, answer, float(probabilities[best]))
        return prediction(result, score, self.round.version)


def _address(data: object, key: str) -> str:
    address = data.get(key) if isinstance(data, Mapping) else None
    return address if isinstance(address, str) else ""


def _id(task: Mapping[str, Any]) -> TaskId:
    number = task.get("id")
    return TaskId(number if isinstance(number, int) else -1)
