"""Items -> pixels, several at a time, while the caller computes with the ones before."""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from model.arrays import Images
from model.errors import UnreadableImageError
from model.images import Picture, decode, decode_with_thumbnail, longer_side
from uherding_backend.errors import ImageError
from uherding_backend.images_source import PARALLEL_FETCHES, ImageSource
from uherding_backend.labels import ProjectId
from uherding_backend.store import Store
from uherding_backend.store.pool import Item

CHUNK = 32  # images per append: what a killed process may have to compute again
CHUNKS_AHEAD = 2  # decoded and waiting: enough to keep the forward pass busy
DECODERS = min(8, os.cpu_count() or 1)  # each may hold a large picture
SIZE_SAMPLE = 32


@dataclass(frozen=True, slots=True)
class Loaded:
    """Some items whose images could be read, with their pixels in the same order."""

    items: list[Item]
    images: Images


@dataclass(frozen=True, slots=True)
class _Fetched:
    """One item with the bytes of its image, or with the reason why there are none."""

    item: Item
    data: bytes | ImageError
    content_hash: str = ""


@dataclass(frozen=True, slots=True)
class _Opened:
    """One item with its picture, or with its problem."""

    item: Item
    picture: Picture | None


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
        with (
            ThreadPoolExecutor(PARALLEL_FETCHES) as fetching,
            ThreadPoolExecutor(DECODERS) as decoding,
            ThreadPoolExecutor(CHUNKS_AHEAD) as background,
        ):

            def begin(chunk: Sequence[Item]) -> Future[Loaded]:
                return background.submit(self._load_chunk, chunk, size, fetching, decoding)

            waiting = deque(begin(chunk) for chunk in chunks[:CHUNKS_AHEAD])
            for number in range(len(chunks)):
                loaded = waiting.popleft().result()
                waiting.extend(begin(chunk) for chunk in chunks[number + CHUNKS_AHEAD :][:1])
                yield loaded
                on_progress((number + 1) / len(chunks))

    def _load_chunk(
        self, items: Sequence[Item], size: int, fetching: Executor, decoding: Executor
    ) -> Loaded:
        fetched = list(fetching.map(self._fetch, items))
        unseen = self.store.thumbnails.missing({one.content_hash for one in fetched})
        opened = list(decoding.map(lambda one: _open(one, size, unseen), fetched))
        self.store.pool.fetched(self.project, [one.item for one in opened if not one.picture])
        good = [(one.item, one.picture) for one in opened if one.picture]
        self.store.thumbnails.keep(
            {item.content_hash or "": shown.thumbnail for item, shown in good if shown.thumbnail}
        )
        images = np.empty((len(good), size, size, 3), dtype=np.uint8)
        for row, (_, picture) in enumerate(good):
            images[row] = picture.pixels
        return Loaded([item for item, _ in good], images)

    def _fetch(self, item: Item) -> _Fetched:
        try:
            data = self.source.fetch(item.task, item.image)
        except ImageError as error:
            return _Fetched(item, error)
        return _Fetched(item, data, hashlib.sha256(data).hexdigest())


def _open(fetched: _Fetched, size: int, unseen: Collection[str]) -> _Opened:
    """Decode one image; only those with an unseen hash get a thumbnail."""
    item, data = fetched.item, fetched.data
    try:
        if isinstance(data, ImageError):
            raise data
        if fetched.content_hash in unseen:
            picture = decode_with_thumbnail(data, size)
        else:
            picture = Picture(decode(data, size), thumbnail=b"")
    except (ImageError, UnreadableImageError) as error:
        return _Opened(replace(item, problem=str(error)), None)
    return _Opened(replace(item, content_hash=fetched.content_hash, problem=""), picture)
