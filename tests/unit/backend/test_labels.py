from __future__ import annotations

from typing import Any

import pytest

from tests.support.builders import annotation_payload, make_annotation
from uherding_backend.labels import TaskId, arrived_since, parse_annotation, resolve

CLASSES = ("bars", "checks", "disc")


def test_an_annotation_is_read_as_the_export_carries_it() -> None:
    payload = annotation_payload(7, task=3, answer="disc")

    annotation = parse_annotation(payload, "kind")

    assert annotation == make_annotation(7, task=3, answer="disc")


def test_a_skipped_task_has_no_answer_even_if_something_was_ticked() -> None:
    payload = annotation_payload(answer="disc", skipped=True)

    annotation = parse_annotation(payload, "kind")

    assert annotation.skipped
    assert annotation.answer is None


def test_only_the_question_of_the_label_config_is_read() -> None:
    payload = annotation_payload(answer="disc")

    assert parse_annotation(payload, "another question").answer is None


@pytest.mark.parametrize(
    "result",
    [
        None,
        [],
        "text",
        7,
        [7],
        [None],
        [{}],
        [{"from_name": "kind", "type": "choices"}],
        [{"from_name": "kind", "type": "choices", "value": []}],
        [{"from_name": "kind", "type": "choices", "value": "text"}],
        [{"from_name": "kind", "type": "choices", "value": {"choices": []}}],
        [{"from_name": "kind", "type": "choices", "value": {"choices": {"a": 1}}}],
        [{"from_name": "kind", "type": "choices", "value": {"choices": [7]}}],
        [{"from_name": "kind", "type": "rectanglelabels", "value": {"choices": ["disc"]}}],
    ],
)
def test_a_result_without_a_usable_choice_is_no_answer(result: Any) -> None:  # noqa: ANN401
    payload = {**annotation_payload(), "result": result}

    assert parse_annotation(payload, "kind").answer is None


def test_the_majority_decides() -> None:
    given = [
        make_annotation(1, answer="bars"),
        make_annotation(2, answer="disc"),
        make_annotation(3, answer="bars"),
    ]

    labels = resolve(given, CLASSES)

    assert labels.classes == {1: "bars"}
    assert labels.disagreements == 1


def test_the_latest_decides_between_equally_many() -> None:
    given = [
        make_annotation(1, answer="disc", updated="2026-01-02T00:00:00Z"),
        make_annotation(2, answer="bars", updated="2026-01-01T00:00:00Z"),
    ]

    assert resolve(given, CLASSES).classes == {1: "disc"}


def test_ground_truth_overrules_the_majority() -> None:
    given = [
        make_annotation(1, answer="bars"),
        make_annotation(2, answer="bars"),
        make_annotation(3, answer="disc", ground_truth=True),
    ]

    assert resolve(given, CLASSES).classes == {1: "disc"}


def test_tasks_without_a_usable_answer_are_set_aside() -> None:
    given = [
        make_annotation(1, task=1, answer=None, skipped=True),
        make_annotation(2, task=2, answer=None),
        make_annotation(3, task=3, answer="no longer a class"),
    ]

    labels = resolve(given, CLASSES)

    assert labels.classes == {}
    assert labels.set_aside == {1, 2, 3}
    assert labels.unknown_classes == 1


def test_a_task_skipped_by_one_and_answered_by_another_is_labelled() -> None:
    given = [make_annotation(1, answer=None, skipped=True), make_annotation(2, answer="disc")]

    labels = resolve(given, CLASSES)

    assert labels.classes == {1: "disc"}
    assert labels.set_aside == frozenset()
    assert labels.disagreements == 0


def test_new_and_changed_labels_have_arrived_but_deleted_ones_have_not() -> None:
    used = {TaskId(1): "bars", TaskId(2): "bars", TaskId(3): "bars"}
    now = {TaskId(1): "bars", TaskId(2): "disc", TaskId(4): "disc"}

    assert arrived_since(now, used) == 2
