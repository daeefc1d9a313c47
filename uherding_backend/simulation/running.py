"""Learning curves, several seeds at a time, each in a process of its own.

The strategies of one seed share its pool and the distances in it, so a seed is the unit of work;
curves are handed over one by one.
"""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Container, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path

from model.classifiers import trainer
from model.errors import ModelError
from model.simulate import LabelledData, Trial
from model.strategies import STRATEGIES
from uherding_backend.errors import UHerdingError
from uherding_backend.simulation.data import load_dataset
from uherding_backend.simulation.plan import Plan
from uherding_backend.simulation.results import Curve, Key

# One process per core: threads of one would only wait for those of another.
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}


@dataclass(frozen=True, slots=True)
class Work:
    """Curves of one seed."""

    seed: int
    strategies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """A worker's last word: why it cannot go on."""

    sentence: str


Message = Curve | Failure | None  # None: the work is done, more is welcome


@dataclass(frozen=True, slots=True)
class Worker:
    """A child process and the line to it."""

    process: SpawnProcess
    connection: Connection

    def stop(self) -> None:
        """End it, whatever it is doing; it has written no files."""
        self.connection.close()
        self.process.terminate()
        self.process.join()


def missing_work(plan: Plan, done: Container[Key]) -> list[Work]:
    """What is left to do, seed by seed."""
    work = []
    for seed in range(plan.seeds):
        strategies = tuple(name for name in plan.strategies if (name, seed) not in done)
        if strategies:
            work.append(Work(seed, strategies))
    return work


def run(plan: Plan, source: Path, work: list[Work]) -> Generator[Curve]:
    """Compute curves, in the order in which they are finished.

    Closing the iterator, or an interrupt, stops all processes.

    Args:
        plan: How.
        source: The .npz file; every process reads it for itself.
        work: Which; from `missing_work`.
    """
    workers: list[Worker] = []
    try:
        for _ in range(min(plan.jobs, len(work))):
            workers.append(_start(plan, source))  # noqa: PERF401 - those started must be stopped
        yield from _collect(workers, deque(work))
    finally:
        for worker in workers:
            worker.stop()


def _collect(workers: list[Worker], work: deque[Work]) -> Iterator[Curve]:
    for worker in workers:
        worker.connection.send(work.popleft())
    busy = list(workers)
    while busy:
        heard = wait([worker.connection for worker in busy])
        for worker in [each for each in busy if each.connection in heard]:
            message = _receive(worker)
            if message is not None:
                yield message
            elif work:
                worker.connection.send(work.popleft())
            else:
                busy.remove(worker)


def _receive(worker: Worker) -> Curve | None:
    try:
        message: Message = worker.connection.recv()
    except (EOFError, ConnectionError) as error:
        worker.process.join()
        raise UHerdingError(
            f"A worker process ended with code {worker.process.exitcode}. If nothing is written "
            "above, memory may have run out: try again with fewer --jobs; finished curves are kept."
        ) from error
    if isinstance(message, Failure):
        raise UHerdingError(message.sentence)
    return message


def _start(plan: Plan, source: Path) -> Worker:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs, plan, source), daemon=True)
    with _environment(ONE_THREAD), _interrupts_ignored():
        process.start()
    theirs.close()  # so that its end is noticed
    return Worker(process, ours)


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """For children: what their libraries read when they are loaded."""
    environment = os.environ  # noqa: TID251 - handed to children, not read as settings
    before = {name: environment.get(name) for name in variables}
    environment.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            environment.pop(name)
            if value is not None:
                environment[name] = value


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Children inherit it: Ctrl-C reaches them too, but it is the parent that stops them."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def serve(connection: Connection, plan: Plan, source: Path) -> None:
    """What a child process does: work as it comes, until the other end is closed."""
    try:
        data = load_dataset(source).data
        while True:
            for curve in curves(data, plan, connection.recv()):
                connection.send(curve)
            connection.send(None)
    except (UHerdingError, ModelError) as error:
        connection.send(Failure(str(error)))
    except (EOFError, ConnectionError):
        return


def curves(data: LabelledData, plan: Plan, work: Work) -> Iterator[Curve]:
    """One curve after the other, all from the same draw of the pool."""
    trial = Trial.draw(data, share=plan.pool_share, seed=work.seed)
    for name in work.strategies:
        steps = trial.run(STRATEGIES[name], plan.budgets, fit=trainer(plan.classifier))
        curve = Curve(name, work.seed, tuple(steps))
        if curve.labels != plan.budgets:
            raise UHerdingError(
                f"The strategy {name} chose {curve.labels} images where {plan.budgets} were asked "
                "for; leave it out."
            )
        yield curve
