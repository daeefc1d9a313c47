"""Inner loops, compiled: each looks once at what numpy or torch would look at several times.

Arrays are contiguous (`::1`), or the compiler could not use the processor's vector instructions.
Threads may run these side by side.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from model.arrays import Rows

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Function = TypeVar("Function", bound=Callable[..., Any])

LONGEST_SUM = 1_024  # terms in float32; longer sums would be off by more than 4e-6 of their value
ANY_ORDER = {"reassoc", "nsz", "contract"}  # of the terms of a sum; infinities stay what they are


def compiled(signature: str) -> Callable[[Function], Function]:
    """The same, compiled for arguments of these types; kept on disk if there is a place for it."""

    def compile_(function: Function) -> Function:
        try:
            return _compile(signature, function, keep=True)
        except RuntimeError:  # no folder that numba could write to
            return _compile(signature, function, keep=False)

    return compile_


def _compile(signature: str, function: Function, *, keep: bool) -> Function:
    compile_ = numba.njit(signature, nogil=True, fastmath=ANY_ORDER, cache=keep)
    return cast(Function, compile_(function))


@compiled("f8[::1](f4[:,::1], i8[::1], f4[::1], f4[::1])")
def rises(similarity: Floats, rows: Rows, covered: Floats, weights: Floats) -> Doubles:
    """What some of the rows (rows, points) would add to the coverage of the points, weighted."""
    sums = np.zeros(len(rows))
    for wanted in range(len(rows)):
        row = similarity[rows[wanted]]
        for first in range(0, len(weights), LONGEST_SUM):
            part = slice(first, first + LONGEST_SUM)
            values, floor, weight = row[part], covered[part], weights[part]
            total = np.float32(0.0)
            for point in range(len(weight)):
                total += max(values[point] - floor[point], np.float32(0.0)) * weight[point]
            sums[wanted] += total
    return sums


@compiled("f8[::1](f4[:,::1], i8, u2[::1], i4[::1], f4[:,::1], f4[::1])")
def rises_at_moments(
    similarity: Floats,
    first: int,
    rows: NDArray[np.uint16],
    moments: NDArray[np.int32],
    covered: Floats,
    weights: Floats,
) -> Doubles:
    """What some rows would add to the coverage that there is at some moment.

    Args:
        similarity: (rows, columns) of a block, with LONGEST_SUM columns at most.
        first: Which point the first column is.
        rows: (k,), whose gains are wanted.
        moments: (k,), and when.
        covered: (moments, points).
        weights: (points,).
    """
    sums = np.empty(len(rows))
    part = slice(first, first + similarity.shape[1])
    weight = weights[part]
    for wanted in range(len(rows)):
        row, floor = similarity[rows[wanted]], covered[moments[wanted]][part]
        total = np.float32(0.0)
        for point in range(len(weight)):
            total += max(row[point] - floor[point], np.float32(0.0)) * weight[point]
        sums[wanted] = total
    return sums


@compiled("Tuple((i8[::1], u2[::1], f4[::1]))(f4[:,::1], i8, f4[::1])")
def above(
    similarity: Floats, first: int, thresholds: Floats
) -> tuple[NDArray[np.int64], NDArray[np.uint16], Floats]:
    """The pairs (rows, columns) of a block that are above the threshold of their column.

    Args:
        similarity: (rows, columns).
        first: Which threshold the first column has.
        thresholds: Of all points.

    Returns:
        How many each row has; their columns and similarities, row by row.
    """
    size, width = similarity.shape
    threshold = thresholds[first : first + width]
    counts = np.zeros(size, dtype=np.int64)
    for row in range(size):
        values, count = similarity[row], np.int32(0)
        for column in range(width):
            count += np.int32(values[column] > threshold[column])
        counts[row] = count
    total = counts.sum()
    columns, similarities = np.empty(total, dtype=np.uint16), np.empty(total, dtype=np.float32)
    place = 0
    for row in range(size):
        end, values, column = place + counts[row], similarity[row], 0
        while place < end:
            if values[column] > threshold[column]:
                columns[place], similarities[place] = column, values[column]
                place += 1
            column += 1
    return counts, columns, similarities


@compiled("(i8[::1], u2[::1], f4[::1], i4[::1], i8[::1], Tuple((i4[::1], f4[::1])))")
def lay_out(
    counts: NDArray[np.int64],
    columns: NDArray[np.uint16],
    similarities: Floats,
    names: NDArray[np.int32],
    places: NDArray[np.int64],
    into: tuple[NDArray[np.int32], Floats],
) -> None:
    """Copy the pairs of a block to where they belong.

    Args:
        counts: As `above` returns them.
        columns: Likewise.
        similarities: Likewise.
        names: What the columns are called there.
        places: Where the next pair of each row belongs; counted up.
        into: All names and similarities.
    """
    all_names, all_similarities = into
    source = 0
    for row in range(len(counts)):
        for place in range(places[row], places[row] + counts[row]):
            all_names[place] = names[columns[source]]
            all_similarities[place] = similarities[source]
            source += 1
        places[row] += counts[row]
