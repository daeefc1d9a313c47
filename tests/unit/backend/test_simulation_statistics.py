from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import isotonic_regression

from uherding_backend.simulation.statistics import (
    EXACT_UP_TO,
    area_under_curve,
    duel,
    estimate,
    labels_needed,
    never_falling,
    sign_flip_p,
    student_95,
)

BUDGETS = np.array([10, 20, 40])


def drawn(count: int, *, mean: float = 0.3) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.random.default_rng(count).normal(mean, 1.0, size=count)


def test_an_estimate_is_what_scipy_says() -> None:
    values = drawn(7)

    found = estimate(values)

    low, high = scipy.stats.t.interval(0.95, 6, values.mean(), scipy.stats.sem(values))
    np.testing.assert_allclose(found.error, scipy.stats.sem(values), rtol=1e-12)
    np.testing.assert_allclose([found.low, found.high], [low, high], atol=5e-4)


def test_one_seed_has_a_mean_but_no_error() -> None:
    found = estimate(np.array([0.5]))

    assert found.mean == 0.5
    assert math.isnan(found.error)
    assert math.isnan(found.reach)


@pytest.mark.parametrize("freedom", [*range(1, 60), 100, 1000])
def test_student_quantiles_are_scipys(freedom: int) -> None:
    np.testing.assert_allclose(student_95(freedom), scipy.stats.t.ppf(0.975, freedom), atol=4e-3)


@pytest.mark.parametrize("count", [2, 3, 5, 8, 12])
def test_the_exact_permutation_test_is_scipys(count: int) -> None:
    differences = drawn(count)

    oracle = scipy.stats.permutation_test(
        (differences, np.zeros(count)),
        lambda mine, other: float(np.mean(mine - other)),
        permutation_type="samples",
        n_resamples=np.inf,
        vectorized=False,
    )

    np.testing.assert_allclose(sign_flip_p(differences), oracle.pvalue, rtol=1e-12)


def test_with_many_seeds_the_permutation_test_is_close_to_the_t_test() -> None:
    differences = drawn(40, mean=0.25)
    assert len(differences) > EXACT_UP_TO

    p = sign_flip_p(differences)

    np.testing.assert_allclose(p, scipy.stats.ttest_1samp(differences, 0).pvalue, atol=0.02)
    assert 0.01 < p < 0.5
    assert p == sign_flip_p(differences)


def test_the_permutation_test_looks_at_both_sides_and_never_says_0() -> None:
    ahead = np.full(3, 0.1)

    assert sign_flip_p(ahead) == sign_flip_p(-ahead) == 0.25
    assert sign_flip_p(np.zeros(5)) == 1.0
    assert sign_flip_p(np.array([1.0])) == 1.0
    assert 0 < sign_flip_p(np.ones(30)) < 1e-3


def test_a_duel_counts_seeds() -> None:
    found = duel(np.array([3.0, 1.0, 2.0, 5.0]), np.array([2.0, 1.0, 4.0, 4.0]))

    assert (found.wins, found.ties, found.losses) == (2, 1, 1)
    assert found.p == 1.0


def test_the_area_is_the_mean_accuracy_over_labels_not_over_budgets() -> None:
    curves = np.array([[0.0, 1.0, 1.0], [0.5, 0.5, 0.5]])

    np.testing.assert_allclose(area_under_curve(BUDGETS, curves), [(5 + 20) / 30, 0.5])
    np.testing.assert_allclose(area_under_curve(BUDGETS[:1], curves[:, :1]), [0.0, 0.5])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_the_never_falling_curve_is_isotonic_regression(accuracies: list[float]) -> None:
    found = never_falling(np.array(accuracies))

    np.testing.assert_allclose(found, isotonic_regression(np.array(accuracies)), atol=1e-12)


def test_labels_are_interpolated_where_the_baselines_last_accuracy_is_reached() -> None:
    needed = labels_needed(BUDGETS, np.array([[0.2, 0.6, 1.0]]), np.array([[0.1, 0.2, 0.7]]))

    np.testing.assert_allclose(needed.strategy, [25.0])
    np.testing.assert_allclose(needed.baseline, [40.0])
    np.testing.assert_allclose(needed.accuracy, [0.7])


def test_a_strategy_that_ends_lower_is_compared_at_its_own_last_accuracy() -> None:
    needed = labels_needed(BUDGETS, np.array([[0.1, 0.2, 0.7]]), np.array([[0.2, 0.6, 1.0]]))

    np.testing.assert_allclose(needed.strategy, [40.0])
    np.testing.assert_allclose(needed.baseline, [25.0])


def test_a_bump_that_does_not_last_is_not_reached() -> None:
    needed = labels_needed(BUDGETS, np.array([[0.2, 0.6, 0.4]]), np.array([[0.1, 0.2, 0.5]]))

    np.testing.assert_allclose(needed.strategy, [20.0])
    np.testing.assert_allclose(needed.accuracy, [0.5])
    higher = labels_needed(BUDGETS, np.array([[0.2, 0.6, 0.4]]), np.array([[0.1, 0.2, 0.6]]))
    np.testing.assert_allclose(higher.accuracy, [0.5])


def test_what_the_first_budget_reaches_costs_the_first_budget() -> None:
    needed = labels_needed(BUDGETS, np.array([[0.9, 0.9, 0.9]]), np.array([[0.1, 0.2, 0.3]]))

    assert needed.strategy.tolist() == [10.0]


def test_equal_curves_save_nothing() -> None:
    curves = np.array([[0.3, 0.5, 0.4], [0.1, 0.2, 0.3]])

    needed = labels_needed(BUDGETS, curves, curves)

    assert (needed.strategy == needed.baseline).all()
