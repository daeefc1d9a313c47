from __future__ import annotations

import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from tests.support.builders import (
    KINDS,
    LABEL_CONFIG,
    LISTING,
    PROJECT,
    connected,
    look_at,
    make_annotation,
    make_connection,
    make_entry,
    prepared,
    publish_round,
)
from tests.support.fake_label_studio import Killed
from uherding_backend.errors import UnknownProjectError
from uherding_backend.labels import ProjectId, TaskId
from uherding_backend.store import RoundState, Store
from uherding_backend.store.counts import Counts
from uherding_backend.store.database import Database
from uherding_backend.store.migrations import MIGRATIONS
from uherding_backend.store.pool import Item
from uherding_backend.store.round_records import RoundId


def test_connecting_the_same_project_twice_changes_nothing(store: Store) -> None:
    store.projects.connect(make_connection())
    prepared(store, notes=["a note"])
    before = store.projects.get(PROJECT)

    store.projects.connect(make_connection())

    assert store.projects.get(PROJECT) == before
    assert before.prepared


def test_connecting_after_a_disconnect_means_preparing_again(store: Store) -> None:
    connected(store)
    store.projects.disconnect(PROJECT)

    store.projects.connect(make_connection())

    assert store.projects.get(PROJECT).active
    assert not store.projects.get(PROJECT).prepared


def test_another_label_config_is_noted_until_a_round_takes_it_in(store: Store) -> None:
    connected(store)

    store.projects.connect(make_connection(label_config=LABEL_CONFIG.replace("disc", "ring")))
    noted = store.projects.get(PROJECT).tasks_changed
    look_at(store, 5.0)
    still_noted = store.projects.get(PROJECT).tasks_changed
    store.projects.changes_taken_in(PROJECT)

    assert noted
    assert still_noted
    assert not store.projects.get(PROJECT).tasks_changed


def test_a_wish_to_look_stays_until_somebody_looked(store: Store) -> None:
    connected(store)
    look_at(store, 5.0)

    store.projects.heard(PROJECT, 6.0, look=True)
    store.projects.heard(PROJECT, 7.0, look=False)

    project = store.projects.get(PROJECT)
    assert project.look
    assert project.heard_at == 7.0


def test_an_unknown_project_is_refused_with_how_to_connect_it(store: Store) -> None:
    with pytest.raises(UnknownProjectError, match="uherding connect 77"):
        store.projects.get(ProjectId(77))


def test_asking_again_while_a_round_waits_changes_nothing(store: Store) -> None:
    connected(store)

    first = store.rounds.request(PROJECT, "one", 1.0)
    second = store.rounds.request(PROJECT, "two", 2.0)

    assert (first, second) == (True, False)
    assert [round_.reason for round_ in store.rounds.latest(PROJECT)] == ["one"]


def test_a_round_can_be_asked_for_while_another_runs(store: Store) -> None:
    connected(store)
    store.rounds.request(PROJECT, "one", 1.0)
    store.rounds.take(2.0)

    assert store.rounds.request(PROJECT, "two", 3.0)


def test_the_round_that_waited_longest_is_taken_and_only_once(store: Store) -> None:
    for project in (1, 2):
        connected(store, project)
    store.rounds.request(ProjectId(2), "earlier", 1.0)
    store.rounds.request(ProjectId(1), "later", 2.0)

    taken = [store.rounds.take(3.0) for _ in range(3)]

    assert [round_.project if round_ else None for round_ in taken] == [2, 1, None]
    assert taken[0] is not None
    assert taken[0].state is RoundState.RUNNING
    assert taken[0].started_at == 3.0


def test_rounds_of_projects_that_are_not_ready_wait(store: Store) -> None:
    store.projects.connect(make_connection(1))
    connected(store, 2)
    store.projects.disconnect(ProjectId(2))
    for project in (1, 2):
        store.rounds.request(ProjectId(project), "asked for", 1.0)

    assert store.rounds.take(2.0) is None


def test_two_threads_never_take_the_same_round(store: Store) -> None:
    connected(store)
    store.rounds.request(PROJECT, "one", 1.0)
    taken: list[object] = []
    barrier = threading.Barrier(4)

    def take() -> None:
        barrier.wait()
        taken.append(store.rounds.take(2.0))

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum(round_ is not None for round_ in taken) == 1


def test_a_round_left_running_is_put_back_in_line_with_its_queue(store: Store) -> None:
    connected(store)
    round_ = running_and_ranked(store)

    recovered = store.rounds.recover()

    assert [found.id for found in recovered] == [round_]
    again = store.rounds.take(9.0)
    assert again is not None
    assert (again.id, again.version) == (round_, "v1")


def running_and_ranked(store: Store) -> int:
    store.rounds.request(PROJECT, "one", 1.0)
    round_ = store.rounds.take(2.0)
    assert round_ is not None
    store.rounds.ranked(
        round_.id, version="v1", queue=[make_entry(1)], labels={}, report={"queue": 1}
    )
    return round_.id


def test_a_waiting_round_is_merged_into_the_interrupted_one_which_ranks_afresh(
    store: Store,
) -> None:
    connected(store)
    interrupted = running_and_ranked(store)
    store.rounds.request(PROJECT, "two", 3.0)

    store.rounds.recover()

    (merged,) = store.rounds.latest(PROJECT)
    assert merged.id == interrupted
    assert merged.state is RoundState.DUE
    assert merged.version == ""


def test_storing_a_ranking_again_replaces_it(store: Store) -> None:
    connected(store)
    store.rounds.request(PROJECT, "one", 1.0)
    round_ = store.rounds.take(2.0)
    assert round_ is not None
    for tasks in ((5, 6, 7), (8,)):
        store.rounds.ranked(
            round_.id,
            version="v",
            queue=[make_entry(task) for task in tasks],
            labels={TaskId(task): "bars" for task in tasks},
            report={},
        )

    assert [entry.task for entry in store.rounds.queue(round_.id)] == [8]
    assert store.rounds.labels(round_.id) == {8: "bars"}


def test_the_last_published_round_is_not_a_failed_one(store: Store) -> None:
    connected(store)
    published = publish_round(store)
    store.rounds.request(PROJECT, "two", 3.0)
    failing = store.rounds.take(4.0)
    assert failing is not None

    store.rounds.failed(failing.id, "no luck", 5.0)

    assert store.rounds.last_published(PROJECT) == published
    newest = store.rounds.latest(PROJECT)[0]
    assert (newest.state, newest.error, newest.finished_at) == (RoundState.FAILED, "no luck", 5.0)


def test_what_runs_says_how_far_it_is(store: Store) -> None:
    connected(store)
    round_ = running_and_ranked(store)

    store.rounds.progress(store.rounds.latest(PROJECT)[0].id, "features", 0.5, 1.0)

    running = store.rounds.latest(PROJECT)[0]
    assert (running.id, running.step, running.progress) == (round_, "features", 0.5)


def test_an_older_annotation_does_not_overwrite_a_newer_one(store: Store) -> None:
    newer = make_annotation(1, answer="disc", updated="2026-01-02T00:00:00Z")
    older = make_annotation(1, answer="bars", updated="2026-01-01T00:00:00Z")

    store.pool.save_annotation(PROJECT, newer)
    store.pool.save_annotation(PROJECT, older)

    assert store.pool.annotations(PROJECT) == [newer]


def test_a_newer_annotation_replaces_an_older_one(store: Store) -> None:
    older = make_annotation(1, answer="bars", updated="2026-01-01T00:00:00Z")
    newer = make_annotation(1, answer=None, skipped=True, updated="2026-01-02T00:00:00Z")

    store.pool.save_annotation(PROJECT, older)
    store.pool.save_annotation(PROJECT, newer)

    assert store.pool.annotations(PROJECT) == [newer]


def test_annotations_of_different_projects_do_not_mix(store: Store) -> None:
    store.pool.save_annotation(ProjectId(1), make_annotation(1))
    store.pool.save_annotation(ProjectId(2), make_annotation(1, answer="disc"))

    store.pool.delete_annotations(ProjectId(1), [1])

    assert store.pool.annotations(ProjectId(1)) == []
    assert len(store.pool.annotations(ProjectId(2))) == 1


def test_the_export_replaces_every_annotation(store: Store) -> None:
    store.pool.save_annotation(PROJECT, make_annotation(1))

    store.pool.replace_annotations(PROJECT, [make_annotation(2), make_annotation(3, task=2)])

    assert [annotation.id for annotation in store.pool.annotations(PROJECT)] == [2, 3]


def test_an_unchanged_image_keeps_its_hash_and_a_changed_one_loses_it(store: Store) -> None:
    store.pool.replace_items(PROJECT, {TaskId(1): "a", TaskId(2): "b", TaskId(3): "c"}, LISTING)
    items = store.pool.items(PROJECT)
    hashed = [Item(item.task, item.image, f"hash {item.task}", "") for item in items]
    store.pool.fetched(PROJECT, hashed)

    store.pool.replace_items(PROJECT, {TaskId(1): "a", TaskId(2): "new", TaskId(4): "d"}, LISTING)

    assert store.pool.items(PROJECT) == [
        Item(TaskId(1), "a", "hash 1", ""),
        Item(TaskId(2), "new", None, ""),
        Item(TaskId(4), "d", None, ""),
    ]
    assert len(store.pool.items(PROJECT)) == 3


def test_an_existing_file_is_opened_as_it_is(store: Store) -> None:
    connected(store)
    publish_round(store)
    before = store.projects.all(), store.rounds.latest(PROJECT)

    reopened = Store(store.data_dir)

    assert (reopened.projects.all(), reopened.rounds.latest(PROJECT)) == before


def test_a_file_of_an_older_release_gets_only_the_migrations_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = Store(tmp_path)
    connected(old)
    newer = (*MIGRATIONS, "ALTER TABLE projects ADD COLUMN colour TEXT NOT NULL DEFAULT 'blue'")
    monkeypatch.setattr("uherding_backend.store.database.MIGRATIONS", newer)

    migrated = Store(tmp_path)
    Store(tmp_path)

    row = migrated.database.row("SELECT id, colour FROM projects")
    assert row is not None
    assert tuple(row) == (1, "blue")
    version = migrated.database.row("PRAGMA user_version")
    assert version is not None
    assert version[0] == len(newer)


def test_a_migration_that_fails_half_way_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected(Store(tmp_path))
    broken = (*MIGRATIONS, "CREATE TABLE extra (a); THIS IS NOT SQL")
    with monkeypatch.context() as patch:
        patch.setattr("uherding_backend.store.database.MIGRATIONS", broken)
        with pytest.raises(sqlite3.OperationalError):
            Store(tmp_path)

    reopened = Store(tmp_path)

    assert len(reopened.projects.all()) == 1
    assert reopened.database.row("SELECT 1 FROM sqlite_master WHERE name = 'extra'") is None


def test_only_the_owner_can_read_the_file_with_the_tokens(store: Store) -> None:
    mode = (store.data_dir / "uherding.sqlite").stat().st_mode

    assert stat.S_IMODE(mode) == 0o600


def test_a_write_that_raises_leaves_nothing_behind(store: Store) -> None:
    connected(store)

    with pytest.raises(Killed):
        die_while_writing(store)

    assert store.projects.get(PROJECT).title == ""
    assert store.rounds.request(PROJECT, "the database is not locked", 1.0)


def die_while_writing(store: Store) -> None:
    with store.database.writing() as connection:
        connection.execute("UPDATE projects SET title = 'half'")
        raise Killed


LIFE: list[Callable[[Store], object]] = [
    lambda store: store.rounds.request(PROJECT, "one", 1.0),
    lambda store: store.rounds.take(2.0),
    lambda store: store.rounds.progress(newest(store), "features", 0.5, 1.0),
    lambda store: store.rounds.ranked(
        newest(store), version="v", queue=[make_entry(1)], labels={TaskId(2): "bars"}, report={}
    ),
    lambda store: store.rounds.renamed(newest(store), "v2"),
    lambda store: store.rounds.published(newest(store), {"queue": 1}, 3.0),
]


def newest(store: Store) -> RoundId:
    return store.rounds.latest(PROJECT)[0].id


@pytest.mark.parametrize("survived", range(len(LIFE) + 1))
@pytest.mark.parametrize("inside", [False, True])
def test_killed_between_or_inside_writes_a_round_is_taken_up_again_and_published_once(
    store: Store, monkeypatch: pytest.MonkeyPatch, survived: int, inside: bool
) -> None:
    connected(store)
    for write in LIFE[:survived]:
        write(store)
    if inside and survived < len(LIFE):
        with monkeypatch.context() as patch:
            patch.setattr(Database, "writing", killed_before_commit(Database.writing))
            with pytest.raises(Killed):
                LIFE[survived](store)

    reopened = Store(store.data_dir)
    left = [round_.state for round_ in reopened.rounds.latest(PROJECT)]
    reopened.rounds.recover()
    reopened.rounds.request(PROJECT, "again", 4.0)
    round_ = reopened.rounds.take(5.0)
    assert round_ is not None
    reopened.rounds.published(round_.id, {}, 6.0)

    expected = [[], [RoundState.DUE], *[[RoundState.RUNNING]] * 4, [RoundState.PUBLISHED]]
    assert left == expected[survived]
    states = [found.state for found in reopened.rounds.latest(PROJECT)]
    finished = 1 if survived < len(LIFE) else 2
    assert states == [RoundState.PUBLISHED] * finished


Writing = Callable[[Database], AbstractContextManager[sqlite3.Connection]]


def killed_before_commit(writing: Writing) -> Writing:
    @contextmanager
    def mortal(database: Database) -> Iterator[sqlite3.Connection]:
        with writing(database) as connection:
            yield connection
            raise Killed

    return mortal


def test_what_an_earlier_release_stored_can_be_read(
    tmp_path: Path,
) -> None:
    old = Database(tmp_path / "uherding.sqlite", MIGRATIONS[:1])
    old.write(
        "INSERT INTO projects (id, uid, label_studio_url, link_url, token, backend_url, "
        "label_config, options) VALUES (1, '1.1', '', '', '', '', ?, '{\"round_size\": 9}')",
        LABEL_CONFIG,
    )
    for task, answer in ((7, "bars"), (8, "disc"), (9, "no such class")):
        values = (1, 5 + task, task, answer, 0, 1, "2026")
        old.write("INSERT INTO annotations VALUES (?, ?, ?, ?, ?, ?, ?)", *values)
        old.write("INSERT INTO items VALUES (1, ?, 'a.png', NULL, '')", task)
    old.write("INSERT INTO queue VALUES (3, 0, 7, 0.5, 0.9, 'bars', 0.6)")
    old.write("INSERT INTO round_labels VALUES (3, 7, 'bars')")
    old.write(
        "INSERT INTO rounds (id, project_id, state, reason, requested_at, finished_at) "
        "VALUES (3, 1, 'published', 'first queue', 1, 2)"
    )

    store = Store(tmp_path)

    project = store.projects.get(PROJECT)
    assert (project.options, project.chosen, project.paused) == ({"round_size": 9}, {}, False)
    assert store.pool.annotations(PROJECT)[0].author == ""
    assert store.rounds.queue(RoundId(3))[0].company == 0
    assert store.rounds.insights(RoundId(3)) == {}
    assert store.rounds.history(PROJECT)[0].measured == {}
    assert store.rounds.class_history(PROJECT) == [(RoundId(3), [])]
    assert store.counts.get(PROJECT) == Counts(KINDS, tasks=3, labels=2, set_aside=1, new_labels=1)
