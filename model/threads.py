"""Many pieces of work in torch that do not depend on each other, on all cores.

Where torch spreads one small operation over its threads, waking them takes longer than the
operation. Here each thread does whole pieces of work, alone.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Part = TypeVar("Part")


def in_threads(
    work: Callable[[Part], None], parts: Sequence[Part], device: torch.device
) -> Iterator[Part]:
    """Do the work for every part; give each part, in order, when it is done."""
    if device.type != "cpu" or len(parts) == 1:
        for part in parts:
            work(part)
            yield part
        return
    with ThreadPoolExecutor(torch.get_num_threads(), initializer=_alone) as workers:
        try:
            for part, _ in zip(parts, workers.map(work, parts), strict=True):
                yield part
        finally:
            workers.shutdown(cancel_futures=True)


def _alone() -> None:
    torch.set_num_threads(1)  # holds for the calling thread only
