"""Neighbour graphs of small pools."""

from model.arrays import Features, Rows
from model.neighbours import NeighbourGraph


def graph_around(features: Features, centres: Rows) -> NeighbourGraph:
    """The graph, for which there is place."""
    graph = NeighbourGraph.around(features, centres)
    assert graph is not None
    return graph
