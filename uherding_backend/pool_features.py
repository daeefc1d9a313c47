"""A project's pool as feature rows: only images that are new are fetched and computed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from model.arrays import Features, Rows
from model.duplicates import NOT_A_COPY
from model.features import Extractor
from uherding_backend.image_loading import ImageLoader
from uherding_backend.images_source import ImageSource
from uherding_backend.labels import ProjectId, TaskId
from uherding_backend.options import Options
from uherding_backend.pool_copies import pool_copies
from uherding_backend.project_extractor import (
    Progress,
    ProjectExtractor,
    embed,
    feature_store_of,
    require_images,
)
from uherding_backend.store import Store
from uherding_backend.store.pool import Item
from uherding_backend.store.project_records import ExtractorInUse

COMPARED_IMAGES = 20_000  # looking for copies compares all pairs: seconds for so many
RETRIES = 64  # unreadable images tried again in each round: a dead host must not stop it


@dataclass(frozen=True, slots=True)
class Pool:
    """The images that can be ranked; a task's position is its row in ``features``."""

    tasks: tuple[TaskId, ...]
    features: Features
    extractor: ExtractorInUse
    unreadable: int
    copies: Rows  # for each row the earlier one that it nearly repeats, NOT_A_COPY otherwise


@dataclass(frozen=True, slots=True)
class PoolFeatures:
    """Fetches, decodes and embeds a project's images, with what was computed before."""

    store: Store
    project: ProjectId
    options: Options
    source: ImageSource
    progress: Progress
    seed: int = 0  # decides which of many unreadable images are tried again

    def pool(self) -> Pool:
        """The whole pool; an unreadable image is recorded with its reason and left out."""
        loader = ImageLoader(self.store, self.project, self.source)
        items = self.store.pool.items(self.project)
        extractor = ProjectExtractor(self.store, self.options, loader, self.progress).get(items)
        if self._missing(extractor, items):
            items = self.store.pool.items(self.project)  # learning may have fetched some
            for chunk in loader.load(
                self._missing(extractor, items),
                extractor.image_size,
                lambda done: self.progress("features", done),
            ):
                embed(self.store, self.project, extractor, chunk.items, chunk.images)
            items = self.store.pool.items(self.project)
        return self._stored(extractor, items)

    def _missing(self, extractor: Extractor, items: list[Item]) -> list[Item]:
        known = feature_store_of(self.store).known(extractor.version)
        broken = [item for item in items if item.problem]
        new = [item for item in items if not item.problem and item.content_hash not in known]
        again = np.random.default_rng(self.seed).permutation(len(broken))[:RETRIES]
        return new + [broken[row] for row in sorted(again)]

    def _stored(self, extractor: Extractor, items: list[Item]) -> Pool:
        readable = [item for item in items if item.content_hash and not item.problem]
        require_images(len(readable))
        hashes = [item.content_hash or "" for item in readable]
        rows = feature_store_of(self.store).rows(extractor.version, extractor.dimension, hashes)
        return Pool(
            tasks=tuple(item.task for item in readable),
            features=rows,
            extractor=self.store.projects.get(self.project).extractor,
            unreadable=len(items) - len(readable),
            copies=self._copies(rows, [extractor.version, *hashes]),
        )

    def _copies(self, rows: Features, made_of: list[str]) -> Rows:
        """Near-copies among the images; not looked for where that would take too long."""
        if len(rows) > COMPARED_IMAGES:
            return np.full(len(rows), NOT_A_COPY, dtype=np.int64)
        return pool_copies(self.store.project_dir(self.project), rows, made_of)
