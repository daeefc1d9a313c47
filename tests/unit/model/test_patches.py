from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from model.arrays import Images, Labels
from model.errors import ModelError
from model.features import Extractor
from model.features.patches import PatchExtractor


def ignore(_: float) -> None:
    pass


def coloured_noise(count: int, seed: int = 0) -> Images:
    """Smooth random blobs of colour, 32 x 32."""
    blobs = np.random.default_rng(seed).integers(256, size=(count, 8, 8, 3), dtype=np.uint8)
    return blobs.repeat(4, axis=1).repeat(4, axis=2)


def digits() -> tuple[Images, list[int]]:
    data = load_digits()
    grey = np.clip(data.images * 16, 0, 255).astype(np.uint8)[..., None]
    return np.broadcast_to(grey, (*grey.shape[:3], 3)).repeat(4, 1).repeat(4, 2), list(data.target)


@pytest.fixture(scope="module")
def fitted() -> PatchExtractor:
    return PatchExtractor.fit(coloured_noise(40), seed=0, on_progress=ignore)


def test_keeps_the_extractor_protocol(fitted: PatchExtractor) -> None:
    extractor: Extractor = fitted

    assert extractor.name == "patches"
    assert extractor.image_size == 32
    assert extractor.version.startswith("patches-")


def test_rows_have_length_1_and_the_promised_dimension(fitted: PatchExtractor) -> None:
    features = fitted.extract(coloured_noise(10, seed=1))

    assert features.shape == (10, fitted.dimension)
    assert features.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), 1.0, atol=1e-6)


def test_batches_do_not_matter_and_order_is_kept(fitted: PatchExtractor) -> None:
    images = coloured_noise(21, seed=2)

    together = fitted.extract(images)
    alone = np.concatenate([fitted.extract(images[row : row + 1]) for row in range(21)])

    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_the_same_image_gives_the_same_row(fitted: PatchExtractor) -> None:
    image = coloured_noise(1, seed=3)

    features = fitted.extract(np.concatenate([image, coloured_noise(9, seed=4), image]))

    np.testing.assert_allclose(features[0], features[10], atol=1e-6)


def test_no_images_give_no_rows(fitted: PatchExtractor) -> None:
    assert fitted.extract(coloured_noise(0)).shape == (0, fitted.dimension)


def test_a_moved_image_stays_nearer_to_itself_than_to_any_other() -> None:
    images, _ = digits()
    pool = images[:120]
    extractor = PatchExtractor.fit(pool, seed=0, on_progress=ignore)
    moved = np.roll(pool, shift=(1, -1), axis=(1, 2))

    similarity = extractor.extract(moved) @ extractor.extract(pool).T

    assert np.mean(similarity.argmax(axis=1) == np.arange(120)) > 0.9


def test_neighbours_share_their_class_more_often_than_in_pixels() -> None:
    images, classes = digits()
    shifts = np.random.default_rng(0).integers(-4, 5, size=(len(images), 2))
    moved = zip(images, shifts.tolist(), strict=True)
    images = np.stack([np.roll(image, shift, (0, 1)) for image, shift in moved])
    extractor = PatchExtractor.fit(images[:300], seed=0, on_progress=ignore)
    pixels = images[..., 0].reshape(len(images), -1).astype(np.float64)

    learned = nearest_class_rate(extractor.extract(images[:500]), np.array(classes[:500]))
    raw = nearest_class_rate(
        pixels[:500] / np.linalg.norm(pixels[:500], axis=1, keepdims=True),
        np.array(classes[:500]),
    )

    assert learned > raw


def test_saving_and_loading_changes_nothing(fitted: PatchExtractor, tmp_path: Path) -> None:
    path = tmp_path / "features.npz"
    images = coloured_noise(5, seed=5)

    fitted.save(path)
    loaded = PatchExtractor.load(path)

    assert loaded.version == fitted.version
    assert list(tmp_path.iterdir()) == [path]
    np.testing.assert_array_equal(loaded.extract(images), fitted.extract(images))


def test_a_failed_save_leaves_the_old_file(
    fitted: PatchExtractor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "features.npz"
    path.write_bytes(b"old")

    def full_disk(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez", full_disk)
    with pytest.raises(OSError, match="no space"):
        fitted.save(path)

    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("content", [b"", b"not an npz file"])
def test_a_file_that_is_something_else_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "features.npz"
    path.write_bytes(content)

    with pytest.raises(ModelError, match="not a file of fitted patch features"):
        PatchExtractor.load(path)


def test_a_file_with_code_in_it_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "features.npz"
    np.savez(path, grey=np.array([object()]))

    with pytest.raises(ModelError, match="not a file of fitted patch features"):
        PatchExtractor.load(path)


def test_the_seed_repeats_and_another_seed_is_another_version() -> None:
    images = coloured_noise(12)

    first = PatchExtractor.fit(images, seed=1, on_progress=ignore)
    again = PatchExtractor.fit(images, seed=1, on_progress=ignore)
    other = PatchExtractor.fit(images, seed=2, on_progress=ignore)

    assert first.version == again.version != other.version


@pytest.mark.parametrize("count", [2, 3, 7])
def test_small_pools_give_small_features(count: int) -> None:
    images = coloured_noise(count)

    extractor = PatchExtractor.fit(images, seed=0, on_progress=ignore)

    features = extractor.extract(images)
    assert extractor.dimension == count - 1
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), 1.0, atol=1e-6)


def test_a_pool_of_one_picture_repeated_gives_one_row_repeated() -> None:
    images = np.full((5, 32, 32, 3), 90, dtype=np.uint8)

    features = PatchExtractor.fit(images, seed=0, on_progress=ignore).extract(images)

    np.testing.assert_allclose(np.linalg.norm(features, axis=1), 1.0, atol=1e-6)
    assert np.ptp(features, axis=0).max() == 0.0


def test_grey_pools_ignore_colour_and_colour_pools_see_it(fitted: PatchExtractor) -> None:
    images = coloured_noise(20, seed=6)
    grey = images.copy()
    grey[:] = images[..., :1]

    assert PatchExtractor.fit(grey, seed=0, on_progress=ignore).grey
    assert not fitted.grey
    assert not np.allclose(fitted.extract(images), fitted.extract(images[..., ::-1]), atol=1e-2)


def test_progress_goes_from_0_to_1_and_never_back() -> None:
    seen: list[float] = []

    PatchExtractor.fit(coloured_noise(5), seed=0, on_progress=seen.append)

    assert seen[0] == 0.0
    assert seen[-1] == 1.0
    assert seen == sorted(seen)


def test_a_single_image_is_not_enough_to_learn_from() -> None:
    with pytest.raises(ModelError, match="at least 2 images, got 1"):
        PatchExtractor.fit(coloured_noise(1), seed=0, on_progress=ignore)


def test_images_of_another_size_are_refused(fitted: PatchExtractor) -> None:
    with pytest.raises(ModelError, match=r"\(n, 32, 32, 3\)"):
        fitted.extract(np.zeros((2, 28, 28, 3), dtype=np.uint8))


def nearest_class_rate(features: NDArray[np.floating], classes: Labels) -> float:
    similarity = features @ features.T
    np.fill_diagonal(similarity, -np.inf)
    return float(np.mean(classes[similarity.argmax(axis=1)] == classes))
