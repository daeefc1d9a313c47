from __future__ import annotations

import pytest

from tests.support.builders import PROJECT, connected
from uherding_backend.remaining import remaining_seconds, share_done
from uherding_backend.store import Round, Store

BEFORE = {"features": 10.0, "classifier": 2.0, "selection": 4.0, "uploading": 3.0, "map": 1.0}


def running(store: Store, step: str = "", progress: float = 0.0) -> Round:
    """A round that was started at 1000 and began its step at 1010."""
    connected(store)
    store.rounds.request(PROJECT, "asked for", 999.0)
    round_ = store.rounds.take(1000.0)
    assert round_ is not None
    if step:
        store.rounds.progress(round_.id, step, 0.0, 1010.0)
        store.rounds.progress(round_.id, step, progress, 1015.0)
    found = store.rounds.get(round_.id)
    assert found is not None
    return found


def test_a_step_that_tells_how_far_it_is_sets_its_own_pace(store: Store) -> None:
    round_ = running(store, "selection", 0.25)

    assert remaining_seconds(round_, BEFORE, 1020.0) == pytest.approx(30.0 + 3.0 + 1.0)


def test_otherwise_the_last_round_tells(store: Store) -> None:
    round_ = running(store, "selection")

    assert remaining_seconds(round_, BEFORE, 1011.0) == pytest.approx(3.0 + 3.0 + 1.0)
    assert remaining_seconds(round_, BEFORE, 1100.0) == pytest.approx(3.0 + 1.0)


def test_learning_features_is_part_of_the_features(store: Store) -> None:
    round_ = running(store, "learning features, 3 min left", 0.5)

    assert remaining_seconds(round_, {}, 1020.0) == pytest.approx(10.0)


def test_nothing_is_said_where_nothing_is_known(store: Store) -> None:
    assert remaining_seconds(running(store), BEFORE, 1011.0) is None


def test_a_first_round_without_progress_tells_nothing(store: Store) -> None:
    assert remaining_seconds(running(store, "labels"), {}, 1011.0) is None


def test_the_bar_moves_from_left_to_right(store: Store) -> None:
    round_ = running(store, "selection", 0.25)

    assert share_done(round_, BEFORE, 1020.0) == pytest.approx(20.0 / 54.0)
    assert share_done(round_, BEFORE, 1020.0) > share_done(round_, BEFORE, 1012.0) - 1.0


def test_without_a_round_before_steps_are_counted(store: Store) -> None:
    assert 0.0 < share_done(running(store, "uploading"), {}, 1011.0) < 1.0
