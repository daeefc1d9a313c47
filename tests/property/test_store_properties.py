from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import LISTING, PROJECT, connected
from uherding_backend.feature_store import FeatureStore
from uherding_backend.labels import TaskId
from uherding_backend.store import RoundState, Store

RUNNING = {RoundState.DUE, RoundState.RUNNING}
steps = st.lists(
    st.sampled_from(["request", "take", "rank", "publish", "fail", "kill"]), max_size=15
)


@given(steps)
def test_whatever_happens_at_most_one_round_waits_one_runs_and_a_taken_one_ends_once(
    happened: list[str],
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        store = Store(Path(directory))
        connected(store)
        taken: set[int] = set()
        running = None
        for now, step in enumerate(happened, start=1):
            if step == "request":
                store.rounds.request(PROJECT, "asked for", now)
            elif step == "take" and running is None:
                running = store.rounds.take(now)
                taken |= {running.id} if running else set()
            elif step == "kill":
                store, running = Store(Path(directory)), None
                store.rounds.recover()
            elif running is not None and step == "rank":
                store.rounds.ranked(running.id, version="v", queue=[], labels={}, report={})
            elif running is not None and step in ("publish", "fail"):
                if step == "publish":
                    store.rounds.published(running.id, {}, now)
                else:
                    store.rounds.failed(running.id, "no luck", now)
                running = None

            rounds = store.rounds.latest(PROJECT)
            states = [round_.state for round_ in rounds]
            assert states.count(RoundState.DUE) <= 1
            assert states.count(RoundState.RUNNING) == (running is not None)
            assert {r.id for r in rounds if r.state not in RUNNING} <= taken


@given(st.lists(st.dictionaries(st.integers(1, 5).map(TaskId), st.sampled_from("abc")), max_size=4))
def test_the_pool_is_what_label_studio_said_last(said: list[dict[TaskId, str]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        store = Store(Path(directory))

        for images in said:
            store.pool.replace_items(PROJECT, images, LISTING)

        known = {item.task: item.image for item in store.pool.items(PROJECT)}
    assert known == (said[-1] if said else {})


@given(st.lists(st.lists(st.integers(0, 9), max_size=5), max_size=5))
def test_every_image_keeps_its_row_however_the_rows_arrive(batches: list[list[int]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        store = Store(Path(directory))
        features = FeatureStore(store.database, Path(directory) / "features")

        for batch in batches:
            rows = np.repeat(np.array(batch, dtype=np.float32)[:, None], 3, axis=1)
            features.append("e", [str(number) for number in batch], rows)

        seen = sorted({number for batch in batches for number in batch})
        found = features.rows("e", 3, [str(number) for number in seen])
    assert features_equal(found, seen)


def features_equal(
    found: np.ndarray[tuple[int, ...], np.dtype[np.float32]], seen: list[int]
) -> bool:
    return found.shape == (len(seen), 3) and bool((found == np.array(seen)[:, None]).all())
