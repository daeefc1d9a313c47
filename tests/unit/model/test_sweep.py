import numpy as np
import pytest

from model.gaussian_pool import BLOCK, GaussianPool
from model.greedy import ignore
from model.pairs import Pairs
from model.sweep import GainsAlong, PairsAbove, share_above, sweep
from tests.support import reference_arrays
from tests.support.pools import clustered, some_rows, uncertainties

SIZE = 2 * BLOCK + 100
RADIUS = 0.4


def dense(pairs: Pairs) -> tuple[reference_arrays.Floats, reference_arrays.Floats]:
    """How often every (candidate, point) is there, and with which similarity."""
    size = len(pairs.starts) - 1
    candidates = np.repeat(np.arange(size), np.diff(pairs.starts))
    count, similarity = np.zeros((size, size)), np.zeros((size, size))
    np.add.at(count, (candidates, pairs.points), 1.0)
    similarity[candidates, pairs.points] = pairs.similarities
    return count, similarity


def test_pairs_above_a_threshold_of_each_point_are_all_found_once() -> None:
    features, thresholds = clustered(0, SIZE, 16), uncertainties(1, SIZE)
    pool = GaussianPool(features, RADIUS)
    observer = PairsAbove(pool, thresholds)

    sweep(pool, [observer], ignore)

    kernel = reference_arrays.similarities(features, RADIUS)
    count, similarity = dense(observer.pairs())
    assert (count[kernel > thresholds] == 1.0).all()
    assert (count[kernel * np.exp(2.0 * pool.error) * (1 + 1e-6) < thresholds] == 0.0).all()
    np.testing.assert_allclose(similarity, np.where(count > 0, kernel, 0.0), atol=1e-4)


def test_gains_of_some_rows_at_each_moment_are_bounds_and_tight() -> None:
    features, weights = clustered(6, SIZE, 16), uncertainties(7, SIZE, zeros=0.2) / SIZE
    pool = GaussianPool(features, RADIUS)
    covered = [np.zeros(SIZE), uncertainties(4, SIZE), np.full(SIZE, 0.2), np.full(SIZE, 0.999)]
    rows = [np.arange(SIZE), some_rows(8, SIZE, 5), some_rows(9, SIZE, 0), some_rows(10, SIZE, 90)]
    along = GainsAlong(pool, weights, covered, rows)

    sweep(pool, [along], ignore)

    kernel = reference_arrays.similarities(features, RADIUS)
    assert len(along.gains()) == 4
    for found, floor, some in zip(along.gains(), covered, rows, strict=True):
        excess = found - np.maximum(kernel[some] - floor, 0.0) @ weights
        assert excess.shape == (len(some),)
        assert excess.min(initial=0.0) >= 0.0
        assert excess.max(initial=0.0) <= 3.0 * pool.error * (kernel @ weights).max()


def test_pairs_of_a_pool_in_another_order_have_the_names_of_the_first() -> None:
    features, thresholds = clustered(11, SIZE, 16), uncertainties(12, SIZE)
    pool, order = GaussianPool(features, RADIUS), some_rows(13, SIZE, SIZE)
    here = PairsAbove(pool, thresholds)
    there = PairsAbove(pool.of_rows(order), thresholds[order], called=order)

    sweep(pool, [here], ignore)
    sweep(pool.of_rows(order), [there], ignore)

    plain, renamed = here.pairs(), there.pairs()
    for row in (0, 1, 700, SIZE - 1):
        points = renamed.points[renamed.of(row)]
        assert sorted(points.tolist()) == plain.points[plain.of(row)].tolist()


@pytest.mark.parametrize("size", [BLOCK - 1, SIZE])
def test_the_share_that_is_done_grows_from_0_to_1(size: int) -> None:
    pool = GaussianPool(clustered(5, size, 4), RADIUS)
    shares: list[float] = []

    sweep(pool, [], shares.append)

    assert (np.diff([0.0, *shares, 1.0]) >= 0.0).all()
    assert len(shares) >= size // BLOCK


@pytest.mark.parametrize("exponents", [False, True])
def test_the_share_of_pairs_above_their_threshold_is_estimated(*, exponents: bool) -> None:
    features = clustered(0, 900, 8)  # all are in the sample
    pool = GaussianPool(features, 0.5)
    thresholds = np.random.default_rng(3).random(900)

    share = share_above(pool, np.log(thresholds) if exponents else thresholds, exponents=exponents)

    kernel = reference_arrays.similarities(features, 0.5)
    assert share == pytest.approx((kernel > thresholds).mean(), abs=1e-5)
