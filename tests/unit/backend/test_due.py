from __future__ import annotations

import pytest

from tests.support.builders import (
    PROJECT,
    connected,
    look_at,
    make_annotation,
    publish_round,
)
from uherding_backend.due import FIRST_RETRY_SECONDS, LONGEST_RETRY_SECONDS, due
from uherding_backend.options import Options
from uherding_backend.store import Store

OPTIONS = Options(round_size=3, queue_size=10, prelabel=False)
QUEUE = range(1, 11)


def reason(store: Store, now: float = 2000.0) -> str | None:
    return due(store, store.projects.get(PROJECT), OPTIONS, now)


def label(store: Store, *tasks: int, answer: str | None = "bars") -> None:
    for task in tasks:
        store.pool.save_annotation(PROJECT, make_annotation(task, task=task, answer=answer))


def fail(store: Store, times: int, now: float) -> None:
    for _ in range(times):
        store.rounds.request(PROJECT, "asked for", now)
        round_ = store.rounds.take(now)
        assert round_ is not None
        store.rounds.failed(round_.id, "no luck", now)


@pytest.fixture(autouse=True)
def _connected(store: Store) -> None:
    connected(store)


def test_the_first_queue_is_due(store: Store) -> None:
    assert reason(store) == "first queue"


def test_nothing_is_due_right_after_a_round(store: Store) -> None:
    publish_round(store, queue=QUEUE)

    assert reason(store) is None


def test_a_round_that_waits_or_runs_is_enough(store: Store) -> None:
    store.rounds.request(PROJECT, "asked for", 1.0)
    while_waiting = reason(store)
    store.rounds.take(2.0)
    while_running = reason(store)

    assert (while_waiting, while_running) == (None, None)


def test_round_size_labels_since_the_last_round_make_one_due(store: Store) -> None:
    publish_round(store, queue=QUEUE)

    label(store, 1, 2)
    with_two = reason(store)
    label(store, 3)

    assert with_two is None
    assert reason(store) == "3 new labels"


def test_labels_are_counted_since_the_last_round_not_by_their_total(store: Store) -> None:
    label(store, 1, 2, 3, 4)
    used = {1: "bars", 2: "bars", 3: "bars", 4: "bars"}
    publish_round(store, queue=QUEUE, labels=used)

    label(store, 5, 6)  # 6 in all, a multiple of the round size
    with_two_new = reason(store)
    label(store, 7)

    assert with_two_new is None
    assert reason(store) == "3 new labels"


def test_labels_that_passed_the_mark_unseen_still_count(store: Store) -> None:
    publish_round(store, queue=QUEUE)

    label(store, 1, 2, 3, 4)

    assert reason(store) == "4 new labels"


def test_a_changed_label_counts_as_new_and_a_skip_does_not(store: Store) -> None:
    used = {1: "bars", 2: "bars", 3: "bars"}
    publish_round(store, queue=QUEUE, labels=used)

    label(store, 1, 2, answer="disc")
    label(store, 3, answer="bars")
    label(store, 4, answer=None)
    with_two_changed = reason(store)
    label(store, 3, answer="disc")

    assert with_two_changed is None
    assert reason(store) == "3 new labels"


def test_changed_tasks_or_label_config_make_a_round_due(store: Store) -> None:
    publish_round(store, queue=QUEUE)

    look_at(store, changed=True)

    assert reason(store) == "tasks or label config changed"


def test_a_queue_that_runs_low_is_renewed_while_there_is_more_to_queue(store: Store) -> None:
    publish_round(store, queue=(1, 2, 3), left_out=5)

    label(store, 1, answer=None)

    assert reason(store) == "only 2 tasks left in the queue"


def test_a_queue_that_runs_low_is_left_when_the_pool_is_exhausted(store: Store) -> None:
    publish_round(store, queue=(1, 2, 3), left_out=0)

    label(store, 1, 2)

    assert reason(store) is None


@pytest.mark.parametrize(
    ("failures", "wait"),
    [(1, FIRST_RETRY_SECONDS), (2, 2 * FIRST_RETRY_SECONDS), (20, LONGEST_RETRY_SECONDS)],
)
def test_a_failed_round_is_tried_again_after_a_growing_wait(
    store: Store, failures: int, wait: float
) -> None:
    fail(store, failures, now=1000.0)

    assert reason(store, 1000.0 + wait - 0.1) is None
    assert reason(store, 1000.0 + wait) == "trying again after a failure"


def test_a_success_in_between_starts_the_waits_afresh(store: Store) -> None:
    fail(store, 5, now=1000.0)
    publish_round(store, queue=QUEUE, now=1001.0)
    fail(store, 1, now=1002.0)

    assert reason(store, 1002.0 + FIRST_RETRY_SECONDS) == "trying again after a failure"


def test_labels_do_not_break_the_wait_after_a_failure(store: Store) -> None:
    publish_round(store, queue=QUEUE)
    fail(store, 1, now=1500.0)

    label(store, 1, 2, 3)

    assert reason(store, 1500.0) is None
