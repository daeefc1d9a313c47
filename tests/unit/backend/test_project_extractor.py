from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from model.arrays import Features, Images
from model.errors import ModelError
from model.features.choosing import Choice
from tests.support.builders import LABEL_STUDIO_URL, LISTING, PROJECT, TOKEN, connected, pictures
from uherding_backend import project_extractor
from uherding_backend.image_loading import ImageLoader
from uherding_backend.images_source import ImageSource
from uherding_backend.labels import TaskId
from uherding_backend.labelstudio import LabelStudio
from uherding_backend.options import Options
from uherding_backend.project_extractor import ProjectExtractor
from uherding_backend.store import Store
from uherding_backend.store.project_records import ExtractorInUse


class Pretrained:
    """An extractor that needs no learning: the mean colour and a bit of the corner."""

    name = "efficientnet-lite0"
    description = "a stand-in"
    dimension = 4
    image_size = 8

    def __init__(self, version: str = "stand-in-1") -> None:
        self.version = version

    def extract(self, images: Images) -> Features:
        means = images.reshape(len(images), -1, 3).mean(axis=1)
        rows = np.hstack([means, np.ones((len(images), 1))])
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


@pytest.fixture(autouse=True)
def nothing_opened_before() -> Iterator[None]:
    project_extractor._reopened.cache_clear()
    yield
    project_extractor._reopened.cache_clear()


def wanting(store: Store, features: str) -> ProjectExtractor:
    connected(store)
    tasks = {TaskId(number): image for number, image in enumerate(pictures(6), start=1)}
    store.pool.replace_items(PROJECT, tasks, LISTING)
    loader = ImageLoader(store, PROJECT, ImageSource(LabelStudio(LABEL_STUDIO_URL, TOKEN)))
    options = Options(round_size=6, queue_size=18, prelabel=False, features=features)
    return ProjectExtractor(store, options, loader, lambda *_: None)


def choosing(monkeypatch: pytest.MonkeyPatch, name: str) -> list[tuple[str, int]]:
    """Have `choose` answer ``name``; returns what it is asked."""
    asked: list[tuple[str, int]] = []

    def choose(wanted: str, side: int) -> Choice:
        asked.append((wanted, side))
        return Choice(name, "Because the test says so.")

    monkeypatch.setattr(project_extractor, "choose", choose)
    return asked


def test_the_choice_and_its_reason_are_stored(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = choosing(monkeypatch, "efficientnet-lite0")
    monkeypatch.setattr(project_extractor, "open_pretrained", lambda _: Pretrained())
    extractor = wanting(store, "auto")

    extractor.get(store.pool.items(PROJECT))

    assert asked == [("auto", 32)]
    assert store.projects.get(PROJECT).extractor == ExtractorInUse(
        name="efficientnet-lite0",
        version="stand-in-1",
        description="a stand-in",
        reason="Because the test says so.",
        images=0,
    )


def test_auto_keeps_what_a_project_already_uses(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    extractor = wanting(store, "auto")
    used = ExtractorInUse("efficientnet-lite0", "stand-in-1")
    store.projects.use_extractor(PROJECT, used)
    monkeypatch.setattr(project_extractor, "reopen", lambda *_: Pretrained())
    asked = choosing(monkeypatch, "patches")

    found = extractor.get(store.pool.items(PROJECT))

    assert found.version == "stand-in-1"
    assert asked == []


def test_another_name_in_the_options_replaces_the_extractor(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    extractor = wanting(store, "patches")
    store.projects.use_extractor(PROJECT, ExtractorInUse("efficientnet-lite0", "stand-in-1"))

    found = extractor.get(store.pool.items(PROJECT))

    used = store.projects.get(PROJECT).extractor
    assert found.name == used.name == "patches"
    assert used.version == found.version
    assert used.images == 6


def test_weights_that_are_gone_make_auto_choose_again_and_fail_an_explicit_wish(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> Pretrained:
        raise ModelError("The weights are gone.")

    monkeypatch.setattr(project_extractor, "reopen", gone)
    monkeypatch.setattr(project_extractor, "open_pretrained", lambda _: Pretrained("stand-in-2"))
    choosing(monkeypatch, "efficientnet-lite0")
    anything, explicit = wanting(store, "auto"), wanting(store, "efficientnet-lite0")
    items = store.pool.items(PROJECT)
    store.projects.use_extractor(PROJECT, ExtractorInUse("efficientnet-lite0", "stand-in-1"))

    with pytest.raises(ModelError, match="gone"):
        explicit.get(items)

    assert anything.get(items).version == "stand-in-2"


def test_auto_falls_back_when_the_hub_answers_but_the_download_fails(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def choose(_: str, __: int, cached: object = None, answers: object = None) -> Choice:
        return Choice("patches" if answers else "timm:big", "Because the test says so.")

    def blocked(_: str) -> Pretrained:
        raise ModelError("The download is blocked.")

    monkeypatch.setattr(project_extractor, "choose", choose)
    monkeypatch.setattr(project_extractor, "open_pretrained", blocked)

    found = wanting(store, "auto").get(store.pool.items(PROJECT))

    assert found.name == "patches"
    assert "The download is blocked. Taking what needs no model hub." in caplog.text


def test_an_extractor_is_opened_once_per_process(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Path] = []

    def reopen(name: str, version: str, directory: Path) -> Pretrained:
        opened.append(directory)
        return Pretrained(version)

    monkeypatch.setattr(project_extractor, "reopen", reopen)
    extractor = wanting(store, "auto")
    store.projects.use_extractor(PROJECT, ExtractorInUse("efficientnet-lite0", "stand-in-1"))

    first, second = (extractor.get(store.pool.items(PROJECT)) for _ in range(2))

    assert first is second
    assert opened == [store.project_dir(PROJECT)]
