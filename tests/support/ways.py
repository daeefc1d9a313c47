"""Every way to find the gains, even for pools that are far too small for it."""

import importlib
from enum import Enum, auto

import numpy as np
import pytest

from model import Selection, foreseen, gaussian_pool, guessing, large, sweep
from tests.support.graphs import graph_around
from tests.support.pools import Situation

BLOCK = 8  # rows, so that small pools have several blocks


class Way(Enum):
    KEPT = auto()
    PAIRS = auto()
    FORESEEN = auto()  # with place for pairs after a few choices
    GUESSED = auto()  # badly, and without place for pairs
    GRAPH = auto()  # around the labels
    SHORT_GRAPH = auto()  # that leaves points open


def choose(way: Way, situation: Situation) -> Selection:
    """The selection, found in this way."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importlib.import_module("model.coverage"), "SMALL", 0)
        patch.setattr(gaussian_pool, "BLOCK", BLOCK)
        patch.setattr(sweep, "BLOCK", BLOCK)
        patch.setattr(gaussian_pool, "WIDE", 5 * len(situation.features))
        patch.setattr(guessing, "LANDMARKS", 10)
        patch.setattr(foreseen, "WORTH", 2)
        patch.setattr(large, "FEW", 1.0 if way is Way.PAIRS else -1.0)
        patch.setattr(large, "MOST_OPEN", 1.0)
        match way:
            case Way.KEPT | Way.PAIRS:
                return situation.select()
            case Way.FORESEEN:
                patch.setattr(large, "FILLED", -1.0)
                patch.setattr(foreseen, "MOST", 5)
                return situation.select(memory=100 * len(situation.features))
            case Way.GUESSED:
                return situation.select(memory=0)
            case Way.GRAPH:
                centres = situation.labeled if len(situation.labeled) > 0 else np.arange(1)
                return situation.select(graph=graph_around(situation.features, centres))
            case Way.SHORT_GRAPH:
                centres = np.arange(0, len(situation.features), 3)
                return situation.select(graph=graph_around(situation.features, centres))
