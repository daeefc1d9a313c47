from __future__ import annotations

import threading

import numpy as np
import pytest

from model.images import decode
from tests.support.builders import (
    LABEL_STUDIO_URL,
    LISTING,
    PROJECT,
    TOKEN,
    connected,
    data_uri,
    kind_of,
    picture,
    pictures,
)
from uherding_backend import image_loading
from uherding_backend.errors import LabelStudioUnreachableError
from uherding_backend.image_loading import ImageLoader
from uherding_backend.images_source import ImageSource
from uherding_backend.labels import TaskId
from uherding_backend.labelstudio import LabelStudio
from uherding_backend.store import Store


def loader_of(store: Store, images: list[str]) -> ImageLoader:
    connected(store)
    store.pool.replace_items(
        PROJECT, {TaskId(n): image for n, image in enumerate(images, start=1)}, LISTING
    )
    return ImageLoader(store, PROJECT, ImageSource(LabelStudio(LABEL_STUDIO_URL, TOKEN)))


def test_chunks_come_in_order_and_progress_ends_at_one(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_loading, "CHUNK", 2)
    loader = loader_of(store, pictures(7))
    told: list[float] = []

    chunks = list(loader.load(store.pool.items(PROJECT), 16, told.append))

    tasks = [[item.task for item in chunk.items] for chunk in chunks]
    assert tasks == [[1, 2], [3, 4], [5, 6], [7]]
    assert [chunk.images.shape for chunk in chunks][-1] == (1, 16, 16, 3)
    assert told == [0.25, 0.5, 0.75, 1.0]


def test_an_unreadable_image_is_recorded_and_left_out(store: Store) -> None:
    loader = loader_of(store, [*pictures(2), data_uri(b"no picture")])

    (chunk,) = loader.load(store.pool.items(PROJECT), 16, lambda _: None)

    assert [item.task for item in chunk.items] == [1, 2]
    assert [item.task for item in store.pool.unreadable(PROJECT, 10)] == [3]


def test_a_slow_image_and_a_slow_chunk_keep_their_place(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_loading, "CHUNK", 3)
    loader = loader_of(store, pictures(6))
    fetch, others_done = ImageSource.fetch, threading.Semaphore(0)

    def first_comes_last(source: ImageSource, task: TaskId, image: str) -> bytes:
        if task == 1:
            for _ in range(5):
                assert others_done.acquire(timeout=30)
        data = fetch(source, task, image)
        others_done.release()
        return data

    monkeypatch.setattr(ImageSource, "fetch", first_comes_last)

    chunks = list(loader.load(store.pool.items(PROJECT), 16, lambda _: None))

    assert [[item.task for item in chunk.items] for chunk in chunks] == [[1, 2, 3], [4, 5, 6]]
    expected = [decode(picture(kind_of(task), task), 16) for task in range(1, 7)]
    np.testing.assert_array_equal(
        np.concatenate([chunk.images for chunk in chunks]), np.stack(expected)
    )


def test_each_unreadable_image_has_its_own_reason_and_costs_no_other(store: Store) -> None:
    first, last = pictures(2)
    loader = loader_of(store, [first, data_uri(b"no picture"), "ftp://nowhere/a.png", last])

    (chunk,) = loader.load(store.pool.items(PROJECT), 16, lambda _: None)

    assert [item.task for item in chunk.items] == [1, 4]
    np.testing.assert_array_equal(chunk.images[1], decode(picture(kind_of(2), 2), 16))
    problems = {item.task: item.problem for item in store.pool.unreadable(PROJECT, 10)}
    assert problems.keys() == {2, 3}
    assert "cannot be read as an image" in problems[TaskId(2)]
    assert "not supported" in problems[TaskId(3)]


def test_a_thumbnail_is_made_only_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    loader = loader_of(store, pictures(2))
    list(loader.load(store.pool.items(PROJECT), 16, lambda _: None))
    made: list[bytes] = []
    monkeypatch.setattr(image_loading, "decode_with_thumbnail", lambda data, _: made.append(data))

    (chunk,) = loader.load(store.pool.items(PROJECT), 16, lambda _: None)

    assert len(chunk.items) == 2
    assert made == []


def test_every_readable_image_gets_a_thumbnail(store: Store) -> None:
    loader = loader_of(store, pictures(3))

    (chunk,) = loader.load(store.pool.items(PROJECT), 16, lambda _: None)

    for item in chunk.items:
        jpeg = store.thumbnails.get(item.content_hash or "")
        assert jpeg is not None
        assert jpeg.startswith(b"\xff\xd8")


def test_label_studio_being_down_is_not_the_images_fault(store: Store) -> None:
    loader = loader_of(store, ["/data/upload/1/a.png"] * 2)

    with pytest.raises(LabelStudioUnreachableError):
        list(loader.load(store.pool.items(PROJECT), 16, lambda _: None))

    assert store.pool.unreadable(PROJECT, 10) == []


def test_the_typical_side_is_the_median_of_what_can_be_read(store: Store) -> None:
    loader = loader_of(store, [*pictures(3), data_uri(b"no picture")])

    assert loader.typical_side(store.pool.items(PROJECT)) == 32
    assert loader.typical_side([]) == 0
