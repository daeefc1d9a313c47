from __future__ import annotations

import random
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import (
    LABEL_STUDIO_URL,
    PROJECT,
    annotation_payload,
    connected,
    make_settings,
    webhook_payload,
)
from uherding_backend.events import WEBHOOK_ACTIONS, Event, parse_event
from uherding_backend.labels import Annotation
from uherding_backend.labelstudio import LabelStudio
from uherding_backend.protocol import Protocol
from uherding_backend.store import Store

actions = st.sampled_from([*WEBHOOK_ACTIONS, "START_TRAINING", "NOBODY_KNOWS"])
texts = st.text(st.characters(codec="utf-8"), max_size=5)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "task", "result"]) | texts, inner, max_size=3)
    ),
    max_leaves=8,
)
events = st.fixed_dictionaries(
    {"action": actions | json_values, "project": st.just(1) | json_values},
    optional={"annotation": json_values, "annotations": json_values, "task": json_values},
)
saved = st.builds(
    annotation_payload,
    st.integers(1, 4),
    task=st.integers(1, 3),
    answer=st.sampled_from([None, "bars", "disc"]),
    skipped=st.booleans(),
    updated=st.integers(10, 60).map(lambda second: f"2026-01-01T00:00:{second}Z"),
)


@given(events | json_values)
def test_whatever_comes_it_is_an_event_or_nothing(payload: object) -> None:
    event = parse_event(payload)

    assert event is None or isinstance(event, Event)


def protocol_in(directory: str) -> Protocol:
    store = Store(Path(directory))
    connected(store)
    studio = LabelStudio(LABEL_STUDIO_URL, "none")
    return Protocol(store, make_settings(store.data_dir), lambda: 1.0, lambda _: studio)


@given(st.lists(events, max_size=5))
def test_whatever_comes_it_is_recorded_or_ignored(payloads: list[dict[str, object]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        protocol = protocol_in(directory)

        answers = {protocol.webhook(payload) for payload in payloads}

    assert answers <= {"recorded", "ignored"}


@given(
    st.lists(saved, max_size=8, unique_by=lambda a: (a["id"], a["updated_at"])),
    st.randoms(use_true_random=False),
)
def test_saved_annotations_give_the_same_labels_in_any_order_and_however_often_they_come(
    annotations: list[dict[str, object]], chance: random.Random
) -> None:
    known: list[list[Annotation]] = []
    shuffled = chance.sample(annotations * 2, 2 * len(annotations))

    for order in (annotations, shuffled):
        with tempfile.TemporaryDirectory() as directory:
            protocol = protocol_in(directory)
            for annotation in order:
                protocol.webhook(webhook_payload("ANNOTATION_UPDATED", annotation=annotation))
            known.append(protocol.store.pool.annotations(PROJECT))

    newest = {a["id"]: a["updated_at"] for a in sorted(annotations, key=_updated)}
    assert known[0] == known[1]
    assert {a.id: a.updated for a in known[0]} == newest


def _updated(annotation: dict[str, object]) -> str:
    return str(annotation["updated_at"])
