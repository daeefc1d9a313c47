from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from model.arrays import Images
from model.errors import ModelError
from model.features.augmentation import strong_view
from model.features.rows import channels_first
from model.features.simclr import SimClrExtractor
from model.features.simclr_training import (
    Budget,
    Network,
    contrastive_loss,
    learning_rate,
    train,
)

SIZE = 8  # pixels: fast steps


def ignore(_: float, __: float | None) -> None:
    pass


def blobs(count: int, seed: int = 0) -> Images:
    """Smooth random blobs of colour."""
    small = np.random.default_rng(seed).integers(256, size=(count, 4, 4, 3), dtype=np.uint8)
    return small.repeat(SIZE // 4, axis=1).repeat(SIZE // 4, axis=2)


def ticking(seconds: float) -> Callable[[], float]:
    """A clock that goes on by so many seconds whenever it is read."""
    now = 0.0

    def clock() -> float:
        nonlocal now
        now += seconds
        return now

    return clock


@pytest.fixture(scope="module")
def fitted() -> SimClrExtractor:
    return SimClrExtractor.fit(blobs(8), seed=0, budget=Budget(epochs=1), on_progress=ignore)


def test_saving_and_loading_changes_nothing(fitted: SimClrExtractor, tmp_path: Path) -> None:
    path = tmp_path / "features.npz"
    images = blobs(5, seed=3)

    fitted.save(path)
    loaded = SimClrExtractor.load(path)

    assert loaded.version == fitted.version
    assert loaded.image_size == SIZE
    assert list(tmp_path.iterdir()) == [path]
    np.testing.assert_allclose(loaded.extract(images), fitted.extract(images), atol=1e-6)


@pytest.mark.parametrize("content", [b"", b"not an npz file"])
def test_a_file_that_is_something_else_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "features.npz"
    path.write_bytes(content)

    with pytest.raises(ModelError, match="not a file of SimCLR features"):
        SimClrExtractor.load(path)


def test_the_loss_falls() -> None:
    colours = np.random.default_rng(0).integers(256, size=(16, 1, 1, 3), dtype=np.uint8)

    run = train(
        channels_first(colours.repeat(SIZE, axis=1).repeat(SIZE, axis=2)),
        seed=0,
        budget=Budget(epochs=16),
        checkpoint=None,
        on_progress=ignore,
        clock=ticking(1),
    )

    assert len(run.losses) == 16
    assert np.mean(run.losses[-4:]) < np.mean(run.losses[:4]) - 0.1


def test_interrupted_and_resumed_gives_what_uninterrupted_gives(tmp_path: Path) -> None:
    images, budget = blobs(34), Budget(epochs=2)
    checkpoint = tmp_path / "training.npz"
    straight = SimClrExtractor.fit(images, seed=1, budget=budget, on_progress=ignore)

    def pull_the_plug(share: float, _: float | None) -> None:
        if share > 0.7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        SimClrExtractor.fit(
            images, seed=1, budget=budget, on_progress=pull_the_plug, checkpoint=checkpoint
        )
    seen: list[float] = []
    resumed = SimClrExtractor.fit(
        images,
        seed=1,
        budget=budget,
        on_progress=lambda share, _: seen.append(share),
        checkpoint=checkpoint,
    )

    assert seen[0] == pytest.approx(1 / 2)
    assert list(tmp_path.iterdir()) == [checkpoint]
    np.testing.assert_allclose(resumed.extract(images), straight.extract(images), atol=1e-5)
    assert resumed.version == straight.version


def test_a_finished_run_is_not_trained_again(tmp_path: Path) -> None:
    images, budget = blobs(8), Budget(epochs=1)
    checkpoint = tmp_path / "training.npz"
    seen: list[float] = []

    first = SimClrExtractor.fit(
        images, seed=0, budget=budget, on_progress=ignore, checkpoint=checkpoint
    )
    again = SimClrExtractor.fit(
        images,
        seed=0,
        budget=budget,
        on_progress=lambda share, _: seen.append(share),
        checkpoint=checkpoint,
    )

    assert again.version == first.version
    assert seen == [1.0]


def test_a_broken_checkpoint_starts_from_the_beginning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    checkpoint = tmp_path / "training.npz"
    checkpoint.write_bytes(b"half a file")
    images, budget = blobs(8), Budget(epochs=1)

    fitted = SimClrExtractor.fit(
        images, seed=0, budget=budget, on_progress=ignore, checkpoint=checkpoint
    )

    fresh = SimClrExtractor.fit(images, seed=0, budget=budget, on_progress=ignore)
    assert fitted.version == fresh.version
    assert "starts from the beginning" in caplog.text


def test_minutes_end_the_run_and_the_rest_is_foretold() -> None:
    seen: list[tuple[float, float | None]] = []

    run = train(
        channels_first(blobs(32)),
        seed=0,
        budget=Budget(epochs=1000, minutes=1),
        checkpoint=None,
        on_progress=lambda share, left: seen.append((share, left)),
        clock=ticking(4),
    )

    shares = [share for share, _ in seen]
    assert run.seconds <= 60 + 4 * 4
    assert shares == sorted(shares)
    assert seen[-1] == (1.0, 0.0)
    assert all(left is not None and 0 <= left <= 60 for _, left in seen)


def test_time_spent_before_an_interruption_counts(tmp_path: Path) -> None:
    checkpoint = tmp_path / "training.npz"

    def sitting(minutes: float) -> float:
        return train(
            channels_first(blobs(8)),
            seed=0,
            budget=Budget(epochs=1000, minutes=minutes),
            checkpoint=checkpoint,
            on_progress=ignore,
            clock=ticking(10),
        ).seconds

    first = sitting(1)
    second = sitting(2)

    assert 60 <= first < 120
    assert 120 <= second < 180


def test_the_learning_rate_rises_then_falls_to_nothing() -> None:
    rates = [learning_rate(share) for share in np.linspace(0, 1, 101)]

    assert 0 < rates[0] < rates[3] < rates[5] == max(rates)
    assert rates[5:] == sorted(rates[5:], reverse=True)
    assert rates[-1] == pytest.approx(0.0)


def test_the_loss_is_the_papers() -> None:
    generator = torch.Generator().manual_seed(0)
    one, other = torch.randn(2, 5, 8, generator=generator)
    views = torch.nn.functional.normalize(torch.cat([one, other])).double()

    terms = []
    for row in range(10):
        near = torch.exp(views @ views[row] / 0.5)
        terms.append(-torch.log(near[(row + 5) % 10] / (near.sum() - near[row])))

    torch.testing.assert_close(
        contrastive_loss(one, other).double(), torch.stack(terms).mean(), atol=1e-5, rtol=0
    )


def test_views_stay_pictures_and_come_from_the_generator() -> None:
    images = torch.rand(64, 3, 12, 12, generator=torch.Generator().manual_seed(0))

    first = strong_view(images, torch.Generator().manual_seed(1))
    again = strong_view(images, torch.Generator().manual_seed(1))
    other = strong_view(images, torch.Generator().manual_seed(2))

    assert first.shape == images.shape
    assert 0 <= first.min() <= first.max() <= 1
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_views_of_grey_pictures_are_grey_and_some_of_coloured_ones() -> None:
    generator = torch.Generator().manual_seed(0)
    coloured = torch.rand(200, 3, 1, 1, generator=generator).expand(200, 3, 4, 4)
    grey = coloured.mean(1, keepdim=True).expand(200, 3, 4, 4)

    def share_of_grey(views: torch.Tensor) -> float:
        return float((views.amax(1) - views.amin(1) < 1e-2).all(-1).all(-1).float().mean())

    assert share_of_grey(strong_view(grey, generator)) == 1.0
    assert 0.1 < share_of_grey(strong_view(coloured, generator)) < 0.35


def test_small_images_keep_their_resolution_through_the_stem() -> None:
    small, photo = Network(63), Network(64)

    assert small.backbone.conv1.stride == (1, 1)
    assert photo.backbone.conv1.stride == (2, 2)


@pytest.mark.parametrize(("epochs", "minutes"), [(0, None), (1, 0), (5, -1)])
def test_a_budget_of_nothing_is_refused(epochs: int, minutes: float | None) -> None:
    with pytest.raises(ModelError, match="1 epoch or more"):
        Budget(epochs, minutes)


def test_a_single_image_is_not_enough_to_learn_from() -> None:
    with pytest.raises(ModelError, match="at least 2 images, got 1"):
        SimClrExtractor.fit(blobs(1), seed=0, budget=Budget(), on_progress=ignore)
