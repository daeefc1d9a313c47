from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from model import Selection, select, strategies
from model.arrays import UNLABELED, Features, Labels
from model.errors import ModelError
from model.kernels import PoolDistances
from model.mlp import train_mlp
from model.names import DEFAULT_STRATEGY, READS_GRAPH, STRATEGY_NAMES
from model.neighbours import NeighbourGraph
from model.situation import PAPERS, Situation
from model.strategies import STRATEGIES

CLASSES = 4
EVERY = sorted(STRATEGIES)


def pool(size: int, spread: float) -> tuple[Features, Labels]:
    generator = np.random.default_rng(0)
    truth = generator.integers(3, size=size)
    points = np.eye(6)[truth] + generator.normal(scale=spread, size=(size, 6))
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    return unit.astype(np.float32), truth.astype(np.int64)


def situation(labeled: int, *, seed: int = 0, spread: float = 0.4) -> Situation:
    size = 60
    features, truth = pool(size, spread)
    labels = np.where(np.arange(size) < labeled, truth, UNLABELED)
    return Situation(features, labels, labels == UNLABELED, seed, CLASSES)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("labeled", [0, 1, 3, 25, 58])
def test_every_strategy_chooses_distinct_unlabelled_rows(name: str, labeled: int) -> None:
    here = situation(labeled)

    chosen = STRATEGIES[name](here, 7)

    assert len(chosen.rows) == min(7, 60 - labeled)
    assert len(set(chosen.rows.tolist())) == len(chosen.rows) == len(chosen.gains)
    assert (chosen.rows >= labeled).all()
    assert np.isfinite(chosen.gains).all()


@pytest.mark.parametrize("name", EVERY)
def test_every_strategy_leaves_out_what_is_not_available(name: str) -> None:
    here = situation(20)
    here.available[30:] = False

    chosen = STRATEGIES[name](here, 40)

    assert sorted(chosen.rows.tolist()) == list(range(20, 30))


@pytest.mark.parametrize("name", EVERY)
def test_every_strategy_chooses_the_same_for_the_same_seed(name: str) -> None:
    first = STRATEGIES[name](situation(20, seed=3), 9)
    second = STRATEGIES[name](situation(20, seed=3), 9)

    assert first.rows.tolist() == second.rows.tolist()


@pytest.mark.parametrize("name", EVERY)
def test_every_strategy_can_live_with_one_class_only(name: str) -> None:
    here = situation(0)
    here.labels[:12] = 2
    here.available[:12] = False

    chosen = STRATEGIES[name](here, 5)

    assert len(set(chosen.rows.tolist())) == 5
    assert (chosen.rows >= 12).all()


@pytest.mark.parametrize("name", EVERY)
def test_every_strategy_wants_nothing_when_everything_is_labelled(name: str) -> None:
    assert len(STRATEGIES[name](situation(60), 5).rows) == 0


@pytest.mark.parametrize("name", ["random", "margin", "badge"])
def test_chance_depends_on_the_seed(name: str) -> None:
    orders = {tuple(STRATEGIES[name](situation(0, seed=seed), 9).rows) for seed in range(4)}

    assert len(orders) == 4


@pytest.mark.parametrize(
    "name", ["uherding", "uherding-entropy", "maxherding", "alfa-mix", "badge-adapted"]
)
def test_distances_at_hand_change_nothing(name: str) -> None:
    plain, prepared = situation(20), situation(20)
    prepared.distances = PoolDistances(prepared.features)

    assert STRATEGIES[name](plain, 9).rows.tolist() == STRATEGIES[name](prepared, 9).rows.tolist()


@pytest.mark.parametrize("name", EVERY)
def test_the_strategies_that_read_a_neighbour_graph_are_named(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[object] = []
    graph = object()
    here = replace(situation(25), graph=cast(NeighbourGraph, graph))

    def watched(*arrays: Any, graph: object, **options: Any) -> Selection:  # noqa: ANN401
        given.append(graph)
        return select(*arrays, **options)

    monkeypatch.setattr(strategies, "select", watched)

    STRATEGIES[name](here, 5)

    assert given == ([graph] if name in READS_GRAPH else [])


def test_margin_takes_the_items_between_two_classes() -> None:
    here = situation(25)
    top = np.sort(here.probabilities(), axis=1)[:, -2:]
    gaps = top[:, 1] - top[:, 0]

    chosen = STRATEGIES["margin"](here, 5)

    assert set(chosen.rows.tolist()) == set((25 + np.argsort(gaps[25:])[:5]).tolist())


def test_each_ablation_differs_from_uherding_by_what_it_leaves_out() -> None:
    here = situation(25, spread=1.0)
    names = [name for name in EVERY if name.startswith("uherding")]

    gains = {tuple(STRATEGIES[name](here, 5).gains.tolist()) for name in names}

    assert len(gains) == len(names) == 7
    assert here.calibration.temperature > 1.0


def test_without_a_temperature_uherding_does_not_calibrate() -> None:
    here = situation(25)

    STRATEGIES["uherding-fixed"](here, 5)

    assert "calibration" not in vars(here)


def test_probcover_covers_blob_by_blob() -> None:
    angles = np.radians([0, 1, 2, 3, 90, 91, 92, 180, 181])
    features = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    labels = np.full(9, UNLABELED)
    here = Situation(features, labels, labels == UNLABELED, 0, class_count=3)

    chosen = STRATEGIES["probcover"](here, 3)

    assert [int(row) // 4 if row < 4 else (1 if row < 7 else 2) for row in chosen.rows] == [0, 1, 2]
    np.testing.assert_allclose(chosen.gains * 9, [4, 3, 2])


def test_alfa_mix_refuses_a_classifier_that_is_not_linear() -> None:
    here = situation(25)
    here.fit = train_mlp

    with pytest.raises(ModelError, match="needs the classifier `linear`"):
        STRATEGIES["alfa-mix"](here, 5)


def test_alfa_mix_chooses_at_random_while_nothing_can_be_mixed_into_another_class() -> None:
    def chosen(seed: int) -> list[int]:
        here = situation(0, seed=seed)
        here.labels[:12] = 2
        here.available[:12] = False
        return list(STRATEGIES["alfa-mix"](here, 5).rows)

    assert len({tuple(chosen(seed)) for seed in range(4)}) == 4


def test_every_strategy_has_a_sentence() -> None:
    assert sorted(STRATEGY_NAMES) == EVERY
    assert DEFAULT_STRATEGY in STRATEGIES
    assert all(text.endswith(".") for text in STRATEGY_NAMES.values())


def test_uherding_to_the_letter_takes_the_smallest_distance_and_trains_no_second_classifier() -> (
    None
):
    here = situation(25, spread=1.0)
    trained = here.classifier

    papers = here.adapted(PAPERS)

    assert papers.classifier is trained
    assert papers.radius.value < here.radius.value
    assert papers.calibration != here.calibration
    np.testing.assert_array_equal(
        STRATEGIES["uherding-paper"](here, 5).rows, STRATEGIES["uherding"](papers, 5).rows
    )
