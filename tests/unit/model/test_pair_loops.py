"""The compiled loops over pairs, and the same as Python runs them."""

import numpy as np
import pytest

from model import pair_loops
from tests.support.loops import Loop, both

# The pairs of three rows: 0 has three, 1 has none, 2 has two.
BEGINS, ENDS = np.array([0, 3, 3]), np.array([3, 3, 5])
POINTS = np.array([0, 1, 2, 0, 2], dtype=np.int32)
SIMILARITIES = np.array([-1.0, -1.0, -1.0, -3.0, 0.0], dtype=np.float32)


@pytest.mark.parametrize("within", both(pair_loops.within))
@pytest.mark.parametrize("starts", [[0, 3, 3, 5], [0, 0, 0, 5], [0, 5, 5, 5]])
def test_pairs_nearer_than_what_their_point_allows_are_left(
    within: Loop, starts: list[int]
) -> None:
    begins, left, kept = within(
        np.array(starts), POINTS, SIMILARITIES, np.array([2.0, -np.inf, 1.0])
    )

    nearer = np.array([True, False, False, False, True])
    assert left.tolist() == POINTS[nearer].tolist()
    assert kept.tolist() == SIMILARITIES[nearer].tolist()
    assert begins.tolist() == [int(nearer[:start].sum()) for start in starts]


@pytest.mark.parametrize("rises", both(pair_loops.rises_of_pairs))
def test_rises_of_pairs_are_those_of_the_pairs_alone(rises: Loop) -> None:
    points = np.array([2, 0, 1, 2], dtype=np.int32)
    similarities = np.array([0.5, 0.25, 0.75, 1.0], dtype=np.float32)
    covered, weights = np.array([0.0, 0.25, 0.75]), np.array([1.0, 2.0, 4.0])

    found = rises(np.array([0, 1, 3]), np.array([1, 4, 3]), points, similarities, covered, weights)

    assert found.tolist() == [0.0, 0.25 + 1.0 + 1.0, 0.0]


@pytest.mark.parametrize("shortest", both(pair_loops.shortest))
def test_the_shortest_distance_of_a_point_is_that_of_its_nearest_row(shortest: Loop) -> None:
    every = shortest(BEGINS, ENDS, POINTS, SIMILARITIES, 4)
    last = shortest(BEGINS[2:], ENDS[2:], POINTS, SIMILARITIES, 4)

    assert every.tolist() == [1.0, 1.0, 0.0, np.inf]
    assert last.tolist() == [3.0, np.inf, 0.0, np.inf]


@pytest.mark.parametrize("no_farther", both(pair_loops.no_farther))
def test_pairs_as_far_as_their_point_allows_are_found_with_their_rows(no_farther: Loop) -> None:
    rows, points = no_farther(BEGINS, ENDS, POINTS, SIMILARITIES, np.array([3.0, 0.9, 0.0]))

    assert rows.tolist() == [0, 2, 2]
    assert points.tolist() == [0, 0, 2]


@pytest.mark.parametrize("joined", both(pair_loops.joined))
def test_joined_pairs_lie_row_by_row(joined: Loop) -> None:
    left = (np.array([0, 3, 3, 5]), POINTS, SIMILARITIES)
    right = (np.array([0, 0, 2, 3]), POINTS[:3] + np.int32(7), SIMILARITIES[:3] - np.float32(1.0))

    points, similarities = joined((left, right))

    assert points.tolist() == [0, 1, 2, 7, 8, 0, 2, 9]
    assert similarities.tolist() == [-1.0, -1.0, -1.0, -2.0, -2.0, -3.0, 0.0, -2.0]
