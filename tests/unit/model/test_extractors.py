"""What every extractor promises, whatever it is made of."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from model.arrays import Features, Images
from model.errors import ModelError
from model.features import Extractor
from model.features.efficientnet import EfficientNetLite0Extractor
from model.features.patches import PatchExtractor
from model.features.simclr import SimClrExtractor
from model.features.simclr_training import Budget
from model.features.timm_backbone import TimmExtractor
from model.torchvision_import import import_timm


def noise(count: int, size: int, seed: int = 0) -> Images:
    """Random squares of colour."""
    small = np.random.default_rng(seed).integers(256, size=(count, 8, 8, 3), dtype=np.uint8)
    return small.repeat(size // 8, axis=1).repeat(size // 8, axis=2)


def patches(_: Path) -> Extractor:
    return PatchExtractor.fit(noise(20, 32), seed=0, on_progress=lambda _: None)


def simclr(_: Path) -> Extractor:
    return SimClrExtractor.fit(
        noise(8, 16), seed=0, budget=Budget(epochs=1), on_progress=lambda *_: None
    )


def efficientnet(_: Path) -> Extractor:
    return EfficientNetLite0Extractor.open()


def convolutions(directory: Path) -> Extractor:
    return timm_with_random_weights("resnet10t", directory / "model.safetensors")


def transformer(directory: Path) -> Extractor:
    return timm_with_random_weights("vit_tiny_patch16_224", directory / "model.pth")


def timm_with_random_weights(model: str, path: Path) -> Extractor:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        weights = import_timm().create_model(model).state_dict()
    if path.suffix == ".pth":
        torch.save(weights, path)
    else:
        save_file(weights, path)
    return TimmExtractor.open(model, path, image_size=64)


@pytest.fixture(scope="module", params=[patches, simclr, efficientnet, convolutions, transformer])
def extractor(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Extractor:
    make: Callable[[Path], Extractor] = request.param
    return make(tmp_path_factory.mktemp("weights"))


@pytest.fixture(scope="module")
def images(extractor: Extractor) -> Images:
    """Five pictures, of which the first and the last are the same."""
    pictures = noise(5, extractor.image_size, seed=1)
    pictures[4] = pictures[0]
    return pictures


@pytest.fixture(scope="module")
def features(extractor: Extractor, images: Images) -> Features:
    return extractor.extract(images)


def test_rows_have_length_1_and_the_promised_dimension(
    extractor: Extractor, features: Features
) -> None:
    assert features.shape == (5, extractor.dimension)
    assert features.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), 1.0, atol=1e-6)


def test_the_same_image_gives_the_same_row_and_another_another(features: Features) -> None:
    np.testing.assert_allclose(features[0], features[4], atol=1e-5)
    assert np.abs(features[0] - features[1]).max() > 1e-3


def test_batches_do_not_matter_and_order_is_kept(
    extractor: Extractor, images: Images, features: Features
) -> None:
    one_by_one = [extractor.extract(images[::-1][row : row + 1]) for row in range(5)]

    np.testing.assert_allclose(np.concatenate(one_by_one)[::-1], features, atol=1e-5)


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_do_not_matter(
    threads: int, extractor: Extractor, images: Images, features: Features
) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        again = extractor.extract(images)
    finally:
        torch.set_num_threads(before)

    np.testing.assert_allclose(again, features, atol=1e-5)


def test_images_that_cannot_be_written_to_are_taken(
    extractor: Extractor, images: Images, features: Features
) -> None:
    frozen = images[:1].copy()
    frozen.flags.writeable = False

    np.testing.assert_allclose(extractor.extract(frozen), features[:1], atol=1e-5)


def test_no_images_give_no_rows(extractor: Extractor) -> None:
    assert extractor.extract(noise(0, extractor.image_size)).shape == (0, extractor.dimension)


def test_images_of_another_size_are_refused(extractor: Extractor) -> None:
    size = extractor.image_size

    with pytest.raises(ModelError, match=rf"\(n, {size}, {size}, 3\)"):
        extractor.extract(noise(1, 40))


def test_the_version_is_a_file_name_that_begins_with_the_kind(extractor: Extractor) -> None:
    kind = extractor.name.split(":")[0]

    assert extractor.version.startswith(f"{kind}-")
    assert Path(extractor.version).name == extractor.version
    assert extractor.description
