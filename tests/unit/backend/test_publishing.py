from __future__ import annotations

import itertools

import pytest

from tests.support.builders import LABEL_CONFIG, PROJECT, make_entry
from tests.support.fake_label_studio import FakeLabelStudio, Killed
from uherding_backend.label_config import parse_label_config
from uherding_backend.labels import ProjectId
from uherding_backend.publishing import (
    Switch,
    Upload,
    plan,
    queue_predictions,
    stale_versions,
    version_name,
)
from uherding_backend.store.round_records import RoundId

SCHEMA = parse_label_config(LABEL_CONFIG)
QUEUE = [make_entry(task) for task in (3, 1, 2)]
PREDICTIONS = queue_predictions(QUEUE, SCHEMA, "v", prelabel=False)


def test_a_new_queue_is_uploaded_and_then_shown() -> None:
    calls = plan(PREDICTIONS, "v", uploaded=0, shown="old")

    assert calls == [Upload(tuple(PREDICTIONS)), Switch("v")]


def test_an_uploaded_queue_is_only_shown() -> None:
    assert plan(PREDICTIONS, "v", uploaded=3, shown="old") == [Switch("v")]


def test_a_queue_that_is_shown_needs_nothing() -> None:
    assert plan(PREDICTIONS, "v", uploaded=3, shown="v") == []


def test_a_half_uploaded_queue_needs_another_name() -> None:
    assert plan(PREDICTIONS, "v", uploaded=2, shown="old") is None


def test_an_empty_queue_leaves_what_is_shown() -> None:
    assert plan([], "v", uploaded=0, shown="old") == []


@pytest.mark.parametrize(
    ("moment", "method"),
    list(itertools.product(("before", "after"), ("upload_predictions", "update_project"))),
)
def test_replaying_the_plan_after_any_interruption_gives_one_whole_queue(
    moment: str, method: str
) -> None:
    studio = FakeLabelStudio()
    studio.add_project(["a", "b", "c"])
    getattr(studio, moment)(method, lambda: (_ for _ in ()).throw(Killed))

    with pytest.raises(Killed):
        publish(studio)
    publish(studio)
    publish(studio)

    assert studio.queue() == [3, 1, 2]
    assert studio.prediction_counts(PROJECT) == {"v": 3}


def publish(studio: FakeLabelStudio) -> None:
    uploaded = studio.prediction_counts(PROJECT).get("v", 0)
    shown = studio.project(PROJECT).model_version
    for call in plan(PREDICTIONS, "v", uploaded=uploaded, shown=shown) or []:
        if isinstance(call, Upload):
            studio.upload_predictions(PROJECT, call.predictions)
        else:
            studio.update_project(PROJECT, {"model_version": call.version})


def test_the_first_in_the_queue_has_the_lowest_score_and_none_is_ticked() -> None:
    assert PREDICTIONS == [
        {"task": 3, "result": [], "score": 0.25, "model_version": "v"},
        {"task": 1, "result": [], "score": 0.5, "model_version": "v"},
        {"task": 2, "result": [], "score": 0.75, "model_version": "v"},
    ]


def test_with_prelabel_the_predicted_class_is_ticked() -> None:
    queue = [make_entry(3, predicted="disc", probability=0.123456)]

    (prediction,) = queue_predictions(queue, SCHEMA, "v", prelabel=True)

    assert prediction["result"] == [
        {
            "from_name": "kind",
            "to_name": "image",
            "type": "choices",
            "value": {"choices": ["disc"]},
            "score": 0.1235,
        }
    ]


def test_before_the_first_label_there_is_nothing_to_tick() -> None:
    queue = [make_entry(3, predicted="")]

    (prediction,) = queue_predictions(queue, SCHEMA, "v", prelabel=True)

    assert prediction["result"] == []


def test_only_our_own_old_versions_of_this_project_may_go() -> None:
    current, kept, old = (version_name(PROJECT, RoundId(n), "abc") for n in (3, 2, 1))
    other = version_name(ProjectId(12), RoundId(1), "abc")
    stored = dict.fromkeys([current, kept, old, other, "theirs", "uherding-demo"], 5)

    assert stale_versions(stored, PROJECT, {current, kept}) == [old]


def test_no_two_attempts_share_a_version_name() -> None:
    names = {version_name(PROJECT, RoundId(1), attempt) for attempt in ("abc", "abd")}

    assert len(names) == 2
