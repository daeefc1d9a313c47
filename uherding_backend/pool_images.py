"""A project's pool as pixels, for a classifier that sees the images themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from model.arrays import Images
from model.features.choosing import SMALL_SIDE
from model.networks import is_pretrained
from uherding_backend.errors import UHerdingError
from uherding_backend.image_loading import ImageLoader
from uherding_backend.labels import TaskId

SMALL, LARGE = 32, 96  # pixels for a network that starts from a random state
PRETRAINED = 224  # about what pretrained networks were trained on
MOST_BYTES = 2 * 10**9  # all are in memory at once


def pool_images(
    loader: ImageLoader,
    tasks: Sequence[TaskId],
    start: str,
    on_progress: Callable[[float], None],
) -> Images:
    """Fetch the pool's images again, in the order of ``tasks``; nothing of them is kept on disk.

    Args:
        loader: Of the project.
        tasks: The pool, whose images could be read before.
        start: What the network is trained from; decides the size of the images.
        on_progress: Called with the share that is done.
    """
    known = {item.task: item for item in loader.store.pool.items(loader.project)}
    items = [known[task] for task in tasks]
    size = image_size(start, loader.typical_side(items))
    _require_memory(len(items), size, start)
    rows = {task: row for row, task in enumerate(tasks)}
    images = np.empty((len(items), size, size, 3), dtype=np.uint8)
    lost = set(tasks)
    for chunk in loader.load(items, size, on_progress):
        read = [item.task for item in chunk.items]
        images[[rows[task] for task in read]] = chunk.images
        lost.difference_update(read)
    if lost:
        raise _lost(loader, lost)
    return images


def image_size(start: str, typical_side: int) -> int:
    """Pixels of the squares that a network sees.

    Args:
        start: What it is trained from.
        typical_side: Pixels of the longer side of most images.
    """
    if is_pretrained(start):
        return PRETRAINED
    return SMALL if typical_side <= SMALL_SIDE else LARGE


def _require_memory(count: int, size: int, start: str) -> None:
    needed = count * size * size * 3
    if needed <= MOST_BYTES:
        return
    other = ", or fine-tune from `resnet18`, which sees smaller ones" * is_pretrained(start)
    raise UHerdingError(
        f"Fine-tuning keeps the pool in memory: {count} images of {size} x {size} pixels are "
        f"{needed / 1e9:.1f} GB, more than {MOST_BYTES / 1e9:g} GB. Choose the classifier `linear` "
        f"or `mlp`, which need no images{other}."
    )


def _lost(loader: ImageLoader, tasks: set[TaskId]) -> UHerdingError:
    """The loader has recorded why, so that the next round leaves these tasks out."""
    items = [item for item in loader.store.pool.items(loader.project) if item.task in tasks]
    others = f" and of {len(tasks) - 1} more" * (len(tasks) > 1)
    return UHerdingError(
        f"The image of task {items[0].task}{others} could be read before but not now: "
        f"{items[0].problem} The next try goes on without what cannot be read."
    )
