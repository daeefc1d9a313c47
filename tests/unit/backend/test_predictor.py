from __future__ import annotations

import numpy as np
import pytest

from tests.support.builders import PROJECT, connected, data_uri, kind_of, make_task
from tests.support.fake_label_studio import FakeLabelStudio
from uherding_backend import pool_images
from uherding_backend.images_source import ImageSource
from uherding_backend.predictions import LAST
from uherding_backend.predictor import Predictor
from uherding_backend.store import Round
from uherding_backend.worker import Worker


def load(worker: Worker) -> Predictor:
    worker.step()
    published = worker.store.rounds.last_published(PROJECT)
    assert isinstance(published, Round)
    return Predictor.load(worker.store, worker.store.projects.get(PROJECT), published)


@pytest.fixture
def source(studio: FakeLabelStudio) -> ImageSource:
    return ImageSource(studio)


def test_before_the_first_label_only_the_rank_is_known(worker: Worker, source: ImageSource) -> None:
    connected(worker.store)
    predictor = load(worker)
    first = worker.store.rounds.queue(predictor.round.id)[0].task

    queued, unseen = predictor.predict([make_task(first), make_task(4000)], source)

    assert (queued["result"], queued["score"]) == ([], 1 / 19)
    assert (unseen["result"], unseen["score"]) == ([], LAST)


def test_pictures_of_the_pool_and_new_ones_get_their_kind(
    worker: Worker, studio: FakeLabelStudio, source: ImageSource
) -> None:
    connected(worker.store)
    for task in range(1, 25):
        studio.submit(task, kind_of(task))
    predictor = load(worker)
    known, new = range(25, 31), range(300, 312)

    found = predictor.predict([make_task(number) for number in (*known, *new)], source)

    predicted = [prediction["result"][0]["value"]["choices"][0] for prediction in found]
    right = [a == kind_of(n) for a, n in zip(predicted, (*known, *new), strict=True)]
    assert np.mean(right) > 0.8  # chance is a third


def test_a_fine_tuned_network_sees_the_pixels_of_new_pictures(
    worker: Worker,
    studio: FakeLabelStudio,
    source: ImageSource,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pool_images, "SMALL", 16)  # another size than that of the features
    chosen = {"classifier": "finetune", "finetune_from": "resnet18:16", "finetune_epochs": 1}
    connected(worker.store, options=chosen)
    for task in range(1, 7):
        studio.submit(task, kind_of(task))
    predictor = load(worker)
    pool = [make_task(number) for number in (25, 26)]
    copies = [{**task, "id": 4000 + task["id"]} for task in pool]

    stored, computed = predictor.predict(pool, source), predictor.predict(copies, source)

    for known, new in zip(stored, computed, strict=True):
        assert new["result"][0]["value"] == known["result"][0]["value"]
        assert new["result"][0]["score"] == pytest.approx(known["result"][0]["score"], abs=1e-5)
    assert 1 / 3 < stored[0]["result"][0]["score"] < 1


def test_one_unreadable_image_does_not_shift_the_others(
    worker: Worker, studio: FakeLabelStudio, source: ImageSource
) -> None:
    connected(worker.store)
    for task in range(1, 25):
        studio.submit(task, kind_of(task))
    predictor = load(worker)
    new = [make_task(number) for number in (301, 302)]
    alone = predictor.predict(new, source)

    broken = make_task(5000, data_uri(b"no picture"))
    mixed = predictor.predict([new[0], broken, new[1]], source)

    assert [mixed[0], mixed[2]] == alone
    assert mixed[1]["result"] == []
