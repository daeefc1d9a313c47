"""The neighbour graph of a project's pool: built once, kept in a file, used by every round."""

import hashlib
import logging
from collections.abc import Callable
from pathlib import Path

from model.arrays import Features
from model.errors import ModelError
from model.neighbours import NeighbourGraph

log = logging.getLogger(__name__)

LEAST_IMAGES = 20_000  # below, a selection without a graph takes a second or two
IMAGES_PER_LABEL = 50  # with fewer labels most images have no label within their reach


def graph_pays(images: int, labels: int) -> bool:
    """Whether a round with so many images and labels gains from a graph."""
    return images >= LEAST_IMAGES and labels * IMAGES_PER_LABEL >= images


def pool_graph(
    directory: Path, features: Features, on_progress: Callable[[float], None]
) -> NeighbourGraph:
    """The graph of these features, from its file or else built and kept there.

    Args:
        directory: Where the project keeps its files.
        features: The whole pool.
        on_progress: Called with the share that is done, if it must be built.
    """
    path = directory / f"neighbours-{_digest(features)}.npz"
    if path.exists():
        try:
            return NeighbourGraph.load(path)
        except ModelError as error:
            log.warning("%s", error)
    graph = NeighbourGraph.build(features, on_progress=on_progress)
    _replace(directory, path, graph)
    return graph


def _replace(directory: Path, path: Path, graph: NeighbourGraph) -> None:
    """Write the file in one go and delete those of earlier pools."""
    unfinished = path.with_suffix(".unfinished")
    graph.save(unfinished)
    for earlier in directory.glob("neighbours-*.npz"):
        earlier.unlink()
    unfinished.replace(path)


def _digest(features: Features) -> str:
    return hashlib.blake2b(features.tobytes(), digest_size=12).hexdigest()
