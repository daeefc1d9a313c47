"""The choice from a pool without labels: made once, because nothing but the images decides it.

Until the first label, rounds are made because the label config was edited or options were changed.
"""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from model.files import UNREADABLE, Arrays, load_arrays, save_arrays
from model.greedy import Selection
from model.radius import DEFAULT_RADIUS
from model.situation import Situation
from model.strategies import STRATEGIES
from uherding_backend.caching import dispensable

log = logging.getLogger(__name__)

FILE = "first-choice.npz"
VERSION = 1  # raise it when the same pool would be chosen from otherwise


@dataclass(frozen=True, slots=True)
class FirstChoice:
    """A strategy that goes by coverage alone while there are no labels, with a memory.

    Attributes:
        directory: Where the project keeps its files.
        name: Of the strategy, one of BY_COVERAGE.
    """

    directory: Path
    name: str

    def __call__(self, situation: Situation, count: int) -> Selection:
        """As the strategy chooses; from the file if it was asked the same before."""
        if len(situation.labeled) > 0:
            return STRATEGIES[self.name](situation, count)
        question = self._digest(situation, count)
        chosen = self._read(question)
        if chosen is None:
            chosen = STRATEGIES[self.name](situation, count)
            self._write(question, chosen)
        return chosen

    def _digest(self, situation: Situation, count: int) -> str:
        """Of all that the choice depends on."""
        asked = f"{VERSION} {self.name} {DEFAULT_RADIUS} {count}"
        digest = hashlib.blake2b(asked.encode(), digest_size=16)
        digest.update(np.ascontiguousarray(situation.features).data)
        digest.update(np.ascontiguousarray(situation.available).data)
        return digest.hexdigest()

    def _read(self, question: str) -> Selection | None:
        path = self.directory / FILE
        if not path.exists():
            return None
        try:
            file = load_arrays(path)
            if str(file["question"]) != question:
                return None
            return Selection(file["rows"], file["gains"], error=float(file["error"]))
        except UNREADABLE as error:
            log.warning("%s cannot be read (%s); choosing again", path, error)
            return None

    def _write(self, question: str, chosen: Selection) -> None:
        arrays: Arrays = {
            "question": np.array(question),
            "rows": chosen.rows,
            "gains": chosen.gains,
            "error": np.array(chosen.error),
        }
        path = self.directory / FILE
        with dispensable(path):
            save_arrays(path, arrays)
