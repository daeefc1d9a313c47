"""Which features a project uses: chosen once, learned from its images where they are learned."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from model.arrays import Features
from model.errors import ModelError
from model.features import Extractor
from model.features.choosing import Choice, choose
from model.features.names import AUTO
from model.features.opening import learn, learning_size, learns, open_pretrained, reopen
from model.features.simclr_training import Budget
from uherding_backend.errors import UHerdingError
from uherding_backend.feature_store import FeatureStore
from uherding_backend.image_loading import ImageLoader
from uherding_backend.labels import ProjectId, TaskId
from uherding_backend.options import Options
from uherding_backend.store import Project, Round, Store
from uherding_backend.store.pool import Item
from uherding_backend.store.project_records import ExtractorInUse

log = logging.getLogger(__name__)

LEARN_IMAGES = 4000  # bounds the time and memory of learning; not tuned
OUTGROWN = 4  # a pool this many times larger than what was learned from deserves new features
MIN_IMAGES = 2

Progress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class ProjectExtractor:
    """Finds, makes or reopens the extractor of one project."""

    store: Store
    options: Options
    loader: ImageLoader
    progress: Progress

    def get(self, items: Sequence[Item]) -> Extractor:
        """The extractor in use, or a new one if there is none or another one is wanted."""
        project = self.store.projects.get(self.loader.project)
        if self._still_good(project, items):
            try:
                return reopened(self.store, project.id, project.extractor)
            except ModelError as error:
                if self.options.features != AUTO:
                    raise
                log.warning("project %d: %s", project.id, error)
        return self._new(project.id, items)

    def _still_good(self, project: Project, items: Sequence[Item]) -> bool:
        used = project.extractor
        if not used.version or self.options.features not in (AUTO, used.name):
            return False
        usable = sum(not item.problem for item in items)
        return not learns(used.name) or min(usable, LEARN_IMAGES) < OUTGROWN * used.images

    def _new(self, project: ProjectId, items: Sequence[Item]) -> Extractor:
        self.progress("choosing features", 0.0)
        side = self.loader.typical_side(items)
        choice = choose(self.options.features, side)
        try:
            return self._make(project, choice, side, items)
        except ModelError as error:
            if self.options.features != AUTO:
                raise
            # The hub may answer while the download behind it is blocked.
            log.warning("project %d: %s Taking what needs no model hub.", project, error)
            offline = choose(AUTO, side, cached=lambda _: False, answers=lambda: False)
            return self._make(project, offline, side, items)

    def _make(
        self, project: ProjectId, choice: Choice, side: int, items: Sequence[Item]
    ) -> Extractor:
        log.info("project %d: features by %s. %s", project, choice.name, choice.reason)
        if learns(choice.name):
            return self._learn(project, choice, learning_size(choice.name, side), items)
        return self._use(project, open_pretrained(choice.name), choice, images=0)

    def _learn(
        self, project: ProjectId, choice: Choice, size: int, items: Sequence[Item]
    ) -> Extractor:
        """Learn from the pool's images, and embed those images too: they are fetched once."""
        items = [item for item in items if not item.problem]
        rows = sorted(np.random.default_rng(0).permutation(len(items))[:LEARN_IMAGES])
        sample = [items[row] for row in rows]
        loaded = list(
            self.loader.load(sample, size, lambda done: self.progress("fetching images", done))
        )
        count = sum(len(chunk.items) for chunk in loaded)
        require_images(count)
        extractor = learn(
            choice.name,
            np.concatenate([chunk.images for chunk in loaded]),
            self.store.project_dir(project),
            seed=0,
            budget=Budget(epochs=self.options.simclr_epochs),
            on_progress=self._learning,
        )
        for chunk in loaded:
            embed(self.store, project, extractor, chunk.items, chunk.images)
        return self._use(project, extractor, choice, images=count)

    def _use(
        self, project: ProjectId, extractor: Extractor, choice: Choice, images: int
    ) -> Extractor:
        self.store.projects.use_extractor(
            project,
            ExtractorInUse(
                name=choice.name,
                version=extractor.version,
                description=extractor.description,
                reason=choice.reason,
                images=images,
            ),
        )
        return extractor

    def _learning(self, share: float, seconds_left: float | None) -> None:
        left = f", {seconds_left / 60:.0f} min left" if seconds_left else ""
        self.progress(f"learning features{left}", share)


def require_images(count: int) -> None:
    """Refuse a pool with too few readable images to rank."""
    if count < MIN_IMAGES:
        raise UHerdingError(
            f"Only {count} of the project's images can be read; ranking needs {MIN_IMAGES} or "
            "more. Import images, or see on the dashboard why they fail."
        )


def reopened(store: Store, project: ProjectId, used: ExtractorInUse) -> Extractor:
    """The extractor that a project uses or used; loaded once per process."""
    return _reopened(used.name, used.version, store.project_dir(project))


def stored_features(store: Store, round_: Round, tasks: Sequence[TaskId]) -> Features:
    """The rows of these tasks, as a ranked round had them."""
    used = ExtractorInUse(round_.report["features"], round_.report["extractor"])
    hashes = {item.task: item.content_hash or "" for item in store.pool.items(round_.project)}
    return feature_store_of(store).rows(
        used.version,
        reopened(store, round_.project, used).dimension,
        [hashes[task] for task in tasks],
    )


@lru_cache(maxsize=4)
def _reopened(name: str, version: str, directory: Path) -> Extractor:
    return reopen(name, version, directory)


def embed(
    store: Store,
    project: ProjectId,
    extractor: Extractor,
    items: Sequence[Item],
    images: np.ndarray[tuple[int, ...], np.dtype[np.uint8]],
) -> None:
    """Compute and keep the feature rows of these images, then their items' hashes."""
    if not items:
        return
    hashes = [item.content_hash or "" for item in items]
    feature_store_of(store).append(extractor.version, hashes, extractor.extract(images))
    store.pool.fetched(project, items)


def feature_store_of(store: Store) -> FeatureStore:
    """The feature rows of this data directory."""
    return FeatureStore(store.database, store.data_dir / "features")
