from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from uherding_backend.labels import Annotation, TaskId, arrived_since, parse_annotation, resolve

CLASSES = ("bars", "checks", "disc")
answers = st.lists(
    st.builds(
        Annotation,
        id=st.integers(1, 10**6),
        task=st.integers(1, 5).map(TaskId),
        answer=st.sampled_from([None, *CLASSES, "no class"]),
        skipped=st.booleans(),
        ground_truth=st.booleans(),
        updated=st.sampled_from(["", "2026-01-01", "2026-01-02"]),
    ),
    unique_by=lambda annotation: annotation.id,
    max_size=12,
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["from_name", "type", "value", "choices", "id"]), inner, max_size=4
        )
    ),
    max_leaves=10,
)


@given(answers, st.randoms(use_true_random=False))
def test_the_order_of_annotations_does_not_matter(
    given_annotations: list[Annotation], chance: random.Random
) -> None:
    shuffled = chance.sample(given_annotations, len(given_annotations))

    assert resolve(shuffled, CLASSES) == resolve(given_annotations, CLASSES)


@given(answers)
def test_every_annotated_task_is_either_labelled_or_set_aside(
    given_annotations: list[Annotation],
) -> None:
    labels = resolve(given_annotations, CLASSES)

    assert labels.classes.keys() | labels.set_aside == {a.task for a in given_annotations}
    assert not labels.classes.keys() & labels.set_aside
    assert set(labels.classes.values()) <= set(CLASSES)
    assert labels.unknown_classes <= len(labels.set_aside)


@given(answers)
def test_a_class_is_one_that_somebody_chose_for_that_task(
    given_annotations: list[Annotation],
) -> None:
    chosen = {(a.task, a.answer) for a in given_annotations}

    labels = resolve(given_annotations, CLASSES)

    assert set(labels.classes.items()) <= chosen


labels_by_task = st.dictionaries(st.integers(1, 6).map(TaskId), st.sampled_from(CLASSES))


@given(labels_by_task, labels_by_task)
def test_as_many_have_arrived_as_must_be_changed_or_added(
    now: dict[TaskId, str], used: dict[TaskId, str]
) -> None:
    assert arrived_since(now, used) == len(now.items() - used.items())


@given(json_values)
def test_whatever_a_result_holds_the_answer_is_a_text_or_none(result: object) -> None:
    annotation = parse_annotation({"id": 1, "task": 1, "result": result}, "kind")

    assert annotation.answer is None or isinstance(annotation.answer, str)
