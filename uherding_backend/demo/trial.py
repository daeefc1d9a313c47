"""What the labels are worth on held-out images, beside as many labels drawn at random."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import requests
from numpy.typing import NDArray

from model.arrays import Features
from model.classifier import train
from model.features import Extractor
from model.images import decode
from uherding_backend.demo.dataset import CLASSES, DemoImages, data_uri, png

RANDOM_DRAWS = 10
TASKS_PER_CALL = 250


@dataclass(frozen=True, slots=True)
class RandomBaseline:
    """The same features and classifier, with labels for randomly drawn images."""

    images: DemoImages
    pool: Features
    held_out: Features

    @classmethod
    def of(cls, images: DemoImages, extractor: Extractor) -> RandomBaseline:
        """With the extractor that the backend uses for the project."""
        return cls(images, _features(extractor, images.pool), _features(extractor, images.held_out))

    def accuracy(self, labels: int) -> tuple[float, float]:
        """Mean and standard deviation over several draws of so many labels."""
        accuracies = []
        for seed in range(RANDOM_DRAWS):
            rows = np.random.default_rng(seed).permutation(len(self.pool))[:labels]
            classifier = train(self.pool[rows], self.images.pool_labels[rows].astype(np.int64))
            best = classifier.classes[classifier.logits(self.held_out).argmax(axis=1)]
            accuracies.append(float((best == self.images.held_out_labels).mean()))
        return float(np.mean(accuracies)), float(np.std(accuracies))


def held_out_accuracy(backend_url: str, project_uid: str, images: DemoImages) -> float:
    """How often the backend's /predict is right on images that are not in the project."""
    right = 0
    for at in range(0, len(images.held_out), TASKS_PER_CALL):
        pixels = images.held_out[at : at + TASKS_PER_CALL]
        response = requests.post(
            f"{backend_url}/predict",
            json={
                "project": project_uid,
                "tasks": [{"id": 0, "data": {"image": data_uri(image)}} for image in pixels],
            },
            timeout=100,
        )
        response.raise_for_status()
        for row, result in enumerate(response.json()["results"]):
            answer = result["result"][0]["value"]["choices"][0] if result["result"] else ""
            right += answer == CLASSES[images.held_out_labels[at + row]]
    return right / len(images.held_out)


def _features(extractor: Extractor, images: NDArray[np.uint8]) -> Features:
    size = extractor.image_size
    return extractor.extract(np.stack([decode(png(image), size) for image in images]))
