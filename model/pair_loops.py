"""Inner loops over pairs that lie row by row, compiled as those of `loops` are."""

import numpy as np
from numpy.typing import NDArray

from model.arrays import Rows
from model.loops import Doubles, Floats, compiled

PairArrays = tuple[Rows, NDArray[np.int32], Floats]  # where each row's begin, points, similarities


@compiled("Tuple((i8[::1], i4[::1], f4[::1]))(i8[::1], i4[::1], f4[::1], f8[::1])")
def within(
    starts: NDArray[np.int64],
    points: NDArray[np.int32],
    similarities: Floats,
    squared: Doubles,
) -> tuple[NDArray[np.int64], NDArray[np.int32], Floats]:
    """The pairs of all rows that are nearer than a squared distance, which every point has.

    Args:
        starts: (rows + 1,), where the pairs of each row begin.
        points: (pairs,).
        similarities: (pairs,), minus their squared distances.
        squared: Of all points.

    Returns:
        The same three of the pairs that are left.
    """
    begins = np.zeros(len(starts), dtype=np.int64)
    for row in range(len(starts) - 1):
        count = np.int64(0)
        for pair in range(starts[row], starts[row + 1]):
            count += np.int64(-similarities[pair] < squared[points[pair]])
        begins[row + 1] = begins[row] + count
    left_points = np.empty(begins[-1], dtype=np.int32)
    left_similarities = np.empty(begins[-1], dtype=np.float32)
    place = 0
    for pair in range(starts[0], starts[-1]):
        if -similarities[pair] < squared[points[pair]]:
            left_points[place], left_similarities[place] = points[pair], similarities[pair]
            place += 1
    return begins, left_points, left_similarities


@compiled("f8[::1](i8[::1], i8[::1], i4[::1], f4[::1], i8)")
def shortest(
    begins: Rows, ends: Rows, points: NDArray[np.int32], similarities: Floats, count: int
) -> Doubles:
    """The least squared distance that each of `count` points has in the pairs of some rows.

    Args:
        begins: Where the pairs of each row begin.
        ends: Where they end.
        points: (pairs,).
        similarities: (pairs,), minus their squared distances.
        count: How many points there are.
    """
    squared = np.full(count, np.inf)
    for row in range(len(begins)):
        for pair in range(begins[row], ends[row]):
            point = points[pair]
            squared[point] = min(squared[point], -similarities[pair])
    return squared


@compiled("Tuple((i8[::1], i8[::1]))(i8[::1], i8[::1], i4[::1], f4[::1], f8[::1])")
def no_farther(
    begins: Rows, ends: Rows, points: NDArray[np.int32], similarities: Floats, squared: Doubles
) -> tuple[Rows, Rows]:
    """Which pairs of some rows are no farther than a squared distance, which every point has.

    Args:
        begins: As in `shortest`, like the next three.
        ends: Likewise.
        points: Likewise.
        similarities: Likewise.
        squared: Of all points.

    Returns:
        Which of the rows each one belongs to, and its point.
    """
    found = 0
    for row in range(len(begins)):
        for pair in range(begins[row], ends[row]):
            if -similarities[pair] <= squared[points[pair]]:
                found += 1
    rows_found, points_found = np.empty(found, dtype=np.int64), np.empty(found, dtype=np.int64)
    place = 0
    for row in range(len(begins)):
        for pair in range(begins[row], ends[row]):
            if -similarities[pair] <= squared[points[pair]]:
                rows_found[place], points_found[place] = row, points[pair]
                place += 1
    return rows_found, points_found


@compiled("Tuple((i4[::1], f4[::1]))(UniTuple(Tuple((i8[::1], i4[::1], f4[::1])), 2))")
def joined(both: tuple[PairArrays, PairArrays]) -> tuple[NDArray[np.int32], Floats]:
    """The points and similarities of two lots of pairs, of each row those of the first before."""
    total = len(both[0][1]) + len(both[1][1])
    all_points = np.empty(total, dtype=np.int32)
    all_similarities = np.empty(total, dtype=np.float32)
    place = 0
    for row in range(len(both[0][0]) - 1):
        for starts, points, similarities in both:
            for pair in range(starts[row], starts[row + 1]):
                all_points[place], all_similarities[place] = points[pair], similarities[pair]
                place += 1
    return all_points, all_similarities


@compiled("f8[::1](i8[::1], i8[::1], i4[::1], f4[::1], f8[::1], f8[::1])")
def rises_of_pairs(
    begins: Rows,
    ends: Rows,
    points: NDArray[np.int32],
    similarities: Floats,
    covered: Doubles,
    weights: Doubles,
) -> Doubles:
    """What some rows would add; of each only its pairs, from begin to end, are looked at."""
    sums = np.zeros(len(begins))
    for row in range(len(begins)):
        total = 0.0
        for pair in range(begins[row], ends[row]):
            point = points[pair]
            total += max(similarities[pair] - covered[point], 0.0) * weights[point]
        sums[row] = total
    return sums
