from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import save_file

from model.arrays import Images
from model.errors import ModelError
from model.features.opening import learn, learning_size, learns, open_pretrained, reopen
from model.features.simclr_training import Budget
from model.torchvision_import import import_timm

ONE_EPOCH = Budget(epochs=1)


def ignore(_: float, __: float | None) -> None:
    pass


def noise(count: int, size: int) -> Images:
    return np.random.default_rng(0).integers(256, size=(count, size, size, 3), dtype=np.uint8)


def random_weights(path: Path) -> Path:
    save_file(import_timm().create_model("resnet10t").state_dict(), path)
    return path


def test_two_kinds_learn_and_two_come_pretrained() -> None:
    assert learns("patches")
    assert learns("simclr")
    assert not learns("efficientnet-lite0")
    assert not learns("timm:resnet18")
    with pytest.raises(ModelError, match="choose one of"):
        learns("nonesuch")


def test_images_to_learn_from_are_as_large_as_the_pictures_deserve() -> None:
    assert learning_size("patches", 28) == learning_size("patches", 640) == 32
    assert learning_size("simclr", 28) == 32
    assert learning_size("simclr", 640) == 96


@pytest.mark.parametrize("name", ["patches", "simclr"])
def test_what_was_learned_can_be_opened_again(name: str, tmp_path: Path) -> None:
    images = noise(6, 32)

    learned = learn(name, images, tmp_path, seed=0, budget=ONE_EPOCH, on_progress=ignore)
    again = reopen(name, learned.version, tmp_path)

    assert again.version == learned.version
    assert [path.name for path in tmp_path.iterdir()] == [f"{learned.version}.npz"]
    np.testing.assert_allclose(again.extract(images), learned.extract(images), atol=1e-5)


@pytest.mark.parametrize("name", ["patches", "simclr"])
def test_a_lost_file_is_a_sentence(name: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="again"):
        reopen(name, f"{name}-0123456789ab", tmp_path)


def test_a_pretrained_extractor_is_opened_by_its_name_alone(tmp_path: Path) -> None:
    name = f"timm:resnet10t@{random_weights(tmp_path / 'weights.safetensors')}"

    opened = open_pretrained(name)

    assert opened.name == name
    assert reopen(name, opened.version, tmp_path).version == opened.version


def test_weights_that_have_changed_are_not_taken_for_the_old_ones(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    name = f"timm:resnet10t@{random_weights(path)}"
    version = open_pretrained(name).version

    random_weights(path)

    with pytest.raises(ModelError, match="the next round computes them again"):
        reopen(name, version, tmp_path)


def test_efficientnet_comes_pretrained() -> None:
    assert open_pretrained("efficientnet-lite0").dimension == 1280


def test_pretrained_and_learned_are_not_confused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="does not come pretrained"):
        open_pretrained("patches")
    with pytest.raises(ModelError, match="does not learn"):
        learn("timm:resnet18", noise(2, 32), tmp_path, seed=0, budget=ONE_EPOCH, on_progress=ignore)
