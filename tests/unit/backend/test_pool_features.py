from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from model.duplicates import NOT_A_COPY
from tests.support.builders import (
    LABEL_STUDIO_URL,
    LISTING,
    PROJECT,
    TOKEN,
    connected,
    data_uri,
    picture,
    pictures,
    use_patches,
)
from tests.support.fake_label_studio import Killed
from tests.unit.backend.conftest import Website
from uherding_backend import image_loading, pool_features
from uherding_backend.errors import UHerdingError
from uherding_backend.images_source import ImageSource
from uherding_backend.labels import TaskId
from uherding_backend.labelstudio import LabelStudio
from uherding_backend.options import Options
from uherding_backend.pool_features import PoolFeatures
from uherding_backend.store import Store
from uherding_backend.store.project_records import ExtractorInUse

OPTIONS = Options(round_size=6, queue_size=18, prelabel=False, features="patches")


@pytest.fixture
def steps() -> list[str]:
    return []


@pytest.fixture
def features(store: Store, fitted_extractor: Path, steps: list[str]) -> PoolFeatures:
    shutil.copy(fitted_extractor, store.project_dir(PROJECT))
    connected(store)
    source = ImageSource(LabelStudio(LABEL_STUDIO_URL, TOKEN))
    return PoolFeatures(store, PROJECT, OPTIONS, source, lambda step, _: steps.append(step))


def forget_features(store: Store) -> None:
    store.projects.use_extractor(PROJECT, ExtractorInUse())


def fill(store: Store, images: list[str]) -> None:
    numbered = {TaskId(number): image for number, image in enumerate(images, start=1)}
    store.pool.replace_items(PROJECT, numbered, LISTING)


def test_rows_are_in_the_order_of_the_task_ids(features: PoolFeatures, store: Store) -> None:
    first, second, third = pictures(3)
    store.pool.replace_items(
        PROJECT, {TaskId(30): third, TaskId(10): first, TaskId(20): second}, LISTING
    )
    pool = features.pool()

    fill(store, [first, second, third])
    same = features.pool()

    assert pool.tasks == (10, 20, 30)
    np.testing.assert_array_equal(pool.features, same.features)
    np.testing.assert_allclose(np.linalg.norm(pool.features, axis=1), 1.0, atol=1e-5)


def test_equal_pictures_have_equal_rows(features: PoolFeatures, store: Store) -> None:
    fill(store, pictures(1) * 2)

    pool = features.pool()

    assert len(pool.tasks) == 2
    np.testing.assert_array_equal(pool.features[0], pool.features[1])


def test_copies_are_those_of_the_pool_as_it_is_now(features: PoolFeatures, store: Store) -> None:
    first, second = pictures(2)
    fill(store, [first, second, first])
    before = features.pool()
    again = features.pool()

    fill(store, [first, second, second])
    after = features.pool()

    assert before.copies.tolist() == again.copies.tolist() == [NOT_A_COPY, NOT_A_COPY, 0]
    assert after.copies.tolist() == [NOT_A_COPY, NOT_A_COPY, 1]


def test_an_image_that_is_mended_comes_back(features: PoolFeatures, store: Store) -> None:
    fill(store, [*pictures(2), data_uri(b"no picture")])
    broken = features.pool()

    fill(store, pictures(3))
    mended = features.pool()

    assert (broken.tasks, broken.unreadable) == ((1, 2), 1)
    assert (mended.tasks, mended.unreadable) == ((1, 2, 3), 0)


def test_an_image_that_was_only_missing_for_a_while_is_tried_again(
    features: PoolFeatures, store: Store, website: Website
) -> None:
    fill(store, [*pictures(2), f"{website.url}/late.png"])
    features.pool()
    problem = store.pool.items(PROJECT)[2].problem

    website.says("/late.png", picture("disc", 99))
    pool = features.pool()

    assert "404" in problem
    assert pool.tasks == (1, 2, 3)
    assert store.pool.items(PROJECT)[2].problem == ""


def test_only_some_broken_images_are_tried_again_in_each_round(
    features: PoolFeatures, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_features, "RETRIES", 2)
    fill(store, [*pictures(2), *[data_uri(b"no picture")] * 5])
    features.pool()
    asked: list[int] = []
    fetch = ImageSource.fetch

    def watched(source: ImageSource, task: TaskId, image: str) -> bytes:
        asked.append(task)
        return fetch(source, task, image)

    monkeypatch.setattr(ImageSource, "fetch", watched)

    pool = replace(features, seed=1).pool()
    first = set(asked)
    for seed in range(2, 12):
        replace(features, seed=seed).pool()

    assert len(first) == 2
    assert set(asked) == {3, 4, 5, 6, 7}  # none is left out for ever
    assert pool.unreadable == 5


def test_killed_between_two_chunks_the_first_is_not_computed_again(
    features: PoolFeatures, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_loading, "CHUNK", 2)
    fill(store, pictures(4))

    def die_at_half(_: str, done: float) -> None:
        if done == 0.5:
            raise Killed

    with pytest.raises(Killed):
        PoolFeatures(store, PROJECT, OPTIONS, features.source, die_at_half).pool()
    left = [item.task for item in store.pool.items(PROJECT) if item.content_hash is None]
    pool = features.pool()

    assert left == [3, 4]
    assert pool.tasks == (1, 2, 3, 4)


def test_learning_features_is_told_and_happens_once(
    features: PoolFeatures, store: Store, steps: list[str]
) -> None:
    forget_features(store)
    fill(store, pictures(6))

    first = features.pool()
    told = list(steps)
    steps.clear()
    second = features.pool()

    assert {"fetching images", "learning features"} <= set(told)
    assert "learning features" not in steps
    assert first.extractor == second.extractor
    np.testing.assert_array_equal(first.features, second.features)


@pytest.mark.parametrize("images", [[], [data_uri(b"no picture")] * 3])
def test_fewer_than_two_readable_images_are_refused_with_what_to_do(
    features: PoolFeatures, store: Store, images: list[str]
) -> None:
    forget_features(store)
    fill(store, images)

    with pytest.raises(UHerdingError, match="Only 0 of the project's images can be read"):
        features.pool()


def test_a_pool_that_has_outgrown_its_features_learns_new_ones(
    features: PoolFeatures, store: Store
) -> None:
    fill(store, pictures(8))
    use_patches(store, store.projects.get(PROJECT).extractor.version, images=3)
    before = features.pool().extractor

    fill(store, pictures(12))
    after = features.pool()

    assert after.extractor != before
    assert after.extractor == store.projects.get(PROJECT).extractor
    assert len(after.features) == 12
    assert store.projects.get(PROJECT).extractor.images == 12


def test_many_unreadable_images_do_not_make_features_be_learned_in_every_round(
    features: PoolFeatures, store: Store, steps: list[str]
) -> None:
    forget_features(store)
    fill(store, [*pictures(3), *[data_uri(b"no picture")] * 20])
    features.pool()
    steps.clear()

    features.pool()

    assert "learning features" not in steps
