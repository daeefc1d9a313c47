import math
from typing import Any

import numpy as np
import pytest

from model import foreseen, large, select, sweep
from model.arrays import Features, Mask, Rows
from model.large import sampling_error
from model.neighbours import BYTES_IN_USE
from tests.support import reference_arrays
from tests.support.graphs import graph_around
from tests.support.pools import (
    Situation,
    clustered,
    some_rows,
    spread,
    uncertainties,
    unequal_clusters,
)

SIZE = 1500
LITTLE = 20_000  # bytes, in which neither all similarities nor the pairs that matter find place


def situation(count: int, labels: int = 0) -> Situation:
    return Situation(
        clustered(0, SIZE, 16), uncertainties(1, SIZE), 0.3, count, some_rows(2, SIZE, labels)
    )


def sampled(patch: pytest.MonkeyPatch, sample: int) -> None:
    """Treat every large pool as too large for an exact choice."""
    patch.setattr(large, "EXACT_UP_TO", 0)
    patch.setattr(large, "SAMPLE", sample)


def sample_of(uncertainty: reference_arrays.Floats, size: int) -> Rows:
    """The points that a sampled choice looks at."""
    weighty = np.flatnonzero(uncertainty > 0)
    return np.random.default_rng(0).permutation(weighty)[:size]


# Looking at few pairs: the work is counted, not timed.


@pytest.fixture
def small_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples that do not weigh against the sweep of so small a pool."""
    monkeypatch.setattr(sweep, "PROBE", 100)


@pytest.mark.usefixtures("small_probes")
def test_kept_similarities_are_computed_once_for_each_pair() -> None:
    chosen = situation(count=100).select()

    assert chosen.evaluations <= 0.75 * SIZE**2


@pytest.mark.usefixtures("small_probes")
def test_pairs_that_matter_are_found_in_one_sweep() -> None:
    chosen = situation(count=100, labels=150).select()

    assert chosen.evaluations <= 0.75 * SIZE**2 + 150 * SIZE


@pytest.mark.parametrize("count", [10, 100])
def test_looking_ahead_costs_little_more_than_one_sweep_whatever_the_count(count: int) -> None:
    features = unequal_clusters(0, 6000, 32)

    chosen = Situation(features, np.ones(6000), 1.0, count).select(memory=40_000_000)

    assert chosen.evaluations <= 1.3 * 6000**2


@pytest.mark.parametrize("labels", [0, 300])
def test_uncertainties_in_float32_choose_as_the_same_in_float64(labels: int) -> None:
    features, labeled = clustered(0, SIZE, 16), some_rows(2, SIZE, labels)
    uncertainty: Any = uncertainties(1, SIZE).astype(np.float32)

    chosen = select(features, uncertainty, labeled, count=5, radius=0.3)

    exact = select(features, uncertainty.astype(np.float64), labeled, count=5, radius=0.3)
    assert chosen.rows.tolist() == exact.rows.tolist()


def test_a_graph_saves_nearly_all_similarities() -> None:
    wanted = situation(count=100, labels=SIZE // 10)
    graph = graph_around(wanted.features, wanted.labeled[::10])

    chosen = wanted.select(graph=graph)

    assert chosen.evaluations <= 0.0011 * SIZE**2


def test_a_graph_that_needs_more_memory_than_there_is_is_not_used() -> None:
    wanted = situation(count=20, labels=SIZE // 10)
    graph = graph_around(wanted.features, wanted.labeled[::10])
    needed = BYTES_IN_USE * len(graph.pairs)

    used, unused = (wanted.select(graph=graph, memory=memory) for memory in (needed, needed - 1))

    assert unused.evaluations > 0.5 * SIZE**2 > 100 * used.evaluations
    assert unused.rows.tolist() == used.rows.tolist()


@pytest.mark.parametrize("labels", [0, 150])
def test_ten_times_as_many_choices_cost_hardly_more(labels: int) -> None:
    few = situation(count=10, labels=labels).select()
    many = situation(count=100, labels=labels).select()

    assert few.evaluations <= many.evaluations <= 1.005 * few.evaluations


# Progress


@pytest.mark.parametrize("count", [0, 7, 5000])
@pytest.mark.parametrize(
    ("labels", "options"),
    [(0, {}), (400, {}), (0, {"memory": LITTLE}), (400, {"graph": True})],
    ids=["kept", "pairs", "foreseen", "graph"],
)
def test_the_share_that_is_done_never_falls_and_ends_at_1(
    labels: int, options: dict[str, Any], count: int
) -> None:
    features, labeled = clustered(3, 1100, 8), some_rows(4, 1100, labels)
    candidates = np.arange(1100) < 40
    wanted = Situation(features, uncertainties(5, 1100), 0.3, count, labeled, candidates)
    if "graph" in options:
        options = {"graph": graph_around(features, labeled[::10])}
    shares: list[float] = []

    wanted.select(on_progress=shares.append, **options)

    assert (np.diff(shares) >= 0.0).all()
    assert shares[0] >= 0.0
    assert shares[-1] == 1.0


def test_a_sampled_choice_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    sampled(monkeypatch, 100)
    shares: list[float] = []

    situation(count=20).select(on_progress=shares.append)

    assert (np.diff(shares) >= 0.0).all()
    assert len(shares) >= 20
    assert shares[-1] == 1.0


# A random sample of the points


def test_the_error_of_a_sample_by_hand() -> None:
    batches = 10 * (1.0 + math.log(100))  # log of (e 1000 / 10) ^ 10

    error = sampling_error(sample=500, rows=1000, batch=10)

    assert error == pytest.approx(math.sqrt((batches + math.log(200)) / 1000), rel=1e-12)
    assert error == pytest.approx(0.24769, abs=1e-5)


def test_one_row_of_one_leaves_the_error_of_a_single_mean() -> None:
    error = sampling_error(sample=5000, rows=1, batch=1)

    assert error == pytest.approx(math.sqrt((1.0 + math.log(200)) / 10_000), rel=1e-12)


@pytest.mark.parametrize(("sample", "batch"), [(0, 5), (100, 0)])
def test_where_nothing_is_estimated_there_is_no_error(sample: int, batch: int) -> None:
    assert sampling_error(sample, 1000, batch) == 0.0


def test_four_times_the_sample_halves_the_error() -> None:
    assert sampling_error(100, 1000, 5) == pytest.approx(2.0 * sampling_error(400, 1000, 5))


def test_a_larger_sample_of_the_points_gives_a_smaller_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    errors = []

    for size in (50, 200, 800):
        sampled(monkeypatch, size)
        errors.append(situation(count=10).select().error)

    assert errors[0] > errors[1] > errors[2] > 0.0


def test_a_sample_of_all_points_gives_the_plain_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = situation(count=20, labels=30)
    sampled(monkeypatch, SIZE)

    chosen = wanted.select()

    wanted.assert_chosen(chosen)


def test_progress_never_falls_where_another_sweep_is_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(foreseen, "PAIRS_FILL", 0.0)
    monkeypatch.setattr(foreseen, "MOST", 3)
    monkeypatch.setattr(foreseen, "WORTH", 0)
    shares: list[float] = []

    situation(count=12).select(memory=5_000_000, on_progress=shares.append)

    assert (np.diff(shares) >= 0.0).all()
    assert shares[-1] == 1.0


def test_a_small_pool_is_done_at_once() -> None:
    shares: list[float] = []

    Situation(spread(14, 50, 4), np.ones(50), 0.5, 5).select(on_progress=shares.append)

    assert shares == [1.0]


@pytest.mark.parametrize("labels", [0, 100])
def test_sampled_gains_are_those_of_the_coverage_of_the_sample(
    labels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    features, labeled = clustered(6, 1200, 16), some_rows(7, 1200, labels)
    uncertainty = uncertainties(8, 1200, zeros=0.3)
    sampled(monkeypatch, 300)

    chosen = Situation(features, uncertainty, 0.4, 15, labeled).select()

    points = sample_of(uncertainty, 300)
    only = np.zeros(1200)
    only[points] = uncertainty[points] * (np.count_nonzero(uncertainty) / 300)
    kernel = reference_arrays.similarities(features, 0.4)
    rows, gains = reference_arrays.select(kernel, only, labeled, 15)
    assert chosen.rows.tolist() == rows
    np.testing.assert_allclose(chosen.gains, gains, rtol=0.0, atol=1e-12)


POOLS: list[Features] = [clustered(9, 1100, 16), spread(10, 1100, 16), spread(11, 1100, 3)]


@pytest.mark.parametrize("features", POOLS, ids=["clusters", "no clusters", "a sphere"])
@pytest.mark.parametrize("seed", range(5))
def test_the_estimated_coverage_is_as_close_to_the_true_one_as_stated(
    features: Features, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    uncertainty = uncertainties(seed, 1100, zeros=0.2)
    sampled(monkeypatch, 250)

    chosen = Situation(features, uncertainty, 0.5, 5).select()

    true = reference_arrays.coverage(features, uncertainty, chosen.rows, 0.5)
    assert 0.0 < chosen.error < 0.5
    assert abs(chosen.gains.sum() - true) <= chosen.error


def test_points_without_uncertainty_leave_nothing_to_estimate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sampled(monkeypatch, 100)

    chosen = Situation(spread(12, 1100, 4), np.zeros(1100), 0.5, 4, np.array([1])).select()

    assert chosen.rows.tolist() == [0, 2, 3, 4]
    assert chosen.error == 0.0


@pytest.mark.parametrize("candidates", [None, np.arange(1100) % 3 == 0])
def test_a_sampled_choice_takes_only_what_may_be_chosen(
    candidates: Mask | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampled(monkeypatch, 100)
    labeled = np.arange(0, 1100, 2)
    wanted = Situation(spread(13, 1100, 4), np.ones(1100), 0.5, 2000, labeled, candidates)

    rows = wanted.select().rows.tolist()

    allowed = set(range(1, 1100, 2)) if candidates is None else set(range(3, 1100, 6))
    assert sorted(rows) == sorted(allowed)


def test_a_graph_makes_a_sample_needless(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = situation(count=10, labels=200)
    graph = graph_around(wanted.features, wanted.labeled[::10])
    sampled(monkeypatch, 100)

    chosen = wanted.select(graph=graph)

    wanted.assert_chosen(chosen)


def test_a_choice_without_labels_or_graph_is_sampled_beyond_the_limit_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sampled(monkeypatch, 100)
    errors = []

    for limit in (SIZE - 1, SIZE):
        monkeypatch.setattr(large, "EXACT_UP_TO", limit)
        errors.append(situation(count=3).select().error)

    assert errors[0] > 0.0
    assert errors[1] == 0.0
