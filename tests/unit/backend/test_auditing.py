from __future__ import annotations

import numpy as np
import pytest

from tests.support.builders import UID
from uherding_backend.auditing import drawn_share, interleave, lot, next_drawn, set_apart
from uherding_backend.labels import Labels, TaskId

TASKS = [TaskId(number) for number in range(1, 2001)]
NOBODY: frozenset[TaskId] = frozenset()


def answered(*tasks: TaskId, skipped: TaskId | None = None) -> Labels:
    aside = frozenset({skipped}) if skipped else NOBODY
    return Labels(dict.fromkeys(tasks, "bars"), aside, 0, 0)


def test_lots_are_spread_evenly_and_differ_between_projects() -> None:
    lots = np.array([lot(UID, task) for task in TASKS])

    counts, _ = np.histogram(lots, bins=10, range=(0.0, 1.0))
    assert counts.min() > 150  # of 200; the standard deviation is 13
    assert lot(UID, TASKS[0]) == lots[0]
    assert lot("2.1", TASKS[0]) != lots[0]


def test_the_slice_is_the_fraction_and_grows_with_it() -> None:
    small = set_apart(UID, TASKS, NOBODY, NOBODY, 0.1)
    large = set_apart(UID, TASKS, NOBODY, NOBODY, 0.3)

    assert small < large
    assert len(small) == pytest.approx(200, abs=45)
    assert set_apart(UID, TASKS, NOBODY, NOBODY, 0.0) == NOBODY


def test_what_was_labelled_before_stays_out_and_what_is_labelled_later_stays_in() -> None:
    first, second = sorted(set_apart(UID, TASKS, NOBODY, NOBODY, 0.1))[:2]

    apart = set_apart(UID, TASKS, {first, second}, {second}, 0.1)

    assert first not in apart
    assert second in apart


def test_tasks_are_drawn_by_lot_and_answered_ones_not_again() -> None:
    apart = set_apart(UID, TASKS[:50], NOBODY, NOBODY, 0.5)
    order = next_drawn(UID, apart, answered())

    rest = next_drawn(UID, apart, answered(order[0], skipped=order[2]))

    assert [lot(UID, task) for task in order] == sorted(lot(UID, task) for task in order)
    assert rest == [order[1], *order[3:]]


def test_drawn_entries_are_spread_evenly() -> None:
    queue = interleave(list("abcdefgh"), list("XY"))

    assert "".join(queue) == "abcdXefghY"


@pytest.mark.parametrize(("chosen", "drawn"), [("", ""), ("abc", ""), ("", "XY"), ("a", "XYZ")])
def test_nothing_is_lost_in_between(chosen: str, drawn: str) -> None:
    queue = "".join(interleave(chosen, drawn))

    assert sorted(queue) == sorted(chosen + drawn)
    assert [c for c in queue if c.islower()] == list(chosen)


def test_the_share_of_a_queue() -> None:
    assert [drawn_share(60, share) for share in (0.0, 0.1, 0.5)] == [0, 6, 30]
