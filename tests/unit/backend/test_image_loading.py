from __future__ import annotations

import pytest

from tests.support.builders import (
    LABEL_STUDIO_URL,
    PROJECT,
    TOKEN,
    connected,
    data_uri,
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
    store.pool.replace_items(PROJECT, {TaskId(n): image for n, image in enumerate(images, start=1)})
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
