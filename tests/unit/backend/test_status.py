from __future__ import annotations

import pytest

from tests.support.builders import (
    LISTING,
    PROJECT,
    connected,
    look_at,
    make_annotation,
    make_connection,
    make_settings,
    prepared,
    publish_round,
)
from uherding_backend.dashboard import _ago, render
from uherding_backend.labels import ProjectId, TaskId
from uherding_backend.project_data import progress
from uherding_backend.status import overview, project_status
from uherding_backend.store import Store
from uherding_backend.store.pool import Item


def status_of(store: Store) -> dict[str, object]:
    settings = make_settings(store.data_dir, round_size=5)
    return project_status(store, settings, store.projects.get(PROJECT))


def projects_page(store: Store) -> str:
    return render(
        "projects.html",
        1000.0,
        base="",
        can_change=False,
        projects=overview(store, make_settings(store.data_dir)),
        running={one["project"]: one for one in progress(store, 1000.0)},
    )


def test_the_state_tells_where_a_project_stands(store: Store) -> None:
    store.projects.connect(make_connection())
    states = [status_of(store)["state"]]
    prepared(store)
    states.append(status_of(store)["state"])
    publish_round(store)
    states.append(status_of(store)["state"])
    store.rounds.request(PROJECT, "asked for", 1.0)
    states.append(status_of(store)["state"])
    running = store.rounds.take(2.0)
    assert running is not None
    states.append(status_of(store)["state"])
    store.rounds.request(PROJECT, "asked for meanwhile", 2.0)
    states.append(status_of(store)["state"])
    store.rounds.failed(running.id, "no luck", 3.0)
    states.append(status_of(store)["state"])

    assert states == [
        "connecting",
        "a round is due",
        "queue is up",
        "a round is due",
        "running a round",
        "running a round",
        "a round is due",
    ]


def test_a_failed_round_is_the_problem_until_the_next_one(store: Store) -> None:
    connected(store)
    store.rounds.request(PROJECT, "asked for", 1.0)
    round_ = store.rounds.take(2.0)
    assert round_ is not None
    store.rounds.failed(round_.id, "no luck", 3.0)
    failed = status_of(store)

    publish_round(store)

    assert (failed["state"], failed["problem"]) == ("last round failed", "no luck")
    assert status_of(store)["problem"] == ""


def test_trouble_with_the_project_comes_first(store: Store) -> None:
    connected(store)

    store.projects.trouble(PROJECT, "Label Studio is down")

    assert status_of(store)["state"] == "in trouble"
    assert status_of(store)["problem"] == "Label Studio is down"


def test_another_task_sampling_is_a_problem_because_it_switches_the_queue_off(
    store: Store,
) -> None:
    connected(store)
    publish_round(store)
    look_at(store)
    fine = status_of(store)["problem"]

    look_at(store, sampling="Sequential sampling")

    assert fine == ""
    assert 'Task sampling was set to "Sequential sampling"' in str(status_of(store)["problem"])


def test_unreadable_images_are_listed_with_the_reason(store: Store) -> None:
    connected(store)
    store.pool.replace_items(PROJECT, {TaskId(1): "a", TaskId(2): "b"}, LISTING)
    store.pool.fetched(PROJECT, [Item(TaskId(2), "b", None, "<gone>")])
    round_ = publish_round(store)
    store.rounds.published(round_.id, {**round_.report, "unreadable": 1}, 1.0)

    page = projects_page(store)

    assert status_of(store)["unreadable"] == [{"task": 2, "problem": "<gone>"}]
    assert "task 2: &lt;gone&gt;" in page


def test_labels_are_counted_in_all_and_since_the_last_round(store: Store) -> None:
    connected(store, options={"round_size": 7})
    publish_round(store, labels={1: "bars"})
    for number in (1, 2, 3):
        store.pool.save_annotation(PROJECT, make_annotation(number, task=number))
    store.pool.save_annotation(PROJECT, make_annotation(4, task=4, answer=None, skipped=True))

    status = status_of(store)

    assert status["labels"] == 3
    assert status["set_aside"] == 1
    assert status["new_labels"] == 2
    assert status["round_size"] == 7
    assert status["classes"] == ["bars", "checks", "disc"]


def test_strategy_and_classifier_are_shown(store: Store) -> None:
    connected(store, options={"strategy": "badge-pam", "classifier": "mlp"})

    page = projects_page(store)

    status = status_of(store)
    assert (status["strategy"], status["classifier"]) == ("badge-pam", "mlp")
    assert "Strategy: <b>badge-pam</b>. Classifier: <b>mlp</b>." in page


def test_options_that_became_unusable_do_not_break_the_status(store: Store) -> None:
    connected(store)
    store.projects.connect(make_connection(options={"strategy": "gone", "round_size": 7}))

    status = status_of(store)

    assert (status["strategy"], status["classifier"]) == ("uherding", "linear")
    assert status["round_size"] == 5


def test_a_label_config_that_became_unusable_does_not_break_the_status(store: Store) -> None:
    connected(store, label_config="<View/>")

    status = status_of(store)

    assert status["classes"] == []
    assert status["round_size"] == 5


def test_disconnected_projects_are_not_listed(store: Store) -> None:
    connected(store, 1)
    connected(store, 2)
    store.projects.disconnect(ProjectId(1))

    listed = overview(store, make_settings(store.data_dir))

    assert [project["id"] for project in listed] == [2]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s ago"),
        (119, "119 s ago"),
        (120, "2 min ago"),
        (7200, "2 h ago"),
        (200_000, "2 d ago"),
        (-5, "0 s ago"),
    ],
)
def test_times_read_as_people_say_them(seconds: float, words: str) -> None:
    assert _ago(1000.0, 1000.0 + seconds) == words


def test_what_has_not_happened_has_no_time() -> None:
    assert _ago(None, 1000.0) == ""


@pytest.mark.parametrize(("accuracy", "words"), [(0.875, "87.5 %"), (None, "<b>-</b>")])
def test_the_page_shows_the_accuracy_where_it_was_measured(
    store: Store, accuracy: float | None, words: str
) -> None:
    connected(store)
    round_ = publish_round(store)
    store.rounds.published(round_.id, {**round_.report, "accuracy": accuracy}, 1.0)

    page = projects_page(store)

    assert words in page
    assert "There are no labels yet." in page


def test_a_project_without_any_round_has_a_page(store: Store) -> None:
    store.projects.connect(make_connection())

    page = projects_page(store)

    assert "connecting" in page
