import numpy as np
import pytest

from model.pairs import Fragment, Pairs, PairsBuilder, merged


def pairs_of(*points: list[int]) -> Pairs:
    """The points of each candidate; a pair's similarity is 0.01 x the point."""
    flat = np.concatenate([np.array(some, dtype=np.int32) for some in points])
    starts = np.concatenate([[0], np.cumsum([len(some) for some in points])])
    return Pairs(starts, flat, (0.01 * flat).astype(np.float32))


def points_of(pairs: Pairs) -> list[list[int]]:
    """The points of each candidate, in any order."""
    return [
        sorted(pairs.points[pairs.of(candidate)].tolist())
        for candidate in range(len(pairs.starts) - 1)
    ]


def fragment(*points: list[int]) -> Fragment:
    """The points of each candidate of the block; a pair's similarity is 0.01 x the point."""
    flat = np.concatenate([np.array(some, dtype=np.uint16) for some in points])
    counts = np.array([len(some) for some in points])
    return Fragment(counts, flat, (0.01 * flat).astype(np.float32))


def built(builder: PairsBuilder) -> Pairs:
    for block in range(len(builder.fragments)):
        builder.finish(block)
    return builder.build()


def test_the_pairs_of_a_candidate_lie_together() -> None:
    pairs = pairs_of([4, 2], [], [7], [1, 3, 5])

    assert len(pairs) == 6
    assert pairs.points[pairs.of(0)].tolist() == [4, 2]
    assert pairs.points[pairs.of(1)].tolist() == []
    assert pairs.points[pairs.of(3)].tolist() == [1, 3, 5]


def test_it_is_told_where_the_pairs_of_some_candidates_begin_and_end() -> None:
    pairs = pairs_of([4, 2], [], [7], [1, 3, 5])

    begins, ends = pairs.ends(np.array([3, 1, 0]))

    assert begins.tolist() == [3, 2, 0]
    assert ends.tolist() == [6, 2, 2]


def test_fragments_may_come_in_any_order() -> None:
    builder = PairsBuilder(size=7, block=3)
    builder.add(2, 1, fragment([2]))
    builder.add(0, 2, fragment([0], [], [0]))
    builder.add(2, 0, fragment([1]))
    builder.add(0, 0, fragment([1], [], [1, 2]))

    pairs = built(builder)

    assert points_of(pairs) == [[1, 6], [], [1, 2, 6], [], [], [], [1, 5]]


def test_there_may_be_ever_more_pairs() -> None:
    builder = PairsBuilder(size=60, block=2)
    for block in range(30):
        for other in range(block + 1):
            builder.add(block, other, fragment([0, 1], [0, 1]))

    pairs = built(builder)

    assert points_of(pairs) == [list(range(row // 2 * 2 + 2)) for row in range(60)]


def test_rows_may_be_called_otherwise_in_the_result() -> None:
    builder = PairsBuilder(size=3, block=2, rows=np.array([2, 0, 1]))
    builder.add(0, 0, fragment([1], [0]))  # of 2 with 0, and of 0 with 2
    builder.add(1, 0, fragment([0, 1]))  # of 1 with 2 and 0

    pairs = built(builder)

    assert points_of(pairs) == [[2], [0, 2], [0]]
    begins, ends = pairs.ends(np.array([2, 1]))
    assert (ends - begins).tolist() == [1, 2]
    assert pairs.points[begins].tolist() == [0, 2]


def test_similarities_stay_with_their_pairs() -> None:
    builder = PairsBuilder(size=4, block=2)
    builder.add(1, 0, fragment([0, 1], [1]))
    builder.add(0, 0, fragment([], [1]))

    pairs = built(builder)

    np.testing.assert_allclose(pairs.similarities, 0.01 * pairs.points, rtol=1e-6)


@pytest.mark.parametrize("size", [0, 1, 6])
def test_where_nothing_was_found_there_are_no_pairs(size: int) -> None:
    pairs = built(PairsBuilder(size, block=3))

    assert points_of(pairs) == [[]] * size


def test_merged_pairs_are_those_of_both() -> None:
    left, right = pairs_of([1, 9], [], [3], []), pairs_of([], [4], [8, 2], [])

    both = merged(left, right)

    assert points_of(both) == [[1, 9], [4], [2, 3, 8], []]
    np.testing.assert_allclose(both.similarities, 0.01 * both.points, rtol=1e-6)
