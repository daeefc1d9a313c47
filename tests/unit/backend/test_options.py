from __future__ import annotations

from typing import Any

import pytest

from uherding_backend.errors import SettingsError
from uherding_backend.options import MAX_QUEUE, Options
from uherding_backend.settings import Settings


def test_the_settings_hold_where_the_project_chooses_nothing() -> None:
    options = Options.of(Settings(round_size=7, queue_size=40, prelabel=True), {})

    assert options == Options(round_size=7, queue_size=40, prelabel=True)


def test_the_project_overrules_the_settings() -> None:
    chosen = {"round_size": 5, "queue_size": 9, "prelabel": True}

    assert Options.of(Settings(), chosen) == Options(5, 9, prelabel=True)


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
    ],
)
def test_a_wrong_choice_is_refused_with_its_value(chosen: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        Options.of(Settings(), chosen)
