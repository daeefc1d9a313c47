from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import (
    LABEL_CONFIG,
    LISTING,
    PROJECT,
    connected,
    look_at,
    make_annotation,
    make_connection,
    publish_round,
)
from uherding_backend.errors import LabelConfigError
from uherding_backend.label_config import parse_label_config
from uherding_backend.labels import Annotation, Labels, ProjectId, TaskId, arrived_since, resolve
from uherding_backend.store import Store
from uherding_backend.store.counts import Counts

OTHER = ProjectId(2)
CONFIGS = (LABEL_CONFIG, LABEL_CONFIG.replace("disc", "ring"), "<View/>")
Operation = Callable[[Store], object]

tasks = st.integers(1, 4)
answers = st.sampled_from(["bars", "disc", "ring", None])
answers_given = st.builds(
    make_annotation,
    st.integers(1, 6),
    tasks,
    answers,
    ground_truth=st.booleans(),
    updated=st.sampled_from("123"),
)
exports = st.lists(answers_given, max_size=6, unique_by=lambda one: one.id)
pools = st.dictionaries(tasks.map(TaskId), st.sampled_from(["a.png", "b.png"]))
projects = st.sampled_from([PROJECT, OTHER])


def saved(project: ProjectId, annotation: Annotation) -> Operation:
    return lambda store: store.pool.save_annotation(project, annotation)


def deleted(ids: list[int]) -> Operation:
    return lambda store: store.pool.delete_annotations(PROJECT, ids)


def reconciled(project: ProjectId, export: list[Annotation]) -> Operation:
    return lambda store: store.pool.replace_annotations(project, export)


def imported(images: dict[TaskId, str]) -> Operation:
    return lambda store: store.pool.replace_items(PROJECT, images, LISTING)


def published(now: float) -> Operation:
    def publish(store: Store) -> None:
        labels = labels_known(store, PROJECT).classes
        publish_round(store, labels={int(t): kind for t, kind in labels.items()}, now=now)

    return publish


def looked_at(config: str) -> Operation:
    return lambda store: look_at(store, label_config=config)


def set_up(config: str) -> Operation:
    return lambda store: store.projects.connect(make_connection(label_config=config))


def reopened() -> Operation:
    return lambda store: Store(store.data_dir)


operations = st.one_of(
    st.builds(saved, projects, answers_given),
    st.builds(deleted, st.lists(st.integers(1, 6), max_size=3)),
    st.builds(reconciled, projects, exports),
    st.builds(imported, pools),
    st.builds(published, st.sampled_from([1000.0, 2000.0])),
    st.builds(looked_at, st.sampled_from(CONFIGS)),
    st.builds(set_up, st.sampled_from(CONFIGS)),
    st.builds(reopened),
)


def classes_now(store: Store, project: ProjectId) -> tuple[str, ...]:
    try:
        return parse_label_config(store.projects.get(project).label_config).classes
    except LabelConfigError:
        return ()


def labels_known(store: Store, project: ProjectId) -> Labels:
    return resolve(store.pool.annotations(project), classes_now(store, project))


def counted_from_scratch(store: Store, project: ProjectId) -> Counts:
    found = labels_known(store, project)
    published = store.rounds.last_published(project)
    used = store.rounds.labels(published.id) if published else {}
    return Counts(
        classes_now(store, project),
        tasks=len(store.pool.items(project)),
        labels=len(found.classes),
        set_aside=len(found.set_aside),
        new_labels=arrived_since(found.classes, used),
    )


@given(st.lists(operations, max_size=12))
def test_stored_counts_are_what_counting_from_scratch_finds(happened: list[Operation]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        store = Store(Path(directory))
        for project in (PROJECT, OTHER):
            connected(store, project)

        for operation in happened:
            operation(store)

            for project in (PROJECT, OTHER):
                assert store.counts.get(project) == counted_from_scratch(store, project)


@given(exports, pools)
def test_what_was_known_before_a_project_was_connected_is_counted_too(
    known: list[Annotation], images: dict[TaskId, str]
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        store = Store(Path(directory))
        store.pool.replace_annotations(PROJECT, known)
        store.pool.replace_items(PROJECT, images, LISTING)

        connected(store)

        assert store.counts.get(PROJECT) == counted_from_scratch(store, PROJECT)
