"""Real Label Studio: each extractor through a whole round."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors.torch import save_file

from model.torchvision_import import import_timm
from tests.support.live import LiveBackend, LiveLabelStudio, make_project

SMALL_NETWORK = "resnet10t"


def checkpoint_of_a_real_network(directory: Path) -> str:
    """Random weights, but saved, named and loaded as anybody's own weights are."""
    network = import_timm().create_model(SMALL_NETWORK, num_classes=0)
    path = directory / "weights.safetensors"
    save_file({name: value.contiguous() for name, value in network.state_dict().items()}, path)
    return f"timm:{SMALL_NETWORK}@{path}"


@pytest.mark.parametrize("kind", ["efficientnet-lite0", "simclr", "timm"])
def test_a_project_is_ranked_with_the_features_it_asks_for(
    kind: str,
    real_label_studio: LiveLabelStudio,
    own_backend: Callable[..., LiveBackend],
    tmp_path: Path,
) -> None:
    features = checkpoint_of_a_real_network(tmp_path) if kind == "timm" else kind
    backend = own_backend(UHERDING_FEATURES=features, UHERDING_SIMCLR_EPOCHS="1")
    backend.start()
    project = make_project(real_label_studio, backend, images=24)
    project.connect(round_size=6, queue_size=18)
    cold = project.published(pool=24)

    project.label(6)

    round_ = project.published(after=cold["id"], labels=6)
    assert round_["report"]["features"] == features
    assert round_["report"]["extractor"] == cold["report"]["extractor"]
    used = project.status()["features"]
    assert used["reason"] == f"The setting asks for {features}."
    assert ("supervised" in used["description"]) == (kind == "efficientnet-lite0")


def test_asking_for_other_features_computes_them_all_anew(
    real_label_studio: LiveLabelStudio, own_backend: Callable[..., LiveBackend]
) -> None:
    backend = own_backend()
    backend.start()
    project = make_project(real_label_studio, backend, images=12)
    project.connect(features="patches")
    before = project.published()

    project.connect(features="efficientnet-lite0")
    project.ask_for_round()

    after = project.published(after=before["id"], features="efficientnet-lite0")
    assert after["report"]["extractor"] != before["report"]["extractor"]
    assert after["report"]["pool"] == 12
