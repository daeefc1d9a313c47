"""Items -> pixels, several at a time, while the caller computes with the ones before."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from model.arrays import Images
from model.errors import UnreadableImageError
from model.images import decode, longer_side, thumbnail
from uherding_backend.errors import ImageError
from uherding_backend.images_source import ImageSource
from uherding_backend.labels import ProjectId
from uherding_backend.store import Store
from uherding_backend.store.pool import Item

CHUNK = 32  # images per append: what a killed process may have to compute again
CHUNKS_AHEAD = 2  # decoded and waiting: enough to keep the forward pass busy
SIZE_SAMPLE = 32


@dataclass(frozen=True, slots=True)
class Loaded:
    """Some items whose images could be read, with their pixels in the same order."""

    items: list[Item]
    images: Images


@dataclass(frozen=True, slots=True)
class ImageLoader:
    """Fetches and decodes a project's images; what cannot be read is recorded with its reason."""

    store: Store
    project: ProjectId
    source: ImageSource

    def typical_side(self, items: Sequence[Item]) -> int:
        """Pixels of the longer side of most images, by the median of a few."""
        items = [item for item in items if not item.problem]
        rows = np.random.default_rng(0).permutation(len(items))[:SIZE_SAMPLE]
        wanted = [(items[row].task, items[row].image) for row in sorted(rows)]
        sides = []
        for _, data in self.source.fetch_all(wanted):
            if not isinstance(data, ImageError) and (side := longer_side(data)):
                sides.append(side)
        return round(float(np.median(sides))) if sides else 0

    def load(
        self, items: Sequence[Item], size: int, on_progress: Callable[[float], None]
    ) -> Iterator[Loaded]:
        """Chunk after chunk, each prepared in the background while the one before is used."""
        chunks = [items[at : at + CHUNK] for at in range(0, len(items), CHUNK)]
        with ThreadPoolExecutor(1) as background:
            waiting = deque(
                background.submit(self._load_chunk, chunk, size) for chunk in chunks[:CHUNKS_AHEAD]
            )
            for number in range(len(chunks)):
                loaded = waiting.popleft().result()
                for chunk in chunks[number + CHUNKS_AHEAD : number + CHUNKS_AHEAD + 1]:
                    waiting.append(background.submit(self._load_chunk, chunk, size))
                yield loaded
                on_progress((number + 1) / len(chunks))

    def _load_chunk(self, items: Sequence[Item], size: int) -> Loaded:
        by_task = {item.task: item for item in items}
        good: list[Item] = []
        bad: list[Item] = []
        pixels = []
        contents: dict[str, bytes] = {}
        for task, data in self.source.fetch_all([(item.task, item.image) for item in items]):
            try:
                if isinstance(data, ImageError):
                    raise data
                pixels.append(decode(data, size))
            except (ImageError, UnreadableImageError) as error:
                bad.append(replace(by_task[task], problem=str(error)))
                continue
            content_hash = hashlib.sha256(data).hexdigest()
            good.append(replace(by_task[task], content_hash=content_hash, problem=""))
            contents[content_hash] = data
        self.store.pool.fetched(self.project, bad)
        self._keep_thumbnails(contents)
        shape = (0, size, size, 3)
        return Loaded(good, np.stack(pixels) if pixels else np.zeros(shape, dtype=np.uint8))

    def _keep_thumbnails(self, contents: Mapping[str, bytes]) -> None:
        missing = self.store.thumbnails.missing(contents.keys())
        self.store.thumbnails.keep({key: thumbnail(contents[key]) for key in missing})
