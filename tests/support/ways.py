"""Every way to find the gains, even for pools that are far too small for it."""

import importlib
from enum import Enum, auto

import pytest

from model import Selection, gaussian_pool, large, revised, sweep
from model.neighbours import NeighbourGraph
from tests.support.pools import Situation

BLOCK = 8  # rows, so that small pools have several blocks


class Way(Enum):
    KEPT = auto()
    PAIRS = auto()
    REVISED = auto()
    GRAPH = auto()  # that holds all pairs
    SHORT_GRAPH = auto()  # that leaves points open


def choose(way: Way, situation: Situation) -> Selection:
    """The selection, found in this way."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importlib.import_module("model.coverage"), "SMALL", 0)
        patch.setattr(gaussian_pool, "BLOCK", BLOCK)
        patch.setattr(sweep, "BLOCK", BLOCK)
        patch.setattr(gaussian_pool, "WIDE", 5 * len(situation.features))
        patch.setattr(revised, "AT_ONCE", 50)
        patch.setattr(large, "FEW", 1.0 if way is Way.PAIRS else -1.0)
        patch.setattr(large, "DENSE_POINTS", 1.0)
        match way:
            case Way.KEPT | Way.PAIRS:
                return situation.select()
            case Way.REVISED:
                return situation.select(memory=0)
            case Way.GRAPH:
                size = len(situation.features)
                graph = NeighbourGraph.build(situation.features, neighbours=size)
                return situation.select(graph=graph)
            case Way.SHORT_GRAPH:
                graph = NeighbourGraph.build(situation.features, neighbours=2)
                return situation.select(graph=graph)
