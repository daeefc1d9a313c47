"""What an admin may choose per project, through Label Studio's ``extra_params``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from model.errors import ModelError
from model.features.names import AUTO, checked
from model.names import (
    CLASSIFIERS,
    DEFAULT_CLASSIFIER,
    DEFAULT_STRATEGY,
    LINEAR_ONLY,
    STRATEGY_NAMES,
)
from uherding_backend.errors import SettingsError
from uherding_backend.settings import MOST_AUDITED, Settings

NAMES = (
    *("round_size", "queue_size", "prelabel", "features", "simclr_epochs"),
    *("strategy", "classifier", "finetune_from", "finetune_epochs", "skip_duplicates"),
    "audit_fraction",
)
TITLES = {  # what the dashboard calls those that can be changed there
    "round_size": "Round size",
    "strategy": "Strategy",
    "prelabel": "Prelabel",
    "audit_fraction": "Audit fraction",
}
MAX_QUEUE = 2000  # at 7 to 12 ms each, deleting so many holds annotators up for 14 to 24 s


@dataclass(frozen=True, slots=True)
class Options:
    """How one project is run.

    Attributes:
        round_size: New labels that make a round due.
        queue_size: Tasks in a published queue. Three rounds' worth, unless chosen, so that
            annotators never run dry while a round is computed.
        prelabel: Whether predictions tick the predicted class in the annotator's form.
        features: The feature extractor: "auto", "patches", "simclr", "efficientnet-lite0",
            "timm:MODEL" or "timm:MODEL@FILE".
        simclr_epochs: How long `simclr` learns.
        strategy: What chooses the queue: one of STRATEGY_NAMES.
        classifier: What is trained on the labels: one of CLASSIFIERS.
        finetune_from: Where the training of `finetune` starts: "resnet18", "resnet18:WIDTH",
            "efficientnet-lite0", "timm:MODEL" or "timm:MODEL@FILE". Checked by the round, because
            checking it loads the networks.
        finetune_epochs: How long `finetune` trains at most.
        skip_duplicates: Whether near-copies of other images stay out of the queue.
        audit_fraction: Share of the queue that is drawn at random and never trained on.
    """

    round_size: int
    queue_size: int
    prelabel: bool
    features: str = AUTO
    simclr_epochs: int = 200
    strategy: str = DEFAULT_STRATEGY
    classifier: str = DEFAULT_CLASSIFIER
    finetune_from: str = "resnet18"
    finetune_epochs: int = 200
    skip_duplicates: bool = False
    audit_fraction: float = 0.0

    @property
    def low_water(self) -> int:
        """Unlabelled tasks left in the queue at which a new one is due."""
        return max(2, self.queue_size // 5)

    @classmethod
    def of(cls, settings: Settings, extra_params: Mapping[str, Any]) -> Options:
        """A project's own choices over the settings; a SettingsError says what is wrong."""
        unknown = sorted(set(extra_params) - set(NAMES))
        if unknown:
            raise SettingsError(
                f"extra_params has {', '.join(map(repr, unknown))}; known are {', '.join(NAMES)}."
            )
        round_size = _number(extra_params, "round_size", settings.round_size, at_least=1)
        queue_size = _number(extra_params, "queue_size", settings.queue_size, at_least=0)
        wanted = queue_size or 3 * round_size
        return cls(
            round_size=round_size,
            queue_size=min(max(wanted, round_size), MAX_QUEUE),
            prelabel=_switch(extra_params, "prelabel", settings.prelabel),
            features=_features(extra_params, settings.features),
            simclr_epochs=_number(
                extra_params, "simclr_epochs", settings.simclr_epochs, at_least=1
            ),
            strategy=_one_of(extra_params, "strategy", settings.strategy, STRATEGY_NAMES),
            classifier=_one_of(extra_params, "classifier", settings.classifier, CLASSIFIERS),
            finetune_from=_text(extra_params, "finetune_from", settings.finetune_from),
            finetune_epochs=_number(
                extra_params, "finetune_epochs", settings.finetune_epochs, at_least=1
            ),
            skip_duplicates=_switch(extra_params, "skip_duplicates", settings.skip_duplicates),
            audit_fraction=_share(extra_params, "audit_fraction", settings.audit_fraction),
        ).checked()

    def checked(self) -> Options:
        """The same; refused if the choices do not fit together."""
        if self.strategy in LINEAR_ONLY and self.classifier != DEFAULT_CLASSIFIER:
            raise SettingsError(
                f"The strategy {self.strategy} needs the classifier {DEFAULT_CLASSIFIER}, got "
                f"{self.classifier}."
            )
        return self


def _number(given: Mapping[str, Any], name: str, default: int, *, at_least: int) -> int:
    value = given.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
        raise SettingsError(
            f"extra_params {name} must be a whole number of {at_least} or more, got {value!r}."
        )
    return value


def _share(given: Mapping[str, Any], name: str, default: float) -> float:
    value = given.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        value = -1.0
    if not 0.0 <= value <= MOST_AUDITED:
        raise SettingsError(
            f"extra_params {name} must be a number from 0 to {MOST_AUDITED:g}, got "
            f"{given.get(name)!r}."
        )
    return float(value)


def _text(given: Mapping[str, Any], name: str, default: str) -> str:
    value = given.get(name, default)
    if not isinstance(value, str):
        raise SettingsError(f"extra_params {name} must be a text, got {value!r}.")
    return value


def _one_of(given: Mapping[str, Any], name: str, default: str, known: Iterable[str]) -> str:
    value = _text(given, name, default)
    if value not in known:
        raise SettingsError(
            f"extra_params {name} must be one of {', '.join(known)}, got {value!r}."
        )
    return value


def _switch(given: Mapping[str, Any], name: str, default: bool) -> bool:
    value = given.get(name, default)
    if not isinstance(value, bool):
        raise SettingsError(f"extra_params {name} must be true or false, got {value!r}.")
    return value


def _features(given: Mapping[str, Any], default: str) -> str:
    value = given.get("features", default)
    try:
        return checked(value if isinstance(value, str) else repr(value))
    except ModelError as error:
        raise SettingsError(str(error)) from error
