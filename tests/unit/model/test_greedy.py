import numpy as np
import pytest

from model import greedy
from model.arrays import NO_ROWS, Mask, Rows
from model.greedy import FRONT, REFRESHED_AT_ONCE, Gains, maximise


class Boxes:
    """Rows lie in boxes; the first one chosen from a box halves the gains of the others in it."""

    def __init__(
        self,
        values: Gains,
        box: Rows,
        *,
        slack: float = 0.0,
        exact: bool = False,
        foreseen: bool = False,
        tie: float = 1e-12,
    ) -> None:
        self.values = values.astype(np.float64)
        self.box = box
        self.slack = slack  # share by which the bounds are too high
        self.exact = exact
        self.at_hand = foreseen
        self.tie = tie
        self.opened = np.zeros(int(box.max(initial=0)) + 1, dtype=np.bool_)
        self.questions = 0
        self.bounded: list[int] = []  # every row whose bound was asked for
        self.looked_at: list[int] = []  # every row whose gain was

    def foreseen(self) -> tuple[Rows, Gains]:
        if not self.at_hand or self.opened.any():
            return NO_ROWS, np.empty(0)
        rows = np.arange(len(self.values))
        return rows, self._gains(rows) * (1.0 + self.slack)

    def bounds(self, rows: Rows) -> Gains:
        self.questions += 1
        self.bounded += rows.tolist()
        return self._gains(rows) * (1.0 + self.slack)

    def gains(self, rows: Rows) -> Gains:
        self.looked_at += rows.tolist()
        return self._gains(rows)

    def add(self, row: int) -> None:
        self.opened[self.box[row]] = True

    def _gains(self, rows: Rows) -> Gains:
        return np.where(self.opened[self.box[rows]], 0.5, 1.0) * self.values[rows]


def plainly(values: Gains, box: Rows, count: int) -> list[int]:
    """The same choices, by looking at all rows every time."""
    objective, free = Boxes(values, box), np.ones(len(values), dtype=np.bool_)
    rows: list[int] = []
    for _ in range(count):
        gains = np.where(free, objective.gains(np.arange(len(values))), -np.inf)
        rows.append(int(np.argmax(gains >= gains.max() - objective.tie)))
        free[rows[-1]] = False
        objective.add(rows[-1])
    return rows


def everything(size: int) -> Mask:
    return np.ones(size, dtype=np.bool_)


def boxes(seed: int, size: int, count: int) -> tuple[Gains, Rows]:
    generator = np.random.default_rng(seed)
    return generator.random(size), generator.integers(count, size=size)


@pytest.mark.parametrize("size", [1, 50, FRONT, FRONT + 1, 3 * FRONT])
@pytest.mark.parametrize("slack", [0.0, 1e-3, 0.5])
@pytest.mark.parametrize("foreseen", [False, True])
def test_chooses_what_looking_at_all_rows_would(size: int, slack: float, foreseen: bool) -> None:
    values, box = boxes(0, size, 20)
    count = min(size, 30)

    chosen = maximise(Boxes(values, box, slack=slack, foreseen=foreseen), everything(size), count)

    assert chosen.rows.tolist() == plainly(values, box, count)


def test_bounds_that_are_the_gains_need_no_second_look() -> None:
    values, box = boxes(1, 500, 10)
    objective = Boxes(values, box, exact=True)

    chosen = maximise(objective, everything(500), 40)

    assert chosen.rows.tolist() == plainly(values, box, 40)
    assert objective.looked_at == []


def test_more_rows_than_the_front_holds_can_be_chosen() -> None:
    size = FRONT + 500
    values, box = np.random.default_rng(2).permutation(size) / size, np.arange(size)

    chosen = maximise(Boxes(values, box, slack=1e-3, foreseen=True), everything(size), size)

    assert chosen.rows.tolist() == np.argsort(-values).tolist()


def test_the_best_row_is_found_behind_a_front_of_high_bounds() -> None:
    size = 3 * FRONT
    values, box = np.linspace(1.0, 1.1, size), np.zeros(size, dtype=np.int64)
    box[-1] = 1  # once the other box is open, the last row is the best one, far behind the front
    values[-1] = 0.6

    chosen = maximise(Boxes(values, box, foreseen=True), everything(size), 2)

    assert chosen.rows.tolist() == [size - 2, size - 1]


def test_gains_are_those_at_the_moment_of_the_choice() -> None:
    values, box = np.array([3.0, 2.9, 1.0]), np.array([0, 0, 1])

    chosen = maximise(Boxes(values, box, slack=0.2), everything(3), 3)

    assert chosen.rows.tolist() == [0, 1, 2]
    np.testing.assert_allclose(chosen.gains, [3.0, 1.45, 1.0], atol=1e-15)


@pytest.mark.parametrize("slack", [0.0, 0.1])
@pytest.mark.parametrize("exact", [False, True])
def test_equal_gains_go_to_the_lowest_row(slack: float, exact: bool) -> None:
    size = FRONT + 300
    objective = Boxes(np.ones(size), np.arange(size), slack=slack * (not exact), exact=exact)

    chosen = maximise(objective, everything(size), 50)

    assert chosen.rows.tolist() == list(range(50))


def test_gains_within_the_tie_are_equal_and_beyond_it_are_not() -> None:
    values = np.array([1.0 - 3e-3, 1.0 - 0.5e-3, 1.0])

    chosen = maximise(Boxes(values, np.arange(3), slack=0.1, tie=1e-3), everything(3), 3)

    assert chosen.rows.tolist() == [1, 2, 0]


def test_where_nothing_is_gained_the_rows_come_in_their_order() -> None:
    available = everything(100)
    available[[0, 7]] = False

    chosen = maximise(Boxes(np.zeros(100), np.arange(100)), available, 10)

    assert chosen.rows.tolist() == [1, 2, 3, 4, 5, 6, 8, 9, 10, 11]
    assert chosen.gains.tolist() == [0.0] * 10


def test_rows_that_are_not_available_are_neither_chosen_nor_looked_at() -> None:
    values, box = boxes(3, 200, 5)
    available = values < 0.5
    objective = Boxes(values, box, slack=0.1, foreseen=True)

    chosen = maximise(objective, available, 300)

    assert sorted(chosen.rows.tolist()) == np.flatnonzero(available).tolist()
    assert set(objective.bounded) | set(objective.looked_at) <= set(chosen.rows.tolist())


@pytest.mark.parametrize("count", [0, -1])
def test_nothing_wanted_is_nothing_asked(count: int) -> None:
    objective = Boxes(np.ones(5), np.arange(5))

    chosen = maximise(objective, everything(5), count)

    assert len(chosen.rows) == len(objective.bounded) == 0


def test_after_the_first_choice_few_rows_are_looked_at() -> None:
    values, box = boxes(4, 4000, 400)
    objective = Boxes(values, box, slack=1e-6)

    maximise(objective, everything(4000), 1)
    first = len(objective.bounded)
    objective = Boxes(values, box, slack=1e-6)
    maximise(objective, everything(4000), 50)

    assert first == 4000
    assert len(objective.bounded) - first <= 49 * 2 * REFRESHED_AT_ONCE
    assert len(objective.looked_at) <= 2 * 50


def test_the_first_choice_takes_few_questions() -> None:
    objective = Boxes(*boxes(7, 4000, 400))

    maximise(objective, everything(4000), 1)

    assert objective.questions <= np.log2(4000 / REFRESHED_AT_ONCE) + 1


def test_bounds_at_hand_are_not_asked_for_again() -> None:
    values, box = boxes(5, 4000, 400)
    objective = Boxes(values, box, slack=1e-6, foreseen=True)

    chosen = maximise(objective, everything(4000), 1)

    assert chosen.rows.tolist() == [int(np.argmax(values))]
    assert objective.bounded == []
    assert len(objective.looked_at) <= 2


def test_rows_behind_the_front_are_left_alone_while_the_best_row_is_in_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    size = 8 * FRONT
    fronts: list[int] = []
    find = greedy._LazyGreedy._find_front

    def recorded(self: greedy._LazyGreedy, rows: int) -> None:
        fronts.append(rows)
        find(self, rows)

    monkeypatch.setattr(greedy._LazyGreedy, "_find_front", recorded)

    maximise(Boxes(*boxes(6, size, size), slack=1e-6, foreseen=True), everything(size), 20)

    assert max(fronts) == FRONT


def test_the_share_that_is_done_ends_at_1_even_if_more_rows_are_wanted_than_there_are() -> None:
    shares: list[float] = []

    maximise(Boxes(np.ones(4), np.arange(4)), everything(4), 9, shares.append)

    assert (np.diff(shares) > 0).all()
    assert shares[-1] == 1.0
