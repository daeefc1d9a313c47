from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from huggingface_hub import constants
from safetensors.torch import save_file

from model.arrays import Images
from model.errors import ModelError
from model.features import timm_backbone
from model.features.timm_backbone import TimmExtractor
from model.torchvision_import import import_timm

CONVOLUTIONS = "resnet10t"
TRANSFORMER = "vit_tiny_patch16_224"


def noise(count: int, size: int, seed: int = 0) -> Images:
    return np.random.default_rng(seed).integers(256, size=(count, size, size, 3), dtype=np.uint8)


def trained(model: str) -> dict[str, torch.Tensor]:
    """A stand-in for trained weights: a whole network, classifier included, of one seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        weights: dict[str, torch.Tensor] = import_timm().create_model(model).state_dict()
    return weights


@pytest.fixture(scope="module")
def convolution_weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weights") / "model.safetensors"
    save_file(trained(CONVOLUTIONS), path)
    return path


@pytest.fixture(scope="module")
def convolutions(convolution_weights: Path) -> TimmExtractor:
    return TimmExtractor.open(CONVOLUTIONS, convolution_weights, image_size=64)


@pytest.fixture(scope="module")
def transformer_weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weights") / "model.pth"
    torch.save(trained(TRANSFORMER), path)
    return path


def test_pixels_are_prepared_as_the_model_wants(convolutions: TimmExtractor) -> None:
    images = noise(2, 64)
    timm = import_timm()
    network = timm.create_model(CONVOLUTIONS, num_classes=0).eval()
    network.load_state_dict(trained(CONVOLUTIONS), strict=False)
    data = timm.data.resolve_model_data_config(network)
    mean, std = (np.array(data[key], dtype=np.float32) for key in ("mean", "std"))
    pixels = torch.from_numpy((images.astype(np.float32) / 255 - mean) / std).permute(0, 3, 1, 2)

    with torch.inference_mode():
        expected = torch.nn.functional.normalize(network(pixels)).numpy()

    np.testing.assert_allclose(convolutions.extract(images), expected, atol=1e-5)


def test_a_model_keeps_its_own_size_but_dinov2_is_run_at_224_pixels() -> None:
    timm = import_timm()

    def side(model: str) -> int:
        return timm_backbone._side(timm.get_pretrained_cfg(model))

    assert side("vit_small_patch14_reg4_dinov2.lvd142m") == 224
    assert side("vit_large_patch14_clip_336.openai") == 336
    assert side("convnext_tiny.fb_in1k") == 224


def test_the_name_is_what_the_settings_say(
    convolutions: TimmExtractor, convolution_weights: Path
) -> None:
    assert convolutions.name == f"timm:{CONVOLUTIONS}@{convolution_weights}"
    assert convolutions.image_size == 64
    assert CONVOLUTIONS in convolutions.description


def test_the_version_follows_weights_and_preprocessing_not_the_file(
    convolutions: TimmExtractor, tmp_path: Path
) -> None:
    weights = trained(CONVOLUTIONS)
    moved = tmp_path / "elsewhere.pt"
    torch.save({"state_dict": weights}, moved)
    changed = tmp_path / "changed.safetensors"
    first = next(key for key, value in weights.items() if value.ndim == 4)
    save_file(weights | {first: weights[first] * 1.01}, changed)

    assert convolutions.version.startswith(f"timm-{CONVOLUTIONS}-")
    assert TimmExtractor.open(CONVOLUTIONS, moved, image_size=64).version == convolutions.version
    assert TimmExtractor.open(CONVOLUTIONS, changed, image_size=64).version != convolutions.version
    assert TimmExtractor.open(CONVOLUTIONS, moved, image_size=96).version != convolutions.version


def test_weights_come_from_the_cache_of_the_hub(
    convolutions: TimmExtractor,
    convolution_weights: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    repository = tmp_path / "models--timm--resnet10t.c3_in1k"
    snapshot = repository / "snapshots" / "0123abcd"
    snapshot.mkdir(parents=True)
    (snapshot / "model.safetensors").symlink_to(convolution_weights)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("0123abcd")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))

    extractor = TimmExtractor.open(CONVOLUTIONS, image_size=64)

    assert extractor.name == f"timm:{CONVOLUTIONS}"
    assert extractor.version == convolutions.version


def test_no_weights_are_an_error_and_never_random_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:1")

    with pytest.raises(ModelError, match=r"hf download timm/resnet10t\.c3_in1k"):
        TimmExtractor.open(CONVOLUTIONS)


def test_weights_that_lack_a_layer_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "half.safetensors"
    weights = trained(CONVOLUTIONS)
    save_file({key: value for key, value in weights.items() if "layer4" not in key}, path)

    with pytest.raises(ModelError, match=r"lacks weights of resnet10t.*layer4"):
        TimmExtractor.open(CONVOLUTIONS, path)


def test_weights_of_another_model_are_refused(transformer_weights: Path) -> None:
    with pytest.raises(ModelError, match="weights of resnet10t"):
        TimmExtractor.open(CONVOLUTIONS, transformer_weights)


class Trap:
    """Unpickled, it would write a file."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, tuple[str, bytes]]:
        return _write, (str(self.target), b"code ran")


def _write(path: str, content: bytes) -> None:
    Path(path).write_bytes(content)


@pytest.mark.parametrize("suffix", ["pth", "pt"])
def test_a_checkpoint_with_code_in_it_is_refused_and_does_not_run(
    suffix: str, tmp_path: Path
) -> None:
    path, target = tmp_path / f"model.{suffix}", tmp_path / "ran"
    torch.save({"state_dict": trained(CONVOLUTIONS), "args": Trap(target)}, path)

    with pytest.raises(ModelError, match="cannot be loaded as weights of resnet10t"):
        TimmExtractor.open(CONVOLUTIONS, path)

    assert not target.exists()


def test_a_broken_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"not weights")

    with pytest.raises(ModelError, match="cannot be loaded as weights"):
        TimmExtractor.open(CONVOLUTIONS, path)


def test_a_missing_file_and_an_unknown_kind_of_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="There is no checkpoint file"):
        TimmExtractor.open(CONVOLUTIONS, tmp_path / "model.pth")
    with pytest.raises(ModelError, match=r"ends in \.safetensors, \.pth, \.pt"):
        TimmExtractor.open(CONVOLUTIONS, tmp_path / "model.pkl")


@pytest.mark.parametrize("model", ["nonesuch", "resnet18.nosuchtag"])
def test_an_unknown_model_is_refused(model: str) -> None:
    with pytest.raises(ModelError, match="timm has no"):
        TimmExtractor.open(model)


def test_other_peoples_chance_is_left_alone(convolution_weights: Path) -> None:
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)

    TimmExtractor.open(CONVOLUTIONS, convolution_weights, image_size=64)

    assert torch.rand(1) == expected


def test_a_model_without_pooled_features_is_refused() -> None:
    with pytest.raises(ModelError, match="gives no pooled features"):
        timm_backbone._dimension("fields", torch.nn.Conv2d(3, 4, 1), 8)
