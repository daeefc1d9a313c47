from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from model import foreseen, guessing, large
from model.arrays import NO_ROWS, Features, Rows, Uncertainty
from model.sweep import sweep
from tests.support.graphs import graph_around
from tests.support.pools import (
    Situation,
    clustered,
    some_rows,
    spread,
    uncertainties,
    with_copies,
)
from tests.support.ways import Way, choose

KEPT = {"DenseCoverage"}
SWEPT_PAIRS = {"PairedCoverage", "sweep"}
GRAPH = {"PairedCoverage"}
GRAPH_WITH_OPEN_POINTS = {"PairedCoverage", "merged"}
FORESEEN = {"ForeseenCoverage"}
LITTLE = 20_000  # bytes, in which neither all similarities nor the pairs that matter find place
ENOUGH = 5_000_000  # bytes, in which those pairs find place that matter after some choices


def near_copies(seed: int, size: int, dimension: int) -> Features:
    """The second half differs from the first one by about 1e-4 in every coordinate."""
    distinct = spread(seed, size // 2, dimension)
    noise = 1e-4 * np.random.default_rng(seed).normal(size=distinct.shape)
    return np.concatenate([distinct, (distinct + noise).astype(np.float32)])


def far_from_the_origin(seed: int, size: int, dimension: int) -> Features:
    """Rows of different lengths, all moved by one long vector."""
    lengths = np.linspace(0.5, 2.0, size)[:, None]
    return np.asarray(clustered(seed, size, dimension) * lengths + 5.0, dtype=np.float32)


SITUATIONS = {
    "clusters": Situation(clustered(0, 1300, 16), uncertainties(1, 1300), radius=0.3, count=25),
    "no clusters, 5 labels, a radius of 1": Situation(
        spread(2, 1201, 32),
        uncertainties(3, 1201),
        radius=1.0,
        count=25,
        labeled=some_rows(4, 1201, 5),
    ),
    "copies, 100 labels": Situation(
        with_copies(clustered(5, 400, 24), 6, 1537),
        uncertainties(7, 1537),
        radius=0.2,
        count=25,
        labeled=some_rows(8, 1537, 100),
    ),
    "near-copies, a radius of 0.02": Situation(
        near_copies(9, 1300, 16),
        uncertainties(10, 1300),
        radius=0.02,
        count=25,
        labeled=some_rows(11, 1300, 5),
    ),
    "near-copies, 100 labels, a radius of 1": Situation(
        near_copies(12, 1300, 16),
        uncertainties(13, 1300),
        radius=1.0,
        count=25,
        labeled=some_rows(14, 1300, 100),
    ),
    "far from the origin, 100 labels": Situation(
        far_from_the_origin(15, 1400, 24),
        uncertainties(16, 1400),
        radius=0.8,
        count=25,
        labeled=some_rows(17, 1400, 100),
    ),
    "certain rows, 400 labels": Situation(
        clustered(18, 1600, 16),
        uncertainties(19, 1600, zeros=0.3),
        radius=0.3,
        count=25,
        labeled=some_rows(20, 1600, 400),
    ),
    "certain rows, few candidates, 100 labels, a radius of 2": Situation(
        clustered(21, 1250, 16),
        uncertainties(22, 1250, zeros=0.3),
        radius=2.0,
        count=25,
        labeled=some_rows(23, 1250, 100),
        candidates=uncertainties(24, 1250) < 0.3,
    ),
    "ties": Situation(
        with_copies(spread(25, 350, 16), 26, 1300), np.ones(1300), radius=0.3, count=25
    ),
    "no uncertainty": Situation(
        spread(27, 1100, 16), np.zeros(1100), radius=0.5, count=25, labeled=some_rows(28, 1100, 5)
    ),
}

situations = pytest.mark.parametrize("situation", SITUATIONS.values(), ids=SITUATIONS.keys())


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What `model.large` makes use of, and what it got from it last."""
    answers: dict[str, Any] = {}

    def record(name: str, original: Callable[..., Any]) -> None:
        def recorded(*values: object, **named: object) -> object:
            answers[name] = original(*values, **named)
            return answers[name]

        monkeypatch.setattr(large, name, recorded)

    for name in ("DenseCoverage", "PairedCoverage", "ForeseenCoverage", "sweep", "merged"):
        record(name, getattr(large, name))
    return answers


def counted_sweeps(patch: pytest.MonkeyPatch) -> list[None]:
    """Grows by one with every sweep ahead."""
    sweeps: list[None] = []

    def counted(*values: Any, **named: Any) -> None:  # noqa: ANN401 - passed on as they are
        sweeps.append(None)
        sweep(*values, **named)

    patch.setattr(foreseen, "sweep", counted)
    return sweeps


def worst_of(guesser: guessing._Guesser) -> int:
    """A bad guess: the available row with the smallest estimate."""
    rows = np.flatnonzero(guesser.estimates > -np.inf)
    guesser._estimate(rows)
    return int(rows[np.argmin(guesser.estimates[rows])])


@situations
def test_kept_similarities_give_the_plain_choice(
    situation: Situation, used: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large, "FEW", -1.0)

    chosen = situation.select()

    situation.assert_chosen(chosen)
    assert used.keys() == KEPT


@situations
def test_pairs_of_one_sweep_give_the_plain_choice(
    situation: Situation, used: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large, "FEW", 1.0)

    chosen = situation.select()

    situation.assert_chosen(chosen)
    assert used.keys() == SWEPT_PAIRS


@situations
@pytest.mark.parametrize("memory", [ENOUGH, LITTLE], ids=["enough memory", "little memory"])
def test_foreseen_gains_and_pairs_give_the_plain_choice(
    memory: int, situation: Situation, used: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large, "FEW", -1.0)

    chosen = situation.select(memory=memory)

    situation.assert_chosen(chosen)
    assert used.keys() == FORESEEN


def test_the_way_follows_from_memory_and_labels(used: dict[str, Any]) -> None:
    unlabelled, labelled = SITUATIONS["clusters"], SITUATIONS["certain rows, 400 labels"]
    ways = []

    for situation, memory in ((unlabelled, 10**9), (labelled, 10**9), (unlabelled, 10**6)):
        used.clear()
        replace(situation, count=1).select(memory=memory)
        ways.append(set(used))

    assert ways == [KEPT, SWEPT_PAIRS, FORESEEN]


@pytest.mark.parametrize("labels", [100, 400])
@pytest.mark.parametrize("features", [clustered(30, 1300, 16), near_copies(31, 1300, 16)])
def test_a_graph_that_reaches_every_label_gives_the_plain_choice_without_a_sweep(
    features: Features, labels: int, used: dict[str, Any]
) -> None:
    labeled, uncertainty = some_rows(32, 1300, labels), uncertainties(33, 1300, zeros=0.2)
    situation = Situation(features, uncertainty, radius=0.4, count=25, labeled=labeled)
    graph = graph_around(features, labeled[::10])

    chosen = situation.select(graph=graph)

    situation.assert_chosen(chosen)
    assert used.keys() == GRAPH


@pytest.mark.parametrize("zeros", [0.0, 0.3])
def test_points_whose_labels_are_out_of_the_graphs_reach_meet_all_rows(
    zeros: float, used: dict[str, Any]
) -> None:
    features, labeled = clustered(34, 1400, 16), some_rows(35, 1400, 200)
    uncertainty = uncertainties(36, 1400, zeros)
    situation = Situation(features, uncertainty, radius=0.3, count=25, labeled=labeled)
    graph = graph_around(features, np.append(labeled, some_rows(37, 1400, 4)))

    chosen = situation.select(graph=graph)

    assert used.keys() == GRAPH_WITH_OPEN_POINTS
    situation.assert_chosen(chosen)


def test_copies_without_a_label_in_reach_count_once(used: dict[str, Any]) -> None:
    copies = np.tile(spread(37, 1, 16), (60, 1))
    features = np.concatenate([clustered(39, 1300, 16, clusters=8), copies])
    situation = Situation(
        features, uncertainties(40, 1360), radius=0.3, count=40, labeled=some_rows(41, 1300, 300)
    )
    graph = graph_around(features, np.append(situation.labeled, 1300))

    chosen = situation.select(graph=graph)

    assert used.keys() == GRAPH_WITH_OPEN_POINTS
    situation.assert_chosen(chosen)


@pytest.mark.parametrize("labeled", [NO_ROWS, some_rows(42, 1200, 3)])
def test_a_graph_without_labels_all_over_is_no_help_and_no_harm(
    labeled: Rows, used: dict[str, Any]
) -> None:
    features, uncertainty = clustered(43, 1200, 16), uncertainties(44, 1200)
    situation = Situation(features, uncertainty, radius=0.3, count=10, labeled=labeled)
    graph = graph_around(features, some_rows(45, 1200, 300))

    chosen = situation.select(graph=graph)

    situation.assert_chosen(chosen)
    assert used.keys() == KEPT


def test_once_the_guessed_rows_are_chosen_the_pairs_do_the_rest(used: dict[str, Any]) -> None:
    situation = replace(SITUATIONS["clusters"], count=60)

    chosen = situation.select(memory=ENOUGH)

    plan = used["ForeseenCoverage"].plan
    assert 0 < len(plan.rows) < 59
    assert chosen.rows[: len(plan.rows)].tolist() == plan.rows
    assert plan.pairs is not None
    situation.assert_chosen(chosen)


def test_without_place_for_pairs_choices_are_guessed_again_and_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(foreseen, "PAIRS_FILL", 0.0)
    monkeypatch.setattr(foreseen, "MOST", 9)
    monkeypatch.setattr(foreseen, "WORTH", 0)
    sweeps = counted_sweeps(monkeypatch)
    situation = replace(SITUATIONS["clusters"], count=40)

    chosen = situation.select(memory=ENOUGH)

    situation.assert_chosen(chosen)
    assert len(sweeps) >= 4


@pytest.mark.parametrize("name", ["clusters", "ties"])
@pytest.mark.parametrize("worth", [0, 8])
def test_wrong_guesses_change_nothing(
    worth: int, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreseen, "WORTH", worth)
    monkeypatch.setattr(guessing._Guesser, "look_around", lambda guesser: worst_of(guesser))
    sweeps = counted_sweeps(monkeypatch)

    chosen = SITUATIONS[name].select(memory=ENOUGH)

    SITUATIONS[name].assert_chosen(chosen)
    assert len(sweeps) == 1 if worth else len(sweeps) > 1


@pytest.mark.parametrize("labels", [0, 100])
def test_many_choices_are_the_plain_ones(labels: int) -> None:
    features, uncertainty = clustered(45, 1100, 16), uncertainties(46, 1100)
    situation = Situation(features, uncertainty, 0.5, 120, some_rows(47, 1100, labels))

    chosen = situation.select(memory=LITTLE)

    situation.assert_chosen(chosen)


@pytest.mark.parametrize("way", Way)
def test_all_that_are_available_are_chosen_where_more_are_wanted(way: Way) -> None:
    features = with_copies(near_copies(48, 100, 16), 49, 150)
    candidates = uncertainties(50, 150) < 0.7
    situation = Situation(
        features, uncertainties(51, 150, 0.2), 0.5, 999, some_rows(52, 150, 20), candidates
    )

    chosen = choose(way, situation)

    situation.assert_chosen(chosen)
    assert len(chosen.rows) == (candidates & ~np.isin(np.arange(150), situation.labeled)).sum()


@pytest.mark.parametrize("way", Way)
@pytest.mark.parametrize("count", [0, -3])
def test_nothing_wanted_is_nothing_chosen(way: Way, count: int) -> None:
    situation = Situation(spread(53, 20, 4), np.ones(20), 0.5, count)

    chosen = choose(way, situation)

    assert chosen.rows.tolist() == []


@pytest.mark.parametrize("way", Way)
@pytest.mark.parametrize("uncertainty", [np.zeros(20), np.ones(20)])
def test_where_all_is_labelled_nothing_is_chosen(way: Way, uncertainty: Uncertainty) -> None:
    situation = Situation(spread(54, 20, 4), uncertainty, 0.5, 5, np.arange(20))

    chosen = choose(way, situation)

    assert chosen.rows.tolist() == []


@pytest.mark.parametrize("way", Way)
def test_gains_that_differ_in_the_ninth_digit_are_told_apart(way: Way) -> None:
    features = spread(55, 100, 32)
    uncertainty = 0.7 + 1e-9 * np.random.default_rng(56).permutation(100).astype(np.float64)

    chosen = choose(way, Situation(features, uncertainty, radius=0.2, count=100))

    assert chosen.rows.tolist() == np.argsort(-uncertainty).tolist()


@pytest.mark.parametrize("way", Way)
def test_near_copies_of_labels_are_told_apart_by_the_little_they_add(way: Way) -> None:
    features = near_copies(57, 120, 16)
    uncertainty = uncertainties(58, 120)
    situation = Situation(features, uncertainty, 2.0, 60, labeled=np.arange(60))

    chosen = choose(way, situation)

    situation.assert_chosen(chosen)
