"""Real Label Studio: label -> webhook -> round -> the order that annotators get."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.live import LiveBackend, LiveLabelStudio, LiveProject, make_project
from uherding_backend.demo.annotator import Annotator
from uherding_backend.demo.dataset import CLASSES


def test_connecting_sets_the_project_up_and_publishes_a_first_queue(project: LiveProject) -> None:
    project.connect(round_size=5, queue_size=20)

    round_ = project.published(labels=0)

    state = project.state()
    assert state["sampling"] == "Uncertainty sampling"
    assert state["show_collab_predictions"] is False
    assert state["model_version"] == round_["version"]
    assert project.prediction_counts() == {round_["version"]: 20}
    hooks = project.studio.call("GET", f"/api/webhooks/?project={project.id}")
    assert [hook["url"] for hook in hooks] == [f"{project.backend.url}/webhook"]
    assert hooks[0]["send_for_all_actions"] is False
    assert "ANNOTATION_CREATED" in hooks[0]["actions"]
    assert any("sampling" in note for note in project.status()["notes"])


def test_queue_predictions_do_not_tick_the_form(project: LiveProject) -> None:
    project.connect(round_size=5, queue_size=20)
    project.published()

    first = project.annotator.next_task()

    assert first is not None
    stored = project.studio.call("GET", f"/api/predictions/?task={first['id']}")
    assert [prediction["result"] for prediction in stored] == [[]]


def test_one_annotator_gets_exactly_the_published_order_over_two_rounds(
    project: LiveProject,
) -> None:
    project.connect(round_size=6, queue_size=20)
    cold = project.published(labels=0)
    cold_queue = project.queue()

    served_cold = project.label(6)
    first = project.published(after=cold["id"], labels=6)
    first_queue = project.queue()
    served_first = project.label(6)
    project.published(after=first["id"], labels=12)
    second_queue = project.queue()
    served_second = project.label(3)

    assert served_cold == cold_queue[:6]
    assert served_first == first_queue[:6]
    assert served_second == second_queue[:3]
    assert first_queue[:14] != cold_queue[6:]


def test_two_annotators_in_turn_get_disjoint_tasks_best_first(project: LiveProject) -> None:
    project.connect(round_size=50, queue_size=20)
    project.published()
    people = [project.annotator, project.person()]

    served = []
    for turn in range(10):
        served += project.label(1, by=people[turn % 2])

    assert served == project.queue()[:10]


def test_three_annotators_in_parallel_stay_inside_the_queues_and_lose_nothing(
    real_label_studio: LiveLabelStudio,
    shared_backend: LiveBackend,
    record_property: Callable[[str, object], None],
) -> None:
    project = make_project(real_label_studio, shared_backend, images=120)
    project.connect(round_size=10, queue_size=45)
    project.published()
    queued: set[int] = set(project.queue())
    people = [project.annotator, project.person(), project.person()]
    served: list[list[int]] = [[], [], []]
    errors: list[BaseException] = []

    def work(person: Annotator, mine: list[int]) -> None:
        try:
            for _ in range(14):
                mine += project.label(1, by=person)
        except BaseException as error:  # noqa: BLE001 - shown by the assertion below
            errors.append(error)

    threads = [
        threading.Thread(target=work, args=pair) for pair in zip(people, served, strict=True)
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        queued |= set(project.queue())
        threads[0].join(0.2)
        for thread in threads:
            thread.join(0.05)
    queued |= set(project.queue())

    assert not errors
    given = [task for mine in served for task in mine]
    assert set(given) <= queued
    twice = {task: count for task, count in Counter(given).items() if count > 1}
    record_property("tasks that Label Studio served to two people at once", len(twice))
    assert all(len(set(mine)) == len(mine) for mine in served), "one person got a task twice"
    assert len(twice) <= 6, "more than SQLite's missing row locks explain"
    exported = project.annotator.exported()
    assert sum(len(answers) for answers in exported.values()) == len(given) == 42
    final = project.wait(
        lambda: _settled(project, labels=len(set(given)), round_size=10),
        "round with all but the last few labels",
    )
    assert not [r for r in final["rounds"] if r["state"] == "failed"]


def _settled(project: LiveProject, labels: int, round_size: int) -> dict[str, Any] | None:
    """The project's status once every label is known and fewer than a round's worth are unused."""
    status = project.status()
    used = status["published"]["report"]["labels"]
    return status if status["labels"] == labels and used > labels - round_size else None


def test_the_queue_is_switched_at_once_while_people_label(project: LiveProject) -> None:
    """Before the switch every task is from the old queue, after it from the new one."""
    project.connect(round_size=5, queue_size=30)
    cold = project.published()
    old_queue = project.queue()
    served: list[tuple[str, str, int]] = []
    for _ in range(12):
        before = project.annotator.shown_version()
        task = project.label(1)[0]
        served.append((before, project.annotator.shown_version(), task))

    new = project.published(after=cold["id"])

    switched = [entry for entry in served if entry[0] != cold["version"]]
    unswitched = [task for before, after, task in served if before == after == cold["version"]]
    assert unswitched == old_queue[: len(unswitched)]
    assert len(switched) + len(unswitched) >= len(served) - 2
    assert new["report"]["labels"] >= 5


def test_start_training_in_label_studio_starts_a_round(project: LiveProject) -> None:
    project.connect(round_size=50, queue_size=20)
    cold = project.published()
    project.label(2)
    backend_id = project.studio.call("GET", f"/api/ml?project={project.id}")[0]["id"]

    project.studio.call("POST", f"/api/ml/{backend_id}/train", {})

    round_ = project.published(after=cold["id"], labels=2)
    assert round_["reason"] == "asked for with Start Training"


def test_a_skipped_task_is_no_label_and_leaves_the_queue(project: LiveProject) -> None:
    project.connect(round_size=3, queue_size=20)
    cold = project.published()
    task = project.annotator.next_task()
    assert task is not None

    project.annotator.skip(task["id"])
    project.label(3)

    round_ = project.published(after=cold["id"], labels=3)
    assert round_["report"]["set_aside"] == 1
    assert task["id"] not in project.queue()


def test_updated_and_deleted_annotations_are_honoured(project: LiveProject) -> None:
    project.connect(round_size=50, queue_size=20)
    cold = project.published()
    kept, changed, deleted = project.label(3)
    export = project.studio.call("GET", f"/api/projects/{project.id}/export?exportType=JSON")
    ids = {task["id"]: task["annotations"][0]["id"] for task in export}
    result = [
        {
            "from_name": "label",
            "to_name": "image",
            "type": "choices",
            "value": {"choices": ["Bag"]},
        }
    ]

    project.studio.call("PATCH", f"/api/annotations/{ids[changed]}/", {"result": result})
    project.studio.call("DELETE", f"/api/annotations/{ids[deleted]}/")
    project.ask_for_round()

    round_ = project.published(after=cold["id"], labels=2)
    labels = project.backend.store.rounds.labels(round_["id"])
    assert set(labels) == {kept, changed}
    assert labels[changed] == "Bag"  # type: ignore[index]
    assert deleted in project.queue()


def test_several_annotations_of_a_task_are_resolved_and_disagreement_is_counted(
    project: LiveProject,
) -> None:
    project.connect(round_size=50, queue_size=20)
    cold = project.published()
    task = project.queue()[0]

    for answer in ("Coat", "Shirt", "Coat"):
        project.annotator.submit(task, answer)
    project.ask_for_round()

    round_ = project.published(after=cold["id"], labels=1)
    assert project.backend.store.rounds.labels(round_["id"]) == {task: "Coat"}
    assert round_["report"]["disagreements"] == 1


def test_newly_imported_tasks_reach_the_queue(project: LiveProject) -> None:
    project.connect(round_size=50, queue_size=100)
    cold = project.published()

    new = project.import_images(30)

    round_ = project.published(after=cold["id"], pool=90)
    assert round_["reason"] == "tasks or label config changed"
    assert set(new) <= set(project.queue())


def test_a_changed_label_config_is_taken_in(project: LiveProject) -> None:
    project.connect(round_size=4, queue_size=30)
    cold = project.published()
    project.label(4)
    first = project.published(after=cold["id"], labels=4)
    config = project.state()["label_config"].replace(
        "</Choices>", '<Choice value="Hat"/></Choices>'
    )

    project.studio.call("PATCH", f"/api/projects/{project.id}", {"label_config": config})

    project.published(after=first["id"], labels=4)
    assert project.status()["classes"][-1] == "Hat"


def test_two_projects_have_queues_of_their_own(
    real_label_studio: LiveLabelStudio, shared_backend: LiveBackend
) -> None:
    one = make_project(real_label_studio, shared_backend, images=40)
    other = make_project(real_label_studio, shared_backend, images=40)
    one.connect(round_size=4, queue_size=10)
    other.connect(round_size=50, queue_size=12)
    cold, other_cold = one.published(), other.published()

    cold_queue = one.queue()
    served = one.label(4)
    one.published(after=cold["id"], labels=4)

    assert served == cold_queue[:4]
    assert other.status()["published"]["id"] == other_cold["id"]
    assert not set(one.queue()) & set(other.queue())
    assert other.label(1) == other.queue()[:1]


def test_somebody_elses_model_version_is_replaced_once_and_then_respected(
    project: LiveProject,
) -> None:
    project.connect(round_size=50, queue_size=20)
    ours = project.published()["version"]
    foreign = {"task": project.queue()[0], "result": [], "score": 0.5, "model_version": "theirs"}
    project.studio.call("POST", f"/api/projects/{project.id}/import/predictions", [foreign])

    def set_theirs() -> None:
        project.studio.call("PATCH", f"/api/projects/{project.id}", {"model_version": "theirs"})

    set_theirs()
    project.wait(
        lambda: True if project.annotator.shown_version() == ours else None, "our queue again"
    )
    set_theirs()

    looked_at = project.backend.store.projects.get(project.id).looked_at  # type: ignore[arg-type]
    project.wait(
        lambda: (
            True
            if project.backend.store.projects.get(project.id).looked_at > looked_at + 1  # type: ignore[arg-type]
            else None
        ),
        "another look",
    )
    assert project.annotator.shown_version() == "theirs"


def test_predictions_for_tasks_in_the_pool_and_for_unseen_images(project: LiveProject) -> None:
    project.connect(round_size=12, queue_size=30)
    cold = project.published()
    project.label(12)
    round_ = project.published(after=cold["id"], labels=12)
    first = project.queue()[0]
    uid = project.backend.store.projects.get(project.id).uid  # type: ignore[arg-type]
    unseen = {"id": 10**9, "data": {"image": "/data/local-files/?d=images/0150.png"}}

    answer = project.backend.call(
        "POST", "/predict", {"project": uid, "tasks": [{"id": first, "data": {}}, unseen]}
    )

    assert answer["model_version"] == round_["version"]
    known, new = answer["results"]
    assert known["score"] == pytest.approx(1 / 31)
    assert new["score"] == 1.0
    for result in (known["result"][0], new["result"][0]):
        assert result["value"]["choices"][0] in CLASSES
        assert 0 < result["score"] <= 1
