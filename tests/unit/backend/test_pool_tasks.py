"""When a round may go by the tasks that are stored."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.builders import (
    PROJECT,
    UID,
    Clock,
    connected,
    look_at,
    make_settings,
    setup_payload,
    webhook_payload,
)
from tests.support.fake_label_studio import FakeLabelStudio
from uherding_backend.changing import Changes
from uherding_backend.cli import main
from uherding_backend.labels import TaskId
from uherding_backend.pool_tasks import TRUSTED_SECONDS, tasks_are_known
from uherding_backend.protocol import Protocol
from uherding_backend.store import Store
from uherding_backend.store.pool import Listing
from uherding_backend.worker import Worker

LISTED = 1000.0  # seconds since the epoch

Sign = Callable[[Store, Clock], None]


@pytest.fixture
def listed(store: Store, clock: Clock) -> Store:
    """A store with a project whose three tasks Label Studio has listed."""
    connected(store)
    images = {TaskId(task): f"{task}.png" for task in (1, 2, 3)}
    store.pool.replace_items(PROJECT, images, Listing("image", LISTED, doubts=0))
    clock.now = LISTED + 1.0
    return store


def known(store: Store, *, key: str = "image", count: int = 3, now: float = LISTED + 2.0) -> bool:
    return tasks_are_known(store, PROJECT, key, count, now)


def test_listed_tasks_are_known(listed: Store) -> None:
    assert known(listed)


def test_tasks_that_were_never_listed_are_not_known(store: Store) -> None:
    connected(store)

    assert not known(store, count=0)


def test_more_or_fewer_tasks_are_not_known(listed: Store) -> None:
    assert not known(listed, count=4)
    assert not known(listed, count=2)


def test_images_elsewhere_in_the_data_are_not_known(listed: Store) -> None:
    assert not known(listed, key="picture")


def test_tasks_are_known_for_an_hour(listed: Store) -> None:
    assert known(listed, now=LISTED + TRUSTED_SECONDS - 1.0)
    assert not known(listed, now=LISTED + TRUSTED_SECONDS)


def test_tasks_listed_in_the_future_are_not_known(listed: Store) -> None:
    assert not known(listed, now=LISTED - 1.0), "the clock was set back: nobody knows how far"


def protocol(store: Store, clock: Clock) -> Protocol:
    return Protocol(store, make_settings(store.data_dir), clock, lambda _: FakeLabelStudio())


def label_studio_tells(action: str) -> Sign:
    def tell(store: Store, clock: Clock) -> None:
        protocol(store, clock).webhook(webhook_payload(action))

    return tell


def somebody_asks(store: Store, clock: Clock) -> None:
    Changes(make_settings(store.data_dir), store, clock).request_round(PROJECT, "user", "Ann")


def a_look_finds_other_tasks(store: Store, clock: Clock) -> None:
    look_at(store, clock(), other_tasks=True)


def it_is_connected_again(store: Store, clock: Clock) -> None:
    store.projects.disconnect(PROJECT)
    protocol(store, clock).setup(setup_payload(UID), "http://127.0.0.1:9090")


def it_is_connected_to_another_server(store: Store, clock: Clock) -> None:
    store.projects.disconnect(PROJECT)
    protocol(store, clock).setup(setup_payload(f"{PROJECT}.42"), "http://127.0.0.1:9090")


SIGNS: dict[str, Sign] = {
    "tasks are created": label_studio_tells("TASKS_CREATED"),
    "tasks are deleted": label_studio_tells("TASKS_DELETED"),
    "Start Training": label_studio_tells("START_TRAINING"),
    "somebody asks for a round": somebody_asks,
    "a look finds other tasks": a_look_finds_other_tasks,
    "connected again": it_is_connected_again,
    "another server": it_is_connected_to_another_server,
}


@pytest.mark.parametrize("sign", SIGNS.values(), ids=SIGNS.keys())
def test_after_a_sign_tasks_are_known_only_once_they_were_listed_again(
    sign: Sign, listed: Store, clock: Clock
) -> None:
    sign(listed, clock)
    before = known(listed)
    images = {item.task: item.image for item in listed.pool.items(PROJECT)}

    doubts = listed.projects.get(PROJECT).task_doubts
    listed.pool.replace_items(PROJECT, images, Listing("image", LISTED, doubts))

    assert not before
    assert known(listed)


@pytest.mark.parametrize("sign", SIGNS.values(), ids=SIGNS.keys())
def test_a_sign_counts_though_the_clock_was_set_back(
    sign: Sign, listed: Store, clock: Clock
) -> None:
    clock.now = LISTED - 500.0

    sign(listed, clock)

    assert not known(listed)


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_sign_while_tasks_are_being_listed_is_not_forgotten(
    moment: str, worker: Worker, studio: FakeLabelStudio
) -> None:
    def tell() -> None:
        label_studio_tells("TASKS_CREATED")(worker.store, Clock())

    connected(worker.store)
    (studio.before if moment == "before" else studio.after)("images", tell)

    worker.step()

    listing = worker.store.pool.listing(PROJECT)
    assert listing is not None
    assert not known(worker.store, key=listing.data_key, count=30, now=listing.at)


def test_an_edited_label_config_makes_a_round_that_does_not_list_the_tasks(
    worker: Worker, studio: FakeLabelStudio, clock: Clock
) -> None:
    connected(worker.store)
    worker.step()
    project = studio.projects[PROJECT]
    project.label_config = project.label_config.replace(
        "</Choices>", '<Choice value="x"/></Choices>'
    )
    label_studio_tells("PROJECT_UPDATED")(worker.store, clock)

    worker.step()

    published = worker.store.rounds.last_published(PROJECT)
    assert published is not None
    assert published.reason == "tasks or label config changed"
    assert studio.calls.count("images") == 1


@pytest.mark.parametrize("action", ["ANNOTATION_CREATED", "PROJECT_UPDATED"])
def test_other_events_are_no_signs(action: str, listed: Store, clock: Clock) -> None:
    annotation = {"id": 1, "task": 1, "result": []}

    protocol(listed, clock).webhook(webhook_payload(action, annotation=annotation))

    assert known(listed)


def test_saying_the_same_in_setup_again_is_no_sign(listed: Store, clock: Clock) -> None:
    protocol(listed, clock).setup(setup_payload(UID), "http://127.0.0.1:9090")

    assert known(listed)


def test_the_command_line_asks_for_a_round_with_the_tasks_as_they_are(
    listed: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UHERDING_DATA_DIR", str(listed.data_dir))

    main(["round", str(PROJECT)])

    assert not known(listed)


def test_a_failed_round_is_followed_by_one_that_lists_the_tasks(
    worker: Worker, studio: FakeLabelStudio
) -> None:
    connected(worker.store)
    studio.fail("upload_predictions")

    worker.step()

    listing = worker.store.pool.listing(PROJECT)
    assert listing is not None
    assert not tasks_are_known(worker.store, PROJECT, listing.data_key, 30, listing.at + 1.0)
