from __future__ import annotations

import os
import signal
import threading
from dataclasses import replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pytest

from model.mlp import train_mlp
from model.simulate import Trial
from model.strategies import STRATEGIES
from uherding_backend.errors import UHerdingError
from uherding_backend.simulation import running
from uherding_backend.simulation.arguments import Options
from uherding_backend.simulation.data import load_dataset
from uherding_backend.simulation.plan import Plan
from uherding_backend.simulation.results import Curve
from uherding_backend.simulation.running import Failure, Work, curves, missing_work, run, serve


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Three classes that overlap, so that it matters which images are labelled."""
    generator = np.random.default_rng(0)
    labels = np.arange(90) % 3
    features = 1.5 * np.eye(3)[labels] + generator.normal(size=(90, 3))
    path = tmp_path / "data.npz"
    np.savez(path, features=features, labels=labels, test_features=features, test_labels=labels)
    return path


def plan_of(strategies: str = "random,uherding", *, seeds: int = 2, jobs: int = 1) -> Plan:
    options = Options(
        *(None, None, None), strategies=strategies, budgets="5,10", seeds=seeds, jobs=jobs
    )
    return Plan.of(options, pool=90)


def without_seconds(curve: Curve) -> tuple[object, ...]:
    return (*curve.key, [(step.labels, step.accuracy) for step in curve.steps])


def test_what_is_done_is_not_done_again() -> None:
    done = {("random", 0), ("uherding", 0), ("random", 2)}

    assert missing_work(plan_of(seeds=3), done) == [
        Work(1, ("random", "uherding")),
        Work(2, ("uherding",)),
    ]


def test_curves_are_those_of_the_trial_with_the_same_seed(source: Path) -> None:
    data, plan = load_dataset(source).data, plan_of()

    found = list(curves(data, plan, Work(1, plan.strategies)))

    for curve in found:
        trial = Trial.draw(data, share=0.9, seed=1)
        steps = tuple(trial.run(STRATEGIES[curve.strategy], (5, 10)))
        assert without_seconds(curve) == without_seconds(Curve(curve.strategy, 1, steps))
    assert [curve.key for curve in found] == [("random", 1), ("uherding", 1)]


def test_the_classifier_is_the_one_of_the_plan(source: Path) -> None:
    data, work = load_dataset(source).data, Work(0, ("random",))
    mlp = replace(plan_of(), classifier="mlp")

    (by_mlp,) = curves(data, mlp, work)

    steps = Trial.draw(data, share=0.9, seed=0).run(STRATEGIES["random"], (5, 10), fit=train_mlp)
    assert without_seconds(by_mlp) == without_seconds(Curve("random", 0, tuple(steps)))
    assert without_seconds(by_mlp) != without_seconds(*curves(data, plan_of(), work))


def test_a_strategy_that_chooses_too_few_is_named(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lazy = STRATEGIES["random"]
    monkeypatch.setitem(STRATEGIES, "random", lambda situation, count: lazy(situation, count - 1))

    with pytest.raises(UHerdingError, match="The strategy random chose"):
        list(curves(load_dataset(source).data, plan_of(), Work(0, ("random",))))


def test_a_worker_serves_until_the_other_end_is_closed(source: Path) -> None:
    ours, theirs = Pipe()
    worker = threading.Thread(target=serve, args=(theirs, plan_of(), source))
    worker.start()

    ours.send(Work(0, ("random", "margin")))
    messages = [ours.recv() for _ in range(3)]
    ours.close()
    worker.join(timeout=30)
    theirs.close()

    assert [message and message.key for message in messages] == [
        ("random", 0),
        ("margin", 0),
        None,
    ]
    assert not worker.is_alive()


def test_a_worker_that_cannot_go_on_says_why(tmp_path: Path) -> None:
    ours, theirs = Pipe()

    serve(theirs, plan_of(), tmp_path / "nothing.npz")

    assert ours.recv() == Failure(f"There is no file {tmp_path / 'nothing.npz'}.")
    ours.close()
    theirs.close()


def test_a_workers_reason_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(UHerdingError, match="There is no file"):
        list(run(plan_of(), tmp_path / "nothing.npz", [Work(0, ("random",))]))


def test_a_worker_that_dies_ends_the_run_with_a_sentence(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "serve", _die)

    with pytest.raises(UHerdingError, match="ended with code 7"):
        list(run(plan_of(), source, [Work(0, ("random",))]))


def test_processes_have_one_thread_ignore_interrupts_and_end_with_the_run(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "serve", _tell)
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    handler = signal.getsignal(signal.SIGINT)

    told = run(plan_of(seeds=2, jobs=2), source, missing_work(plan_of(), set()))
    first, second = (next(told).strategy.split() for _ in range(2))
    told.close()

    assert first[1:] == second[1:] == ["1", "1", "1", "ignored"]
    assert os.environ["OMP_NUM_THREADS"] == "5"  # noqa: TID251 - as it was before
    assert "MKL_NUM_THREADS" not in os.environ  # noqa: TID251
    assert signal.getsignal(signal.SIGINT) is handler
    for process in (first[0], second[0]):
        with pytest.raises(ProcessLookupError):
            os.kill(int(process), 0)


def _die(*_: object) -> None:
    os._exit(7)


def _tell(connection: Connection, *_: object) -> None:
    """Send what a process can see of its surroundings in place of a curve."""
    environment = os.environ  # noqa: TID251 - what is tested
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    words = [str(os.getpid()), *(environment[name] for name in running.ONE_THREAD)]
    connection.send(Curve(" ".join([*words, "ignored" if ignored else "heard"]), 0, ()))
    threading.Event().wait()
