from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import LABEL_CONFIG, PROJECT, make_entry
from tests.support.fake_label_studio import FakeLabelStudio, Killed
from uherding_backend.label_config import parse_label_config
from uherding_backend.predictions import LAST, queue_score
from uherding_backend.publishing import Upload, plan, queue_predictions

SCHEMA = parse_label_config(LABEL_CONFIG)


@given(st.integers(1, 2000))
def test_scores_grow_strictly_from_above_0_to_below_the_tasks_outside(length: int) -> None:
    scores = [queue_score(rank, length) for rank in range(length)]

    assert all(earlier < later for earlier, later in pairwise([0.0, *scores, LAST]))


@given(st.permutations(range(1, 8)), st.integers(1, 7))
def test_annotators_get_the_tasks_in_the_order_of_the_queue(tasks: list[int], length: int) -> None:
    studio = FakeLabelStudio()
    studio.add_project(["an image"] * 7)
    queue = [make_entry(task) for task in tasks[:length]]

    publish(studio, queue_predictions(queue, SCHEMA, "v", prelabel=False))

    served = []
    while (task := studio.next_task()) is not None:
        studio.submit(task, "bars")
        served.append(task)
    assert served == tasks[:length]


@given(
    st.integers(1, 6),
    st.lists(
        st.tuples(
            st.sampled_from(["before", "after"]),
            st.sampled_from(["upload_predictions", "update_project"]),
        ),
        max_size=5,
    ),
)
def test_however_often_publishing_is_killed_the_queue_is_whole_and_there_once(
    length: int, kills: list[tuple[str, str]]
) -> None:
    studio = FakeLabelStudio()
    studio.add_project(["an image"] * length)
    queue = [make_entry(task) for task in range(length, 0, -1)]
    predictions = queue_predictions(queue, SCHEMA, "v", prelabel=False)

    for moment, method in kills:
        getattr(studio, moment)(method, kill)
        try:
            publish(studio, predictions)
        except Killed:
            assert studio.projects[1].model_version in ("", "v")
        studio.heal()
    publish(studio, predictions)

    assert studio.queue() == list(range(length, 0, -1))
    assert studio.prediction_counts(PROJECT) == {"v": length}


@given(st.integers(1, 9), st.integers(0, 9))
def test_a_version_is_never_switched_to_before_all_of_it_is_there(
    length: int, uploaded: int
) -> None:
    predictions = [{"task": task} for task in range(length)]

    calls = plan(predictions, "v", uploaded=uploaded, shown="old")

    if uploaded not in (0, length):
        assert calls is None
    else:
        assert calls is not None
        sent = sum(len(call.predictions) for call in calls if isinstance(call, Upload))
        assert uploaded + sent == length


def kill() -> None:
    raise Killed


def publish(studio: FakeLabelStudio, predictions: list[dict[str, object]]) -> None:
    uploaded = studio.prediction_counts(PROJECT).get("v", 0)
    shown = studio.project(PROJECT).model_version
    calls = plan(predictions, "v", uploaded=uploaded, shown=shown)
    if calls is None:
        pytest.fail("the upload was whole, so the version cannot be spoilt")
    for call in calls:
        if isinstance(call, Upload):
            studio.upload_predictions(PROJECT, call.predictions)
        else:
            studio.update_project(PROJECT, {"model_version": call.version})
