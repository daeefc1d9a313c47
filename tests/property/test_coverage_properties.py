from dataclasses import dataclass

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from model import Selection, coverage, select
from model.arrays import NO_ROWS, Features, Rows
from tests.support import reference

CLOSE = 1e-9


@dataclass(frozen=True)
class Pool:
    features: Features
    uncertainty: NDArray[np.float64]
    labeled: Rows
    radius: float

    def select(self, count: int) -> Selection:
        return select(
            self.features, self.uncertainty, self.labeled, count=count, radius=self.radius
        )

    def coverage_with(self, rows: list[int]) -> float:
        return reference.coverage(
            self.features.tolist(),
            self.uncertainty.tolist(),
            [*self.labeled.tolist(), *rows],
            self.radius,
        )


def unit_rows(seed: int, size: int, dimension: int) -> Features:
    points = np.random.default_rng(seed).normal(size=(size, dimension))
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    return np.asarray(unit, dtype=np.float32)


@st.composite
def pools(draw: st.DrawFn, largest: int = 24, copies: bool = True) -> Pool:
    size = draw(st.integers(1, largest))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    features = unit_rows(int(generator.integers(2**32)), size, draw(st.integers(2, 6)))
    if copies and draw(st.booleans()):
        features = features[generator.integers(size, size=size)]
    uncertainty = generator.random(size)
    if copies:
        uncertainty[generator.random(size) < draw(st.sampled_from([0.0, 0.3, 1.0]))] = 0.0
    labeled = generator.permutation(size)[: draw(st.integers(0, size))]
    radius = draw(st.floats(0.05, 3.0))
    return Pool(features, uncertainty, labeled.astype(np.int64), radius)


counts = st.integers(0, 30)


@given(pools(), counts)
def test_no_row_twice_and_none_that_is_labelled(pool: Pool, count: int) -> None:
    rows = pool.select(count).rows.tolist()

    assert len(set(rows)) == len(rows)
    assert not set(rows) & set(pool.labeled.tolist())
    assert len(rows) == min(count, len(pool.features) - len(pool.labeled))


@given(pools(), counts)
def test_gains_never_grow_and_never_fall_below_zero(pool: Pool, count: int) -> None:
    gains = pool.select(count).gains

    assert (gains >= 0).all()
    assert (np.diff(gains) <= CLOSE).all()


@given(pools(), counts)
def test_picks_and_gains_are_those_of_the_plain_greedy(pool: Pool, count: int) -> None:
    chosen = pool.select(count)

    rows, gains = reference.select(
        pool.features.tolist(),
        pool.uncertainty.tolist(),
        pool.labeled.tolist(),
        count,
        pool.radius,
    )
    assert chosen.rows.tolist() == rows
    np.testing.assert_allclose(chosen.gains, gains, atol=CLOSE)


@given(pools(largest=12), counts)
def test_every_gain_is_the_rise_in_coverage(pool: Pool, count: int) -> None:
    chosen = pool.select(count)

    rows = chosen.rows.tolist()
    reached = [pool.coverage_with(rows[:taken]) for taken in range(len(rows) + 1)]
    np.testing.assert_allclose(chosen.gains, np.diff(reached), atol=CLOSE)


@given(pools(largest=12))
def test_coverage_is_the_papers(pool: Pool) -> None:
    covered = coverage(pool.features, pool.uncertainty, pool.labeled, pool.radius)

    np.testing.assert_allclose(covered, pool.coverage_with([]), atol=CLOSE)


@given(pools(copies=False), counts, st.integers(0, 2**32 - 1))
def test_renaming_the_pool_renames_the_answer(pool: Pool, count: int, seed: int) -> None:
    straight = pool.select(count)
    assume((np.abs(np.diff(straight.gains)) > CLOSE).all() and (straight.gains > CLOSE).all())
    order = np.random.default_rng(seed).permutation(len(pool.features))
    place = np.argsort(order)  # old row -> new row

    renamed = Pool(
        pool.features[order], pool.uncertainty[order], place[pool.labeled], pool.radius
    ).select(count)

    assert renamed.rows.tolist() == place[straight.rows].tolist()


@given(pools(largest=8), st.integers(1, 4))
def test_greedy_reaches_its_share_of_the_best_possible_gain(pool: Pool, count: int) -> None:
    assume(len(pool.labeled) < len(pool.features))

    total = pool.select(count).gains.sum()

    best = reference.best_total_gain(
        pool.features.tolist(),
        pool.uncertainty.tolist(),
        pool.labeled.tolist(),
        count,
        pool.radius,
    )
    assert total >= (1 - 1 / np.e) * best - CLOSE


@given(pools(), counts, st.floats(0.01, 1.0))
def test_constant_uncertainty_is_max_herding(pool: Pool, count: int, level: float) -> None:
    flat = np.ones(len(pool.features))

    chosen = select(pool.features, flat * level, pool.labeled, count=count, radius=pool.radius)

    rows, gains = reference.select(
        pool.features.tolist(), flat.tolist(), pool.labeled.tolist(), count, pool.radius
    )
    assert chosen.rows.tolist() == rows
    np.testing.assert_allclose(chosen.gains / level, gains, atol=CLOSE)


@given(st.integers(2, 60), st.integers(0, 2**32 - 1))
def test_a_vanishing_radius_is_plain_uncertainty_sampling(size: int, seed: int) -> None:
    features = unit_rows(seed, size, 16)
    uncertainty = np.random.default_rng(seed).permutation(size) / size

    chosen = select(features, uncertainty, NO_ROWS, count=size, radius=1e-3)

    assert chosen.rows.tolist() == np.argsort(-uncertainty).tolist()
    np.testing.assert_allclose(chosen.gains, np.sort(uncertainty)[::-1] / size, atol=CLOSE)


@given(pools(), counts)
def test_no_uncertainty_at_all_keeps_the_order_of_the_rows(pool: Pool, count: int) -> None:
    nothing = np.zeros(len(pool.features))

    rows = select(pool.features, nothing, pool.labeled, count=count, radius=pool.radius).rows

    assert rows.tolist() == sorted(rows.tolist())
