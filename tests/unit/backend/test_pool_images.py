from __future__ import annotations

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
from uherding_backend import pool_images as module
from uherding_backend.errors import UHerdingError
from uherding_backend.image_loading import ImageLoader
from uherding_backend.images_source import ImageSource
from uherding_backend.labels import TaskId
from uherding_backend.labelstudio import LabelStudio
from uherding_backend.pool_images import image_size, pool_images
from uherding_backend.store import Store


def loader_of(store: Store, images: list[str]) -> ImageLoader:
    connected(store)
    store.pool.replace_items(
        PROJECT, {TaskId(n): image for n, image in enumerate(images, start=1)}, LISTING
    )
    return ImageLoader(store, PROJECT, ImageSource(LabelStudio(LABEL_STUDIO_URL, TOKEN)))


def test_images_are_in_the_order_of_the_tasks(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_loading, "CHUNK", 2)
    loader = loader_of(store, pictures(5))
    told: list[float] = []

    images = pool_images(loader, [TaskId(n) for n in (4, 1, 5)], "resnet18", told.append)

    expected = [decode(picture(kind_of(n), n), 32) for n in (4, 1, 5)]
    np.testing.assert_array_equal(images, np.stack(expected))
    assert told == [0.5, 1.0]


@pytest.mark.parametrize(
    ("start", "typical_side", "size"),
    [
        ("resnet18", 28, 32),
        ("resnet18:16", 48, 32),
        ("resnet18", 49, 96),
        ("efficientnet-lite0", 28, 224),
        ("timm:resnet10t", 640, 224),
    ],
)
def test_the_size_follows_the_images_unless_the_network_is_pretrained(
    start: str, typical_side: int, size: int
) -> None:
    assert image_size(start, typical_side) == size


@pytest.mark.parametrize(
    ("start", "words"),
    [
        ("resnet18", r"which need no images\.$"),
        ("efficientnet-lite0", r", or fine-tune from `resnet18`, which sees smaller ones\.$"),
    ],
)
def test_more_pixels_than_fit_are_refused_before_they_are_fetched(
    store: Store, monkeypatch: pytest.MonkeyPatch, start: str, words: str
) -> None:
    loader = loader_of(store, pictures(3))
    needed = 3 * image_size(start, 32) ** 2 * 3
    tasks = [TaskId(n) for n in (1, 2, 3)]
    monkeypatch.setattr(module, "MOST_BYTES", needed)
    assert len(pool_images(loader, tasks, start, lambda _: None)) == 3

    monkeypatch.setattr(module, "MOST_BYTES", needed - 1)
    monkeypatch.setattr(ImageLoader, "load", lambda *_: pytest.fail("fetched"))

    with pytest.raises(UHerdingError, match=f"3 images of .*Choose the classifier .*{words}"):
        pool_images(loader, tasks, start, lambda _: None)


def test_every_lost_image_is_recorded_before_it_fails(store: Store) -> None:
    loader = loader_of(store, [*pictures(2), data_uri(b"no picture"), data_uri(b"nor this")])

    with pytest.raises(UHerdingError, match="task 3 and of 1 more could be read before"):
        pool_images(loader, [TaskId(n) for n in (1, 2, 3, 4)], "resnet18", lambda _: None)

    assert [item.task for item in store.pool.unreadable(PROJECT, 10)] == [3, 4]
