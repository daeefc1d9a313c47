from pathlib import Path

import pytest

from model.errors import ModelError
from model.features.choosing import Choice, choose
from model.features.names import timm_parts

DINOV2 = "timm:vit_small_patch14_reg4_dinov2.lvd142m"


def never(*_: object) -> bool:
    return False


def always(*_: object) -> bool:
    return True


def must_not_be_asked(*_: object) -> bool:
    pytest.fail("this question costs time and its answer is not needed")


def test_auto_takes_dinov2_from_the_cache_without_asking_the_hub() -> None:
    chosen = choose("auto", 640, cached=always, answers=must_not_be_asked)

    assert chosen == Choice(DINOV2, "The weights of DINOv2 are on this machine.")


def test_auto_takes_dinov2_from_a_hub_that_answers() -> None:
    chosen = choose("auto", 28, cached=never, answers=always)

    assert chosen.name == DINOV2
    assert "hub answers" in chosen.reason


@pytest.mark.parametrize(
    ("side", "name"),
    [(8, "patches"), (48, "patches"), (49, "efficientnet-lite0"), (4000, "efficientnet-lite0")],
)
def test_auto_without_a_hub_goes_by_the_size_of_the_images(side: int, name: str) -> None:
    chosen = choose("auto", side, cached=never, answers=never)

    assert chosen.name == name
    assert "the model hub does not answer" in chosen.reason
    assert str(side) in chosen.reason


@pytest.mark.parametrize(
    "wanted",
    ["patches", "simclr", "efficientnet-lite0", "timm:resnet18", "timm:resnet18@/models/a@b.pth"],
)
def test_any_other_name_means_itself(wanted: str) -> None:
    chosen = choose(wanted, 640, cached=must_not_be_asked, answers=must_not_be_asked)

    assert chosen == Choice(wanted, f"The setting asks for {wanted}.")


@pytest.mark.parametrize("wanted", ["", "dinov2", "timm", "timm:", "timm:@/a.pth", "Patches"])
def test_an_unknown_name_is_answered_with_the_known_ones(wanted: str) -> None:
    with pytest.raises(ModelError, match="choose one of auto, patches, simclr, efficientnet-lite0"):
        choose(wanted, 640, cached=never, answers=never)


def test_a_checkpoint_comes_after_the_first_at_sign() -> None:
    assert timm_parts("timm:resnet18") == ("resnet18", None)
    assert timm_parts("timm:resnet18@/models/a@b.pth") == ("resnet18", Path("/models/a@b.pth"))
