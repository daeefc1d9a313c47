from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from model.names import CLASSIFIERS, STRATEGY_NAMES
from uherding_backend.errors import SettingsError
from uherding_backend.options import MAX_QUEUE, Options
from uherding_backend.settings import Settings


def test_the_settings_hold_where_the_project_chooses_nothing() -> None:
    options = Options.of(Settings(round_size=7, queue_size=40, prelabel=True), {})

    assert options == Options(round_size=7, queue_size=40, prelabel=True)


def test_the_project_overrules_the_settings() -> None:
    chosen = {"round_size": 5, "queue_size": 9, "prelabel": True}

    assert Options.of(Settings(), chosen) == Options(5, 9, prelabel=True)


@pytest.mark.parametrize("name", STRATEGY_NAMES)
def test_every_strategy_can_be_chosen(name: str) -> None:
    assert Options.of(Settings(), {"strategy": name}).strategy == name
    assert Options.of(Settings(strategy=name), {}).strategy == name


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_can_be_chosen(name: str) -> None:
    assert Options.of(Settings(), {"classifier": name}).classifier == name
    assert Options.of(Settings(classifier=name), {}).classifier == name


def test_the_project_overrules_how_fine_tuning_is_done() -> None:
    settings = Settings(finetune_from="resnet18:32", finetune_epochs=7)

    usual = Options.of(settings, {})
    chosen = Options.of(settings, {"finetune_from": "timm:resnet10t", "finetune_epochs": 9})

    assert (usual.finetune_from, usual.finetune_epochs) == ("resnet18:32", 7)
    assert (chosen.finetune_from, chosen.finetune_epochs) == ("timm:resnet10t", 9)


def test_reading_options_loads_no_torch() -> None:
    question = "import sys, uherding_backend.options; sys.exit('torch' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", question], check=False).returncode == 0  # noqa: S603


def test_a_queue_lasts_three_rounds_unless_chosen() -> None:
    assert Options.of(Settings(), {"round_size": 10}).queue_size == 30


def test_a_queue_is_never_shorter_than_a_round_nor_longer_than_label_studio_bears() -> None:
    short = Options.of(Settings(), {"round_size": 10, "queue_size": 3})
    long = Options.of(Settings(), {"round_size": 10, "queue_size": 10**6})

    assert short.queue_size == 10
    assert long.queue_size == MAX_QUEUE


def test_the_queue_counts_as_low_at_a_fifth_and_never_below_two() -> None:
    assert Options(10, 100, prelabel=False).low_water == 20
    assert Options(1, 3, prelabel=False).low_water == 2


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"round_siez": 5}, "'round_siez'"),
        ({"round_size": 0}, "1 or more, got 0"),
        ({"round_size": "5"}, "got '5'"),
        ({"round_size": True}, "got True"),
        ({"round_size": 2.5}, "got 2.5"),
        ({"queue_size": -1}, "0 or more, got -1"),
        ({"prelabel": "yes"}, "true or false, got 'yes'"),
        ({"strategy": "herding"}, f"one of {', '.join(STRATEGY_NAMES)}, got 'herding'"),
        ({"strategy": 3}, "strategy must be a text, got 3"),
        ({"classifier": "forest"}, "one of linear, mlp, finetune, got 'forest'"),
        ({"finetune_from": None}, "finetune_from must be a text, got None"),
        ({"finetune_epochs": 0}, "1 or more, got 0"),
        ({"strategy": "alfa-mix", "classifier": "mlp"}, "alfa-mix needs the classifier linear"),
    ],
)
def test_a_wrong_choice_is_refused_with_its_value(chosen: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        Options.of(Settings(), chosen)
