import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from model.arrays import Features
from tests.support import reference
from tests.support.pools import Situation, spread, with_copies
from tests.support.ways import Way, choose

CLOSE = 1e-9


@st.composite
def pools(draw: st.DrawFn) -> Features:
    size, seed = draw(st.integers(2, 40)), draw(st.integers(0, 2**32 - 1))
    features = spread(seed, size, draw(st.integers(2, 6)))
    if draw(st.booleans()):
        features = with_copies(features, seed, size)
    if draw(st.booleans()):
        noise = np.random.default_rng(seed).normal(size=features.shape)
        features = with_copies(features, seed, size) + (1e-4 * noise).astype(np.float32)
    if draw(st.booleans()):
        features = features * np.float32(2.0) + np.float32(3.0)
    return features


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    features = draw(pools())
    size = len(features)
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    uncertainty = generator.random(size) if draw(st.booleans()) else np.ones(size)
    uncertainty[generator.random(size) < draw(st.sampled_from([0.0, 0.3, 1.0]))] = 0.0
    labeled = generator.permutation(size)[: draw(st.integers(0, size))]
    radius = draw(st.floats(0.02, 3.0))
    return Situation(features, uncertainty, radius, draw(st.integers(0, 30)), labeled)


@given(situations())
def test_every_way_gives_the_picks_and_gains_of_the_plain_greedy(situation: Situation) -> None:
    chosen = {way: choose(way, situation) for way in Way}

    rows, gains = reference.select(
        situation.features.tolist(),
        situation.uncertainty.tolist(),
        situation.labeled.tolist(),
        situation.count,
        situation.radius,
    )
    assert {way: chosen[way].rows.tolist() for way in Way} == dict.fromkeys(Way, rows)
    for way in Way:
        np.testing.assert_allclose(chosen[way].gains, gains, rtol=0.0, atol=CLOSE)
