"""Which strategy learns most from the same number of labels? The paper's comparison, redone.

    make bench-quality              runs what is missing, then writes docs/quality.md's tables

Every dataset, with each kind of features, balanced and long-tailed, is a setting. A seed draws a
pool; every strategy chooses from it. Results are kept curve by curve in `.bench/quality.csv`, so
that a run that was stopped goes on where it was; what other code or another setting has made is
measured again.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from benchmarks.datasets import Part, feature_split
from benchmarks.result_files import CACHE, CODE, Row, append, code_digest, keep_only
from model.arrays import Labels, Rows
from model.simulate import LabelledData, Trial
from model.strategies import STRATEGIES, Strategy

RESULTS = CACHE / "quality.csv"
COLUMNS = ("setting", "strategy", "seed", "labels", "accuracy", "seconds", CODE)
MADE_BY = ("model", "benchmarks/datasets.py", "benchmarks/peers.py")
LOW = (20, 40, 60, 80, 100)
MIDDLE = tuple(range(200, 1001, 100))
HIGH = (1500, 2000)
RAREST = 0.05  # images of the rarest class for each one of the most common class
MAIN = (
    "random",
    "confidence",
    "margin",
    "entropy",
    "weighted-kmeans",
    "badge",
    "alfa-mix",
    "typiclust",
    "coreset",
    "probcover",
    "maxherding",
    "uherding-paper",
    "uherding",
)


ABLATIONS = (
    "uherding-entropy",
    "uherding-confidence",
    "uherding-no-temperature",
    "uherding-no-radius",
    "uherding-fixed",
    "badge-kmeans",
    "badge-kmedoids",
    "badge-pam",
    "badge-maxherding",
    "badge-adapted",
)


@dataclass(frozen=True)
class Setting:
    """One column of the table.

    Attributes:
        pool: Images that a seed draws.
        budgets: Labels at which accuracy is measured.
        seeds: Draws of the pool.
        peers: Whether scikit-activeml's strategies run too.
        ablations: Whether the paper's ablations run too.
    """

    dataset: str
    extractor: str
    long_tailed: bool
    pool: int
    budgets: tuple[int, ...]
    seeds: int
    peers: bool = False
    ablations: bool = False

    @property
    def name(self) -> str:
        tail = " long-tailed" if self.long_tailed else ""
        return f"{self.dataset} {self.extractor}{tail}"

    def data(self) -> LabelledData:
        split = feature_split(self.dataset, Part.JUDGED, self.extractor)
        rows = _long_tail(split.pool_labels) if self.long_tailed else np.arange(len(split.pool))
        return LabelledData(
            split.pool[rows], split.pool_labels[rows], split.test, split.test_labels
        )

    def strategies(self) -> dict[str, Strategy]:
        names = MAIN + ABLATIONS if self.ablations else MAIN
        chosen = {name: STRATEGIES[name] for name in names}
        if self.peers:
            from benchmarks.peers import PEERS

            chosen |= PEERS
        return chosen


def _long_tail(labels: Labels) -> Rows:
    """Class sizes that fall geometrically to RAREST of the first; test images stay balanced."""
    generator = np.random.default_rng(0)
    classes = generator.permutation(np.unique(labels))
    most = min(int((labels == label).sum()) for label in classes)
    kept = []
    for place, label in enumerate(classes):
        size = round(most * RAREST ** (place / (len(classes) - 1)))
        # Drawn, not the first ones: rare classes must not gather at the head of the pool, where
        # strategies that go by the row when all is equal would find them.
        kept.append(generator.permutation(np.flatnonzero(labels == label))[:size])
    return np.sort(np.concatenate(kept))


def _settings() -> list[Setting]:
    middle = tuple(range(200, 801, 100))  # the pool is smaller
    small = [
        Setting(
            "digits",
            extractor,
            tail,
            pool,
            budgets,
            seeds=10,
            peers=extractor == "patches",
            ablations=extractor == "patches" and not tail,
        )
        for extractor in ("patches", "efficientnet-lite0")
        for tail, pool, budgets in ((False, 1000, LOW + middle), (True, 340, (*LOW, 200)))
    ]
    large = [
        Setting(dataset, extractor, tail, pool, LOW + MIDDLE + high, seeds=6)
        for extractor in ("patches", "efficientnet-lite0")
        for dataset in ("fashion-mnist", "cifar10")
        for tail, pool, high in ((False, 3000, HIGH), (True, 2000, ()))
    ]
    return small + large


SETTINGS = {setting.name: setting for setting in _settings()}


@cache
def loaded_code() -> str:
    """Asked first when a process starts: what is edited while it runs, it does not load."""
    return code_digest(MADE_BY)


def code_of(name: str) -> str:
    """Of all that decides a curve; more seeds and strategies leave the others as they are."""
    one = SETTINGS[name]
    drawn = (one.dataset, one.extractor, one.long_tailed, one.pool, one.budgets, RAREST)
    return code_digest((), (loaded_code(), drawn))


def curves(job: tuple[str, int, frozenset[str]]) -> list[tuple[object, ...]]:
    """All missing curves of one seed; the strategies share the pool and the distances in it."""
    name, seed, done = job
    setting, code = SETTINGS[name], code_of(name)
    data = setting.data()
    trial = Trial.draw(data, share=min(1.0, setting.pool / len(data.labels)), seed=seed)
    rows: list[tuple[object, ...]] = []
    for strategy, choose in setting.strategies().items():
        if strategy not in done:
            for step in trial.run(choose, setting.budgets):
                figures = (step.labels, round(step.accuracy, 5), round(step.seconds, 3))
                rows.append((name, strategy, seed, *figures, code))
    return rows


def known(names: list[str], path: Path = RESULTS) -> list[Row]:
    """What is measured already; of these settings, what other code has made is dropped."""
    return keep_only(
        path,
        COLUMNS,
        lambda row: row["setting"] not in names or row.get(CODE) == code_of(row["setting"]),
    )


def missing(
    names: list[str], seeds: int | None, rows: list[Row]
) -> Iterator[tuple[str, int, frozenset[str]]]:
    """Seed by seed over all settings, so that every setting has some results early."""
    done: dict[tuple[str, int], set[str]] = {}
    for row in rows:
        done.setdefault((row["setting"], int(row["seed"])), set()).add(row["strategy"])
    for seed in range(max(SETTINGS[name].seeds for name in names)):
        for name in names:
            setting = SETTINGS[name]
            have = done.get((name, seed), set())
            if seed < min(setting.seeds, seeds or setting.seeds) and (
                set(setting.strategies()) - have
            ):
                yield name, seed, frozenset(have)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", nargs="*", default=list(SETTINGS), help="default: all")
    parser.add_argument("--seeds", type=int, help="fewer seeds, for a first look")
    parser.add_argument("--jobs", type=int, default=2)
    parsed = parser.parse_args()
    jobs = list(missing(parsed.settings, parsed.seeds, known(parsed.settings)))
    started = time.perf_counter()
    with get_context("spawn").Pool(parsed.jobs, maxtasksperchild=4) as pool:
        for number, rows in enumerate(pool.imap_unordered(curves, jobs), start=1):
            append(RESULTS, rows)
            minutes = (time.perf_counter() - started) / 60
            sys.stdout.write(
                f"{number} of {len(jobs)} seeds after {minutes:.1f} min: {rows[0][0]}\n"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()
