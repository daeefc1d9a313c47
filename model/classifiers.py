"""From the name of a classifier to the way it is trained, and from a classifier to arrays."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.classifier import Classifier, LinearClassifier, Train, train
from model.errors import ModelError
from model.finetuning import FinetunedClassifier, Finetuning
from model.mlp import MlpClassifier, train_mlp
from model.names import CLASSIFIERS, FINETUNE

Arrays = Mapping[str, NDArray[Any]]


def trainer(name: str, *, finetuning: Finetuning | None = None) -> Train:
    """How the classifier of this name is trained.

    Args:
        name: One of CLASSIFIERS. "finetune" sees images, the others features.
        finetuning: Settings of "finetune"; the defaults if None.
    """
    ways: dict[str, Train] = {
        "linear": train,
        "mlp": train_mlp,
        FINETUNE: finetuning or Finetuning(),
    }
    if name not in ways:
        raise ModelError(
            f"There is no classifier {name!r}; choose one of {', '.join(CLASSIFIERS)}."
        )
    return ways[name]


def image_size(classifier: Classifier | None) -> int | None:
    """Pixels of the images that it sees; None if it sees features."""
    return classifier.image_size if isinstance(classifier, FinetunedClassifier) else None


def classifier_arrays(classifier: Classifier) -> dict[str, NDArray[Any]]:
    """All of a classifier as plain arrays; `classifier_from` makes the same one of them."""
    match classifier:
        case LinearClassifier(weights, bias, classes):
            return _of_kind("linear", classes) | {"weights": weights, "bias": bias}
        case MlpClassifier(weights, biases, classes):
            layers = range(len(weights))
            return (
                _of_kind("mlp", classes)
                | {f"weights.{layer}": weights[layer] for layer in layers}
                | {f"biases.{layer}": biases[layer] for layer in layers}
            )
        case FinetunedClassifier():
            return {**_of_kind(FINETUNE, classifier.classes), **classifier.arrays()}
        case _:
            raise ModelError(f"A {type(classifier).__name__} cannot be stored.")


def classifier_from(arrays: Arrays) -> Classifier:
    """The classifier that `classifier_arrays` took apart."""
    classes = arrays["classes"]
    match str(arrays["kind"]):
        case "linear":
            return LinearClassifier(arrays["weights"], arrays["bias"], classes)
        case "mlp":
            layers = range(sum(key.startswith("weights.") for key in arrays))
            return MlpClassifier(
                tuple(arrays[f"weights.{layer}"] for layer in layers),
                tuple(arrays[f"biases.{layer}"] for layer in layers),
                classes,
            )
        case "finetune":
            return FinetunedClassifier.of(arrays)
        case kind:
            raise ModelError(
                f"A classifier of the kind {kind!r} was stored, perhaps by a newer version; known "
                f"are {', '.join(CLASSIFIERS)}."
            )


def _of_kind(kind: str, classes: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    return {"kind": np.array(kind), "classes": classes}
