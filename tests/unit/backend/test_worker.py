from __future__ import annotations

import logging
import threading

import pytest

from tests.support.builders import (
    LABEL_CONFIG,
    PROJECT,
    Clock,
    connected,
    data_uri,
    kind_of,
    make_connection,
    make_settings,
    pictures,
    webhook_payload,
)
from tests.support.fake_label_studio import FakeLabelStudio, Killed
from uherding_backend.changing import Changes
from uherding_backend.errors import LabelStudioError
from uherding_backend.images_source import ImageSource
from uherding_backend.labels import ProjectId, TaskId
from uherding_backend.protocol import Protocol
from uherding_backend.store import Round, RoundState, Store
from uherding_backend.store.database import Database
from uherding_backend.worker import IDLE_SECONDS, PAUSE_AFTER_ERROR_SECONDS, Worker

QUEUE_SIZE = 18  # three rounds of 6 labels


def label(studio: FakeLabelStudio, count: int) -> list[TaskId]:
    """Have one annotator answer so many tasks rightly, in the order he gets them."""
    answered = []
    for _ in range(count):
        task = studio.next_task()
        assert task is not None
        studio.submit(task, kind_of(task))
        answered.append(task)
    return answered


def poll(worker: Worker, clock: Clock) -> bool:
    clock.now += worker.settings.poll_seconds + 1
    return worker.step()


def latest(worker: Worker, project: int = PROJECT) -> Round:
    return worker.store.rounds.latest(ProjectId(project))[0]


def published_versions(worker: Worker) -> list[str]:
    rounds = worker.store.rounds.latest(PROJECT)
    return [round_.version for round_ in rounds if round_.state is RoundState.PUBLISHED]


def test_a_new_project_gets_its_first_queue_without_any_label(
    worker: Worker, studio: FakeLabelStudio
) -> None:
    connected(worker.store)

    assert worker.step()

    assert latest(worker).reason == "first queue"
    assert latest(worker).state is RoundState.PUBLISHED
    assert studio.projects[1].model_version == latest(worker).version
    assert len(studio.queue()) == QUEUE_SIZE
    assert not worker.step()


def test_a_project_is_prepared_before_its_first_round(
    worker: Worker, studio: FakeLabelStudio
) -> None:
    connected(worker.store)
    worker.store.projects.connect(make_connection(backend_url="http://127.0.0.1:9191"))

    worker.step()

    assert studio.projects[1].sampling == "Uncertainty sampling"
    assert [hook.url for hook in studio.webhooks(PROJECT)] == ["http://127.0.0.1:9191/webhook"]
    assert worker.store.projects.get(PROJECT).prepared
    assert latest(worker).state is RoundState.PUBLISHED


def test_features_are_learned_when_the_project_has_none_yet(
    store: Store, studio: FakeLabelStudio, clock: Clock
) -> None:
    connected(store)
    worker = Worker(store, make_settings(store.data_dir), clock, lambda _: studio)

    worker.step()

    assert latest(worker).error == ""
    assert len(studio.queue()) == QUEUE_SIZE
    learned = store.projects.get(PROJECT).extractor
    assert (store.project_dir(PROJECT) / f"{learned.version}.npz").exists()


def test_annotators_get_the_tasks_in_the_order_of_the_stored_queue(
    worker: Worker, studio: FakeLabelStudio
) -> None:
    connected(worker.store)
    worker.step()

    answered = label(studio, QUEUE_SIZE)

    stored = worker.store.rounds.queue(latest(worker).id)
    assert answered == [entry.task for entry in stored]


def test_another_round_follows_after_round_size_labels_and_leaves_the_labelled_out(
    worker: Worker, studio: FakeLabelStudio, clock: Clock
) -> None:
    connected(worker.store)
    worker.step()
    first = published_versions(worker)
    answered = label(studio, 6)

    assert poll(worker, clock)

    assert latest(worker).reason == "6 new labels"
    assert latest(worker).report["labels"] == 6
    assert studio.projects[1].model_version not in first
    queued = [entry.task for entry in worker.store.rounds.queue(latest(worker).id)]
    assert not set(queued) & set(answered)


def test_the_report_has_the_seconds_of_every_step_and_those_of_label_studio(
    worker: Worker, studio: FakeLabelStudio
) -> None:
    connected(worker.store)
    calls = ("annotations", "images", "prediction_counts", "upload_predictions", "update_project")
    for method in calls:
        studio.before(method, lambda: takes_a_second(studio))

    worker.step()

    report = latest(worker).report
    assert list(report["seconds"]) == [
        *("labels", "tasks", "features", "classifier", "calibration", "selection", "insights"),
        *("storing", "uploading", "switching", "map"),
    ]
    assert report["label_studio_seconds"] == {
        "labels": 1.0,
        "tasks": 1.0,
        "uploading": 2.0,
        "switching": 1.0,
    }


def takes_a_second(studio: FakeLabelStudio) -> None:
    studio.waited_seconds += 1.0


def test_one_label_too_few_makes_no_round(
    worker: Worker, studio: FakeLabelStudio, clock: Clock
) -> None:
    connected(worker.store)
    worker.step()
    label(studio, 5)

    assert not poll(worker, clock)

    assert len(published_versions(worker)) == 1


def test_labels_that_come_by_webhook_make_a_round_due_without_a_look(
    worker: Worker, studio: FakeLabelStudio, clock: Clock
) -> None:
    connected(worker.store)
    worker.step()
    protocol = Protocol(worker.store, worker.settings, clock, lambda _: studio)
    for task in label(studio, 6):
        annotation = studio.projects[1].annotations[max(studio.projects[1].annotations)]
        sent = {**annotation, "task": task, "id": 1000 + task}
        protocol.webhook(webhook_payload("ANNOTATION_CREATED", annotation=sent))
    looks = studio.calls.count("project")

    assert worker.step()

    assert latest(worker).reason == "6 new labels"
    assert studio.calls.count("project") == looks + 3  # the round's own: read, publish, read back


def test_start_training_makes_a_round_at_once(
    worker: Worker, studio: FakeLabelStudio, clock: Clock
) -> None:
    connected(worker.store)
    worker.step()
    protocol = Protocol(worker.store, worker.settings, clock, lambda _: studio)

    protocol.webhook(webhook_payload("START_TRAINING"))

    assert worker.step()
    assert latest(worker).reason == "asked for with Start Training"
    assert latest(worker).state is RoundState.PUBLISHED


def test_a_skipped_task_leaves_the_queue_with_the_next_round_and_is_no_label(
    worker: Worker, studio: FakeLabelStudio, clock: Clock
) -> None:
    connected(worker.store)
    worker.step()
    skipped = studio.queue()[0]
    studio.skip(skipped)
    worker.store.rounds.request(PROJECT, "asked for", clock())

    poll(worker, clock)

    assert skipped not in studio.queue()
    assert latest(worker).report["set_aside"] == 1
    assert latest(worker).report["labels"] == 0


def test_a_changed_and_a_deleted_annotation_are_honoured(
    worker: Worker, studio: FakeLabelStudio, clock: Clock
) -> None:
    connected(worker.store)
    worker.step()
    changed, deleted = studio.queue()[:2]
    changed_annotation = studio.submit(changed, "disc")
    deleted_annotation = studio.submit(deleted, "disc")
    worker.store.rounds.request(PROJECT, "asked for", clock())
    poll(worker, clock)
    studio.change(changed_annotation, "bars")
    studio.delete_annotation(deleted_annotation)
    worker.store.rounds.request(PROJECT, "asked for", clock())

    poll(worker, clock)

    assert worker.store.rounds.labels(latest(worker).id) == {changed: "bars"}
    assert deleted in [entry.task for entry in worker.store.rounds.queue(latest(worker).id)]


def test_new_tasks_make_a_round_that_knows_them(
    worker: Worker, studio: FakeLabelStudio, clock: Clock
) -> None:
    connected(worker.store)
    worker.step()
    studio.add_tasks(pictures(4, first=101))

    assert poll(worker, clock)

    assert latest(worker).reason == "tasks or label config changed"
    assert latest(worker).report["pool"] == 34


def test_rounds_that_labels_make_due_do_not_list_the_tasks_again(
    worker: Worker, studio: FakeLabelStudio, clock: Clock
) -> None:
    connected(worker.store)
    worker.step()
    reports = [latest(worker).report]
    for _ in range(2):
        label(studio, 6)
        poll(worker, clock)
        reports.append(latest(worker).report)

    assert studio.calls.count("images") == 1
    assert [report["labels"] for report in reports] == [0, 6, 12]
    assert {report["pool"] for report in reports} == {30}
    assert "tasks" not in reports[-1]["seconds"]


def test_as_many_tasks_as_before_are_listed_again_when_they_are_others(
    worker: Worker, studio: FakeLabelStudio, clock: Clock
) -> None:
    connected(worker.store)
    worker.step()
    protocol = Protocol(worker.store, worker.settings, clock, lambda _: studio)
    del studio.projects[1].tasks[TaskId(30)]
    (added,) = studio.add_tasks(pictures(1, first=101))
    clock.now += 1.0
    protocol.webhook(webhook_payload("TASKS_DELETED"))
    label(studio, 6)

    poll(worker, clock)

    assert latest(worker).reason == "6 new labels"
    assert added in [item.task for item in worker.store.pool.items(PROJECT)]


def test_whoever_asks_for_a_round_gets_the_tasks_as_they_are(
    worker: Worker, studio: FakeLabelStudio, clock: Clock
) -> None:
    connected(worker.store)
    worker.step()
    clock.now += 1.0
    Changes(worker.settings, worker.store, clock).request_round(PROJECT, "user", "Ann")

    worker.step()

    assert studio.calls.count("images") == 2


def test_only_new_images_are_computed(
    worker: Worker, studio: FakeLabelStudio, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected(worker.store)
    worker.step()
    studio.add_tasks(pictures(2, first=101))
    fetched: list[int] = []
    fetch = ImageSource.fetch

    def watched(source: ImageSource, task: TaskId, image: str) -> bytes:
        fetched.append(task)
        return fetch(source, task, image)

    monkeypatch.setattr(ImageSource, "fetch", watched)

    poll(worker, clock)

    assert sorted(fetched) == [31, 32]
    assert latest(worker).state is RoundState.PUBLISHED


def test_another_label_config_makes_a_round_with_its_classes(
    worker: Worker, studio: FakeLabelStudio, clock: Clock
) -> None:
    connected(worker.store)
    worker.step()
    task = label(studio, 1)[0]
    studio.projects[1].label_config = LABEL_CONFIG.replace(kind_of(task), "something else")

    assert poll(worker, clock)

    assert latest(worker).reason == "tasks or label config changed"
    assert latest(worker).report["unknown_classes"] == 1
    assert "something else" in worker.store.projects.get(PROJECT).label_config


def test_an_unreadable_image_is_recorded_and_the_others_are_queued(
    worker: Worker, studio: FakeLabelStudio
) -> None:
    broken, missing, crooked = studio.add_tasks([data_uri(b"no picture"), "", "http://[half"])
    connected(worker.store)

    worker.step()

    assert latest(worker).error == ""
    assert latest(worker).report["pool"] == 30
    assert latest(worker).report["unreadable"] == 3
    problems = {i.task: i.problem for i in worker.store.pool.items(PROJECT) if i.problem}
    assert problems.keys() == {broken, missing, crooked}
    assert "cannot be read as an image" in problems[broken]
    assert "no image address" in problems[missing]


def test_a_project_without_readable_images_says_so(
    store: Store, studio: FakeLabelStudio, clock: Clock
) -> None:
    worker = Worker(store, make_settings(store.data_dir), clock, lambda _: studio)
    studio.add_project([data_uri(b"no picture")] * 3)
    connected(worker.store)

    worker.step()

    assert latest(worker).state is RoundState.FAILED
    assert "Only 0 of the project's images can be read" in latest(worker).error


def test_a_failed_round_keeps_the_old_queue_and_is_tried_again_later(
    worker: Worker, studio: FakeLabelStudio, clock: Clock
) -> None:
    connected(worker.store)
    worker.step()
    old = studio.projects[1].model_version
    label(studio, 6)
    studio.fail("upload_predictions")

    poll(worker, clock)
    kept = studio.projects[1].model_version
    failed = latest(worker)
    too_early = worker.step()
    clock.now += 6
    retried = worker.step()

    assert (kept, failed.state) == (old, RoundState.FAILED)
    assert "did not answer" in failed.error
    assert not too_early
    assert retried
    assert latest(worker).reason == "trying again after a failure"
    assert latest(worker).state is RoundState.PUBLISHED
    assert studio.projects[1].model_version != old


def test_a_task_deleted_while_the_round_ran_fails_the_round_instead_of_showing_half(
    worker: Worker, studio: FakeLabelStudio, clock: Clock
) -> None:
    connected(worker.store)
    worker.step()
    old = studio.projects[1].model_version
    label(studio, 6)
    studio.before(
        "upload_predictions",
        lambda: studio.delete_task(worker.store.rounds.queue(latest(worker).id)[0].task),
    )

    poll(worker, clock)

    assert "kept 17 of 18 predictions" in latest(worker).error
    assert studio.projects[1].model_version == old


def test_somebody_else_switching_the_version_back_at_once_fails_the_round(
    worker: Worker, studio: FakeLabelStudio
) -> None:
    connected(worker.store)
    studio.after("update_project", lambda: setattr(studio.projects[1], "model_version", "theirs"))

    worker.step()

    assert "but shows 'theirs'" in latest(worker).error


def test_a_fault_in_a_round_is_logged_with_its_number_and_ends_only_the_round(
    worker: Worker, studio: FakeLabelStudio, caplog: pytest.LogCaptureFixture
) -> None:
    connected(worker.store)
    studio.fail("images", ZeroDivisionError("oh"))

    worker.step()

    assert latest(worker).error.startswith("ZeroDivisionError: oh. This is a fault of the backend")
    assert "round 1 failed" in caplog.text


@pytest.mark.parametrize(
    ("moment", "method", "call"),
    [
        ("before", "images", 1),
        ("before", "upload_predictions", 1),
        ("after", "upload_predictions", 1),
        ("before", "update_project", 1),
        ("after", "update_project", 1),
        ("before", "project", 4),
    ],
)
def test_a_round_killed_around_a_call_goes_on_and_shows_one_complete_version(
    worker: Worker, studio: FakeLabelStudio, moment: str, method: str, call: int
) -> None:
    connected(worker.store)
    getattr(studio, moment)(method, kill, call)
    with pytest.raises(Killed):
        worker.step()
    studio.heal()

    restarted = restart(worker)

    assert restarted.step()
    assert [round_.state for round_ in restarted.store.rounds.latest(PROJECT)] == [
        RoundState.PUBLISHED
    ]
    shown = studio.projects[1].model_version
    assert studio.prediction_counts(PROJECT) == {shown: QUEUE_SIZE}
    assert shown == latest(restarted).version
    assert not restarted.step()


def test_a_second_queue_killed_right_after_its_switch_is_neither_switched_back_nor_deleted(
    worker: Worker, studio: FakeLabelStudio, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    connected(worker.store)
    worker.step()
    worker.store.rounds.request(PROJECT, "asked for", clock())
    studio.after("update_project", kill)
    with pytest.raises(Killed):
        worker.step()
    studio.heal()
    shown = studio.projects[1].model_version
    clock.now += 3600.0  # time to look, and long idle

    restarted = restart(worker)
    restarted._attend(restarted.store.projects.get(PROJECT))
    kept = studio.projects[1].model_version
    restarted.step()

    assert kept == shown == latest(restarted).version == studio.projects[1].model_version
    assert studio.prediction_counts(PROJECT)[shown] == QUEUE_SIZE
    assert "model version was set to" not in caplog.text


def kill() -> None:
    raise Killed


def restart(worker: Worker) -> Worker:
    """Another process: nothing but the data directory is left."""
    fresh = Worker(Store(worker.store.data_dir), worker.settings, worker.clock, worker.connect)
    fresh.store.rounds.recover()
    return fresh


def test_an_upload_that_arrived_in_part_is_sent_again_under_another_name(
    worker: Worker, studio: FakeLabelStudio
) -> None:
    connected(worker.store)

    def half_arrives() -> None:
        del studio.projects[1].predictions[9:]
        raise Killed

    studio.after("upload_predictions", half_arrives)
    with pytest.raises(Killed):
        worker.step()
    spoilt = latest(worker).version
    studio.heal()

    restarted = restart(worker)
    restarted.step()

    shown = studio.projects[1].model_version
    assert shown != spoilt
    assert studio.prediction_counts(PROJECT) == {spoilt: 9, shown: QUEUE_SIZE}
    assert latest(restarted).state is RoundState.PUBLISHED


def test_a_round_killed_before_any_of_its_writes_ends_with_one_published_round(
    worker: Worker, studio: FakeLabelStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected(worker.store)
    write = Database.writing
    left = 0

    def mortal(database: Database) -> object:
        nonlocal left
        left -= 1
        if left == 0:
            raise Killed
        return write(database)

    kills = 0
    for survived in range(1, 60):
        monkeypatch.setattr(Database, "writing", mortal)
        left = survived
        try:
            worker.step()
        except Killed:
            kills += 1
        else:
            break
        finally:
            monkeypatch.setattr(Database, "writing", write)
        states = [round_.state for round_ in Store(worker.store.data_dir).rounds.latest(PROJECT)]
        assert states.count(RoundState.PUBLISHED) <= 1
        assert len(states) <= 1
        worker = restart(worker)

    assert kills > 8
    assert len(published_versions(worker)) == 1
    assert studio.projects[1].model_version == latest(worker).version
    assert len(studio.queue()) == QUEUE_SIZE
    assert studio.calls.count("upload_predictions") == 1


def test_a_round_asked_for_while_another_was_being_published_is_not_forgotten_by_a_crash(
    worker: Worker, studio: FakeLabelStudio, clock: Clock
) -> None:
    connected(worker.store)
    task = TaskId(7)

    def label_and_die() -> None:
        studio.submit(task, "bars")
        worker.store.rounds.request(PROJECT, "asked for with Start Training", clock())
        raise Killed

    studio.before("upload_predictions", label_and_die)
    with pytest.raises(Killed):
        worker.step()
    studio.heal()

    restarted = restart(worker)
    while restarted.step():
        pass

    assert restarted.store.rounds.labels(latest(restarted).id) == {task: "bars"}
    assert task not in studio.queue()


def test_a_foreign_model_version_is_replaced_once_and_then_respected(
    worker: Worker, studio: FakeLabelStudio, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    connected(worker.store)
    worker.step()
    ours = studio.projects[1].model_version

    studio.projects[1].model_version = "theirs"
    poll(worker, clock)
    after_once = studio.projects[1].model_version
    studio.projects[1].model_version = "theirs"
    poll(worker, clock)

    assert after_once == ours
    assert studio.projects[1].model_version == "theirs"
    assert caplog.text.count("model version was set to 'theirs'") == 1


def test_the_next_round_replaces_a_foreign_model_version(
    worker: Worker, studio: FakeLabelStudio, clock: Clock
) -> None:
    connected(worker.store)
    worker.step()
    for _ in range(2):
        studio.projects[1].model_version = "theirs"
        poll(worker, clock)
    worker.store.rounds.request(PROJECT, "asked for", clock())

    worker.step()

    assert studio.projects[1].model_version == latest(worker).version


def test_old_queues_are_deleted_while_idle_but_the_current_and_the_one_before_stay(
    worker: Worker, studio: FakeLabelStudio, clock: Clock
) -> None:
    connected(worker.store)
    studio.projects[1].predictions.append({"task": 1, "score": 0.5, "model_version": "theirs"})
    for _ in range(3):
        worker.store.rounds.request(PROJECT, "asked for", clock())
        worker.step()
        clock.now += 1
    before = set(studio.prediction_counts(PROJECT))

    clock.now += IDLE_SECONDS + 1
    worker.step()

    current, previous, oldest = published_versions(worker)
    assert before == {current, previous, oldest, "theirs"}
    assert set(studio.prediction_counts(PROJECT)) == {current, previous, "theirs"}


def test_old_queues_stay_while_labels_come_in(
    worker: Worker, studio: FakeLabelStudio, clock: Clock
) -> None:
    connected(worker.store)
    for _ in range(3):
        worker.store.rounds.request(PROJECT, "asked for", clock())
        worker.step()
        clock.now += 1
    clock.now += IDLE_SECONDS + 1
    worker.store.projects.heard(PROJECT, clock(), look=False)

    worker.step()

    assert "delete_version" not in studio.calls


def test_two_projects_are_served_without_mixing(
    worker: Worker, studio: FakeLabelStudio, clock: Clock
) -> None:
    studio.add_project(pictures(30, first=201), project=2)
    connected(worker.store, 1)
    connected(worker.store, 2)

    assert worker.step()
    assert worker.step()

    for project in (1, 2):
        tasks = studio.projects[project].tasks
        queued = studio.queue(project)
        assert len(queued) == QUEUE_SIZE
        assert set(queued) <= set(tasks)
        assert studio.projects[project].model_version.startswith(f"uherding-p{project}-")


def test_trouble_with_one_project_does_not_stop_another(
    worker: Worker, studio: FakeLabelStudio, clock: Clock
) -> None:
    connected(worker.store, 2)  # Label Studio does not know it
    connected(worker.store, 1)

    worker.step()

    assert latest(worker, 1).state is RoundState.PUBLISHED
    assert "refused" in worker.store.projects.get(ProjectId(2)).problem


def test_a_project_in_trouble_is_left_alone_for_a_while_and_then_recovers(
    worker: Worker, studio: FakeLabelStudio, clock: Clock
) -> None:
    connected(worker.store)
    studio.fail("project")
    worker.step()
    calls = len(studio.calls)

    worker.step()
    paused = len(studio.calls) == calls
    clock.now += PAUSE_AFTER_ERROR_SECONDS + 1
    recovered = worker.step()

    assert paused
    assert recovered
    assert worker.store.projects.get(PROJECT).problem == ""


def test_a_fault_while_attending_is_logged_and_shown(
    worker: Worker, studio: FakeLabelStudio, caplog: pytest.LogCaptureFixture
) -> None:
    connected(worker.store)
    studio.fail("project", RuntimeError("oh"))

    assert not worker.step()

    assert "A fault of the backend" in worker.store.projects.get(PROJECT).problem
    assert "RuntimeError: oh" in caplog.text


def test_a_disconnected_project_is_not_attended_to(
    worker: Worker, studio: FakeLabelStudio, clock: Clock
) -> None:
    connected(worker.store)
    worker.store.rounds.request(PROJECT, "asked for", clock())
    worker.store.projects.disconnect(PROJECT)

    assert not worker.step()

    assert studio.calls == []


def test_the_files_of_old_rounds_are_removed(
    worker: Worker, studio: FakeLabelStudio, clock: Clock
) -> None:
    connected(worker.store)
    for _ in range(4):
        worker.store.rounds.request(PROJECT, "asked for", clock())
        worker.step()

    left = sorted(path.name for path in worker.store.project_dir(PROJECT).glob("round-*"))

    assert left == ["round-3.npz", "round-4.npz"]


def test_prelabelled_queues_carry_the_predicted_class(
    worker: Worker, studio: FakeLabelStudio, clock: Clock
) -> None:
    connected(worker.store, options={"prelabel": True})
    worker.step()
    label(studio, 6)

    poll(worker, clock)

    shown = latest(worker).version
    ticked = [p["result"] for p in studio.projects[1].predictions if p["model_version"] == shown]
    assert len(ticked) == QUEUE_SIZE
    assert all(result[0]["value"]["choices"][0] in ("bars", "checks", "disc") for result in ticked)


def test_when_every_task_is_labelled_the_round_ends_with_an_empty_queue(
    worker: Worker, studio: FakeLabelStudio, clock: Clock
) -> None:
    connected(worker.store)
    worker.step()
    for task in studio.projects[1].tasks:
        studio.submit(task, kind_of(task))

    poll(worker, clock)

    assert latest(worker).error == ""
    assert latest(worker).report["queue"] == 0
    assert not poll(worker, clock)


def test_run_goes_on_with_an_interrupted_round_until_it_is_stopped(
    worker: Worker, studio: FakeLabelStudio, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    connected(worker.store)
    worker.store.rounds.request(PROJECT, "first queue", clock())
    worker.store.rounds.take(clock())
    stop = threading.Event()
    studio.after("update_project", stop.set)

    with caplog.at_level(logging.INFO):
        worker.run(stop)

    assert "going on with round 1" in caplog.text
    assert latest(worker).state is RoundState.PUBLISHED


def test_a_second_worker_waits_until_the_first_is_gone(
    worker: Worker, studio: FakeLabelStudio, caplog: pytest.LogCaptureFixture
) -> None:
    connected(worker.store)
    stop = threading.Event()

    with worker._alone(threading.Event()):
        second = threading.Thread(target=worker.run, args=(stop,))
        second.start()
        while "another worker uses" not in caplog.text:
            second.join(0.01)
        stop.set()
        second.join()

    assert studio.calls == []


def test_a_refused_look_names_the_reason_on_the_project(
    worker: Worker, studio: FakeLabelStudio
) -> None:
    connected(worker.store)
    studio.fail("project", LabelStudioError("Label Studio refused GET: token expired.", 401))

    worker.step()

    assert "token expired" in worker.store.projects.get(PROJECT).problem
