"""How a project's classifier is trained, by its options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from model.classifier import Train
from model.classifiers import trainer
from model.finetuning import Finetuning
from model.names import FINETUNE
from model.radius import TYPICAL
from model.situation import OURS, Adaptation
from uherding_backend.options import Options

CHECKPOINT = "finetuning-unfinished.npz"  # in the project's directory
ONE_SPLIT = Adaptation(splits=1, quantile=TYPICAL)  # every split trains one more network


@dataclass(frozen=True, slots=True)
class Training:
    """How to train, and how often to do so only to calibrate."""

    fit: Train
    adaptation: Adaptation


VISIBLE = 0.02  # every telling is a write to the disk


@dataclass(slots=True)
class CurrentStep:
    """The step that is under way, for work that knows only how far it is."""

    tell: Callable[[str, float], None]
    name: str = ""
    told: float = 0.0

    def begin(self, name: str) -> None:
        """From now on it is this one."""
        self.name, self.told = name, 0.0
        self.tell(name, 0.0)

    def progress(self, done: float) -> None:
        """So much of it is done, from 0 to 1; told only when there is something to see."""
        if done - self.told >= VISIBLE or done >= 1.0:
            self.told = done
            self.tell(self.name, done)


def training(options: Options, directory: Path, on_progress: Callable[[float], None]) -> Training:
    """What the options ask for; a ModelError says what is wrong with them.

    Args:
        options: Of the project.
        directory: Of the project; fine-tuning that was interrupted goes on from a file in it.
        on_progress: Called with the share that is done, if training takes long.
    """
    if options.classifier != FINETUNE:
        return Training(trainer(options.classifier), OURS)
    finetuning = Finetuning(
        start=options.finetune_from,
        epochs=options.finetune_epochs,
        checkpoint=directory / CHECKPOINT,
        on_progress=on_progress,
    )
    return Training(trainer(FINETUNE, finetuning=finetuning), ONE_SPLIT)
