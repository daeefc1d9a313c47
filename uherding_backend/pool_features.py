"""A project's pool as feature rows: only images that are new are fetched and computed."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from model.arrays import Features, Images
from model.errors import UnreadableImageError
from model.features.patches import PatchExtractor
from model.images import decode
from uherding_backend.errors import ImageError, UHerdingError
from uherding_backend.feature_store import FeatureStore
from uherding_backend.images_source import ImageSource
from uherding_backend.labels import ProjectId, TaskId
from uherding_backend.store import Store
from uherding_backend.store.pool import Item

log = logging.getLogger(__name__)

FIT_IMAGES = 4000  # more images no longer change the dictionary of patches noticeably
OUTGROWN = 4  # a pool this many times larger than what was learned from deserves new features
CHUNK = 256  # images per append: what a killed process may have to compute again
RETRIES = 64  # unreadable images tried again in each round: a dead host must not stop it
MIN_IMAGES = 2

Progress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class Pool:
    """The images that can be ranked; a task's position is its row in ``features``."""

    tasks: tuple[TaskId, ...]
    features: Features
    extractor: str
    unreadable: int


@dataclass(frozen=True, slots=True)
class PoolFeatures:
    """Fetches, decodes and embeds a project's images, with what was computed before."""

    store: Store
    project: ProjectId
    source: ImageSource
    progress: Progress

    def pool(self) -> Pool:
        """The whole pool; an unreadable image is recorded with its reason and left out."""
        extractor = self._extractor()
        feature_store = feature_store_of(self.store)
        known = feature_store.known(extractor.version)
        missing = self._missing(known)
        for at in range(0, len(missing), CHUNK):
            self.progress("features", at / len(missing))
            items, images = self._load(missing[at : at + CHUNK])
            self._embed(extractor, feature_store, items, images)
        items = self.store.pool.items(self.project)
        readable = [item for item in items if item.content_hash and not item.problem]
        hashes = [item.content_hash or "" for item in readable]
        return Pool(
            tasks=tuple(item.task for item in readable),
            features=feature_store.rows(extractor.version, extractor.dimension, hashes),
            extractor=extractor.version,
            unreadable=len(items) - len(readable),
        )

    def _extractor(self) -> PatchExtractor:
        """The project's extractor: fixed, unless the pool has outgrown what it learned from."""
        project = self.store.projects.get(self.project)
        items = self.store.pool.items(self.project)
        usable = sum(not item.problem for item in items)
        enough = min(usable, FIT_IMAGES) < OUTGROWN * project.extractor_images
        if project.extractor and enough:
            return PatchExtractor.load(extractor_path(self.store, project.id, project.extractor))
        return self._fit(items)

    def _fit(self, items: Sequence[Item]) -> PatchExtractor:
        """Learn features from the pool's images, and embed those images with them."""
        chosen = np.random.default_rng(0).permutation(len(items))[:FIT_IMAGES]
        loaded = list(self._chunks([items[row] for row in sorted(chosen)]))
        images = np.concatenate([images for _, images in loaded]) if loaded else _no_images()
        if len(images) < MIN_IMAGES:
            raise UHerdingError(
                f"Only {len(images)} of the project's images can be read; ranking needs "
                f"{MIN_IMAGES} or more. Import images, or see on the status page why they fail."
            )
        log.info("project %d: learning features from %d images", self.project, len(images))
        extractor = PatchExtractor.fit(
            images, seed=0, on_progress=lambda done: self.progress("learning features", done)
        )
        for chunk, decoded in loaded:
            self._embed(extractor, feature_store_of(self.store), chunk, decoded)
        extractor.save(extractor_path(self.store, self.project, extractor.version))
        # Last: once it is in use, its file and the sample's rows are there.
        self.store.projects.use_extractor(self.project, extractor.version, len(images))
        return extractor

    def _missing(self, known: set[str]) -> list[Item]:
        items = self.store.pool.items(self.project)
        broken = [item for item in items if item.problem]
        new = [item for item in items if not item.problem and item.content_hash not in known]
        return new + broken[:RETRIES]

    def _chunks(self, items: Sequence[Item]) -> Iterator[tuple[list[Item], Images]]:
        for at in range(0, len(items), CHUNK):
            self.progress("fetching images", at / len(items))
            yield self._load(items[at : at + CHUNK])

    def _load(self, items: Sequence[Item]) -> tuple[list[Item], Images]:
        """The items that can be read, with their pixels; the others are recorded as they are."""
        by_task = {item.task: item for item in items}
        good: list[Item] = []
        pixels = []
        bad: list[Item] = []
        for task, data in self.source.fetch_all([(item.task, item.image) for item in items]):
            try:
                if isinstance(data, ImageError):
                    raise data
                pixels.append(decode(data, PatchExtractor.image_size))
            except (ImageError, UnreadableImageError) as error:
                bad.append(replace(by_task[task], problem=str(error)))
                continue
            content_hash = hashlib.sha256(data).hexdigest()
            good.append(replace(by_task[task], content_hash=content_hash, problem=""))
        self.store.pool.fetched(self.project, bad)
        return good, np.stack(pixels) if pixels else _no_images()

    def _embed(
        self, extractor: PatchExtractor, rows: FeatureStore, items: Sequence[Item], images: Images
    ) -> None:
        if items:
            hashes = [item.content_hash or "" for item in items]
            rows.append(extractor.version, hashes, extractor.extract(images))
            self.store.pool.fetched(self.project, items)


def extractor_path(store: Store, project: ProjectId, version: str) -> Path:
    """Where a fitted extractor is."""
    return store.project_dir(project) / f"{version}.npz"


def feature_store_of(store: Store) -> FeatureStore:
    """The feature rows of this data directory."""
    return FeatureStore(store.database, store.data_dir / "features")


def _no_images() -> Images:
    return np.zeros((0, PatchExtractor.image_size, PatchExtractor.image_size, 3), dtype=np.uint8)
