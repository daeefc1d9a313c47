"""Rounds with other strategies and classifiers; test_worker.py has everything else about rounds."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from model.calibration import softmax
from model.classifiers import image_size
from model.finetuning import FinetunedClassifier, Finetuning
from model.images import decode
from model.mlp import MlpClassifier
from model.names import STRATEGY_NAMES
from model.neighbours import NeighbourGraph
from model.strategies import STRATEGIES
from model.uncertainty import margin
from tests.support.builders import (
    FITTED_IMAGES,
    PROJECT,
    Clock,
    connected,
    kind_of,
    picture,
    pictures,
)
from tests.support.fake_label_studio import FakeLabelStudio, Killed
from uherding_backend import looking_ahead, pool_graph
from uherding_backend.errors import ImageError
from uherding_backend.images_source import ImageSource
from uherding_backend.labels import ProjectId, TaskId
from uherding_backend.outcome import Outcome, load_outcome, outcome_path
from uherding_backend.pool_graph import PoolGraph
from uherding_backend.rounds import RoundRunner
from uherding_backend.store import Round, RoundState, Store
from uherding_backend.store.rounds import RoundStore
from uherding_backend.training import CHECKPOINT
from uherding_backend.worker import Worker

FINETUNE = {"classifier": "finetune", "finetune_from": "resnet18:16", "finetune_epochs": 1}


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, float]]:
    """Steps and shares in the order in which rounds tell them."""
    said: list[tuple[str, float]] = []
    tell = RoundStore.progress

    def watched(store: RoundStore, round_id: Any, step: str, done: float, now: float) -> None:  # noqa: ANN401
        said.append((step, done))
        tell(store, round_id, step, done, now)

    monkeypatch.setattr(RoundStore, "progress", watched)
    return said


def label(studio: FakeLabelStudio, count: int) -> None:
    for task in range(1, count + 1):
        studio.submit(task, kind_of(task))


def run(worker: Worker) -> Round:
    """One more round, whether due or not."""
    worker.store.rounds.request(PROJECT, "asked for", worker.clock())
    assert worker.step()
    return worker.store.rounds.latest(PROJECT)[0]


def outcome_of(worker: Worker, round_: Round) -> Outcome:
    return load_outcome(outcome_path(worker.store, PROJECT, round_.id))


def watch_fetches(
    monkeypatch: pytest.MonkeyPatch, refuse: Callable[[TaskId], bool] = lambda _: False
) -> list[TaskId]:
    """The tasks whose images are fetched from now on; some cannot be had."""
    fetched: list[TaskId] = []
    fetch = ImageSource.fetch

    def watched(source: ImageSource, task: TaskId, image: str) -> bytes:
        fetched.append(task)
        if refuse(task):
            raise ImageError("The file is gone.")
        return fetch(source, task, image)

    monkeypatch.setattr(ImageSource, "fetch", watched)
    return fetched


@pytest.mark.parametrize("strategy", STRATEGY_NAMES)
def test_every_strategy_fills_the_queue_with_tasks_that_have_no_label(
    worker: Worker, studio: FakeLabelStudio, strategy: str
) -> None:
    connected(worker.store, options={"strategy": strategy, "queue_size": 7})
    label(studio, 12)

    round_ = run(worker)

    assert round_.error == ""
    assert round_.report["strategy"] == strategy
    queue = [entry.task for entry in worker.store.rounds.queue(round_.id)]
    assert studio.queue() == queue
    assert len(set(queue) - set(range(1, 13))) == 7


def test_margin_ranks_by_the_margins_without_temperature_and_calls_them_gain(
    worker: Worker, studio: FakeLabelStudio
) -> None:
    connected(worker.store, options={"strategy": "margin"})
    label(studio, 6)

    round_ = run(worker)

    found = outcome_of(worker, round_)
    queue = worker.store.rounds.queue(round_.id)
    expected = margin(found.probabilities[[found.tasks[entry.task] for entry in queue]])
    gains = [entry.gain for entry in queue]
    assert round_.report["temperature"] == 1.0
    assert gains == sorted(gains, reverse=True)
    assert gains[0] > gains[-1]
    np.testing.assert_allclose(gains, expected, atol=1e-6)


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every pool is large enough for a neighbour graph."""
    monkeypatch.setattr(pool_graph, "LEAST_IMAGES", 2)


@pytest.mark.usefixtures("large")
def test_the_neighbour_graph_of_a_large_pool_is_built_while_the_first_queue_is_labelled(
    worker: Worker, studio: FakeLabelStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected(worker.store, options={"queue_size": 24})
    first = run(worker)
    worker.step()
    prepared = graph_files(worker)
    monkeypatch.setattr(NeighbourGraph, "around", None)  # whoever builds another one fails
    for task in studio.queue():
        studio.submit(task, kind_of(task))

    second = run(worker)

    assert len(prepared) == 1
    assert second.error == ""
    assert "neighbours" not in first.report["seconds"]
    assert "neighbours" in second.report["seconds"]


@pytest.mark.usefixtures("large")
def test_a_large_pool_with_labels_has_its_graph_built_in_the_round(
    worker: Worker, studio: FakeLabelStudio
) -> None:
    connected(worker.store)
    label(studio, 6)

    round_ = run(worker)

    assert "neighbours" in round_.report["seconds"]
    assert len(graph_files(worker)) == 1


@pytest.mark.usefixtures("large")
def test_strategies_that_read_no_graph_have_none(worker: Worker, studio: FakeLabelStudio) -> None:
    connected(worker.store, options={"strategy": "margin"})
    rounds = [run(worker)]
    label(studio, 6)

    rounds.append(run(worker))

    assert "neighbours" not in {step for one in rounds for step in one.report["seconds"]}
    assert graph_files(worker) == []


@pytest.mark.usefixtures("large")
def test_images_drawn_for_the_audit_are_not_what_the_graph_is_built_around(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected: list[int] = []
    monkeypatch.setattr(PoolGraph, "prepare", lambda _, rows: expected.extend(rows))
    monkeypatch.setattr(looking_ahead, "EXPECTED", 5)
    connected(worker.store, options={"queue_size": 10, "audit_fraction": 0.3, "round_size": 8})

    round_ = run(worker)
    worker.step()

    row_of = outcome_of(worker, round_).tasks
    queue = worker.store.rounds.queue(round_.id)
    chosen = [row_of[entry.task] for entry in queue if not entry.audit]
    assert len(chosen) < len(queue)
    assert expected == chosen[:5]


@pytest.mark.usefixtures("large")
def test_a_worker_that_cannot_look_ahead_goes_on(
    worker: Worker, studio: FakeLabelStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected(worker.store)
    round_ = run(worker)
    with monkeypatch.context() as patch:
        patch.setattr(RoundStore, "last_published", None)

        looking_ahead.look_ahead(worker.store, PROJECT, round_size=6)

    label(studio, 6)
    assert round_.state is RoundState.PUBLISHED
    assert run(worker).report["labels"] == 6


@pytest.mark.usefixtures("large")
def test_no_round_that_is_due_waits_for_looking_ahead(
    worker: Worker, studio: FakeLabelStudio
) -> None:
    connected(worker.store)
    studio.add_project(pictures(FITTED_IMAGES), project=2)
    connected(worker.store, project=2)
    worker.store.rounds.request(ProjectId(2), "asked for", worker.clock() + 1.0)

    files = []
    for _ in range(4):
        done = worker.step()
        files.append((done, len(graph_files(worker)), len(graph_files(worker, project=2))))

    assert files == [(True, 0, 0), (True, 0, 0), (False, 0, 1), (False, 1, 1)]


@pytest.mark.usefixtures("large")
def test_a_process_killed_while_it_looks_ahead_leaves_a_published_round(
    worker: Worker, studio: FakeLabelStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise Killed

    connected(worker.store)
    run(worker)
    with monkeypatch.context() as patch:
        patch.setattr(PoolGraph, "prepare", killed)
        with pytest.raises(Killed):
            worker.step()
    label(studio, 6)

    round_ = run(worker)

    states = [one.state for one in worker.store.rounds.latest(PROJECT)]
    assert states == [RoundState.PUBLISHED, RoundState.PUBLISHED]
    assert round_.report["labels"] == 6
    assert len(graph_files(worker)) == 1


@pytest.mark.usefixtures("large")
def test_rounds_are_published_though_nothing_that_saves_work_can_be_written(
    worker: Worker, studio: FakeLabelStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for module in ("first_choice", "pool_copies"):
        monkeypatch.setattr(f"uherding_backend.{module}.save_arrays", full)
    monkeypatch.setattr(NeighbourGraph, "save", full)
    connected(worker.store)
    rounds = [run(worker)]
    label(studio, 6)

    rounds.append(run(worker))

    assert [round_.error for round_ in rounds] == ["", ""]
    assert rounds[1].report["seconds"]["neighbours"] > 0
    assert studio.queue()


def test_a_published_round_does_not_fail_any_more(
    worker: Worker, studio: FakeLabelStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RoundRunner, "_forget_old_files", None)
    connected(worker.store)

    round_ = run(worker)

    assert round_.state is RoundState.PUBLISHED
    assert studio.queue() == [entry.task for entry in worker.store.rounds.queue(round_.id)]


def test_rounds_before_the_first_label_choose_once(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected(worker.store)
    first = run(worker)
    monkeypatch.setitem(STRATEGIES, "uherding", None)  # whoever asks it fails

    second = run(worker)

    queues = [worker.store.rounds.queue(one.id) for one in (first, second)]
    assert second.error == ""
    assert queues[0] == queues[1]


def graph_files(worker: Worker, project: int = PROJECT) -> list[Path]:
    return list(worker.store.project_dir(ProjectId(project)).glob("neighbours-*"))


def test_random_draws_anew_in_every_round_and_gains_nothing(worker: Worker) -> None:
    connected(worker.store, options={"strategy": "random"})

    rounds = run(worker), run(worker)

    first, second = (worker.store.rounds.queue(round_.id) for round_ in rounds)
    assert {entry.gain for entry in first} == {0.0}
    assert [entry.task for entry in first] != [entry.task for entry in second]


def test_the_classifier_mlp_is_trained_and_kept(worker: Worker, studio: FakeLabelStudio) -> None:
    connected(worker.store, options={"classifier": "mlp"})
    label(studio, 6)

    round_ = run(worker)

    assert round_.error == ""
    assert round_.report["classifier"] == "mlp"
    assert isinstance(outcome_of(worker, round_).classifier, MlpClassifier)


def test_fine_tuning_sees_every_task_s_own_pixels_and_is_kept(
    worker: Worker, studio: FakeLabelStudio
) -> None:
    connected(worker.store, options=FINETUNE)
    label(studio, 6)

    round_ = run(worker)

    assert round_.error == ""
    assert round_.report["classifier"] == "finetune"
    assert round_.report["seconds"]["images"] > 0
    found = outcome_of(worker, round_)
    assert isinstance(found.classifier, FinetunedClassifier)
    assert image_size(found.classifier) == 32
    pixels = np.stack([decode(picture(kind_of(task), task), 32) for task in found.tasks])
    expected = softmax(found.classifier.logits(pixels), found.temperature)
    np.testing.assert_allclose(found.probabilities, expected, atol=1e-5)
    assert found.probabilities.std(axis=0).min() > 1e-4  # rows differ, so their order matters
    directory = worker.store.project_dir(PROJECT)
    assert not (directory / CHECKPOINT).exists()


def test_fine_tuning_calibrates_with_one_split_and_tells_how_far_it_is(
    worker: Worker, studio: FakeLabelStudio, told: list[tuple[str, float]]
) -> None:
    connected(worker.store, options=FINETUNE)
    label(studio, 12)

    round_ = run(worker)

    assert round_.report["ece_after"] is not None
    assert ("images", 1.0) in told
    assert told.count(("classifier", 1.0)) == 1
    assert told.count(("calibration", 1.0)) == 1
    assert told.index(("images", 1.0)) < told.index(("classifier", 1.0))


def test_fine_tuning_gets_its_start_and_its_epochs_from_the_options(
    worker: Worker, studio: FakeLabelStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[Finetuning] = []
    train = Finetuning.__call__

    def watched(finetuning: Finetuning, *arguments: Any, seed: int) -> FinetunedClassifier:  # noqa: ANN401
        used.append(finetuning)
        return train(finetuning, *arguments, seed=seed)

    monkeypatch.setattr(Finetuning, "__call__", watched)
    options = {**FINETUNE, "finetune_from": "resnet18:17", "finetune_epochs": 2}
    connected(worker.store, options=options)
    label(studio, 3)

    run(worker)

    (finetuning,) = used
    assert (finetuning.start, finetuning.epochs) == ("resnet18:17", 2)
    assert finetuning.checkpoint == worker.store.project_dir(PROJECT) / CHECKPOINT


def test_images_are_fetched_for_fine_tuning_only_when_there_are_labels(
    worker: Worker, studio: FakeLabelStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected(worker.store, options=FINETUNE)
    run(worker)
    fetched = watch_fetches(monkeypatch)

    unlabelled = run(worker)
    before = list(fetched)
    label(studio, 3)
    labelled = run(worker)

    assert unlabelled.state is labelled.state is RoundState.PUBLISHED
    assert before == []
    assert set(fetched) == set(range(1, 31))


@pytest.mark.parametrize("labels", [0, 3])
def test_an_unknown_start_fails_the_round_at_once_with_the_known_ones(
    worker: Worker, studio: FakeLabelStudio, monkeypatch: pytest.MonkeyPatch, labels: int
) -> None:
    connected(worker.store)
    run(worker)
    label(studio, labels)
    connected(worker.store, options={**FINETUNE, "finetune_from": "resnet5"})
    fetched = watch_fetches(monkeypatch)

    failed = run(worker)

    assert failed.state is RoundState.FAILED
    assert "cannot start from 'resnet5'; choose one of resnet18" in failed.error
    assert fetched == []


def test_an_unknown_start_is_no_matter_for_other_classifiers(worker: Worker) -> None:
    connected(worker.store, options={"finetune_from": "resnet5"})

    assert run(worker).state is RoundState.PUBLISHED


def test_images_that_got_lost_fail_the_round_and_the_next_goes_on_without_them(
    worker: Worker, studio: FakeLabelStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected(worker.store, options=FINETUNE)
    run(worker)
    label(studio, 3)
    watch_fetches(monkeypatch, refuse=lambda task: task in (20, 22))

    failed, retried = run(worker), run(worker)

    assert failed.state is RoundState.FAILED
    assert "task 20 and of 1 more could be read before but not now: The file is gone. The next" in (
        failed.error
    )
    assert retried.error == ""
    assert (retried.report["pool"], retried.report["unreadable"]) == (28, 2)


@pytest.fixture
def killed_at_half(worker: Worker, studio: FakeLabelStudio) -> Path:
    """The checkpoint of a round that was killed after the first of two epochs."""
    connected(worker.store, options={**FINETUNE, "finetune_epochs": 2})
    label(studio, 6)
    tell = RoundStore.progress

    def mortal(store: RoundStore, round_id: Any, step: str, done: float, now: float) -> None:  # noqa: ANN401
        if (step, done) == ("classifier", 0.5):
            raise Killed
        tell(store, round_id, step, done, now)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RoundStore, "progress", mortal)
        with pytest.raises(Killed):
            run(worker)
    return worker.store.project_dir(PROJECT) / CHECKPOINT


def restart(worker: Worker) -> Worker:
    """Another process: nothing but the data directory is left."""
    fresh = Worker(Store(worker.store.data_dir), worker.settings, worker.clock, worker.connect)
    fresh.store.rounds.recover()
    return fresh


def test_fine_tuning_that_was_killed_goes_on_after_its_last_epoch(
    worker: Worker, killed_at_half: Path, told: list[tuple[str, float]]
) -> None:
    assert killed_at_half.exists()

    restarted = restart(worker)
    restarted.step()

    assert restarted.store.rounds.latest(PROJECT)[0].state is RoundState.PUBLISHED
    shares = [share for step, share in told if step == "classifier"]
    assert shares[:2] == [0.0, 0.5]  # the step begins; training goes on in its second epoch
    assert not killed_at_half.exists()


def test_what_fine_tuning_left_behind_is_removed_when_another_classifier_is_chosen(
    worker: Worker, killed_at_half: Path, clock: Clock
) -> None:
    half_written = killed_at_half.with_name("tmpabc.tmp")
    half_written.write_bytes(b"half")
    connected(worker.store, options={})

    restart(worker).step()

    left = sorted(path.name for path in killed_at_half.parent.glob("*"))
    of_the_pool = ("patches", "copies", "map-")
    assert [name for name in left if not name.startswith(of_the_pool)] == ["round-1.npz"]
