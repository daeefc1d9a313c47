from pathlib import Path

import numpy as np
import pytest

from model.arrays import UNLABELED, Features
from model.greedy import Selection
from model.names import BY_COVERAGE
from model.situation import Situation
from model.strategies import STRATEGIES
from tests.support.pools import clustered
from uherding_backend import first_choice
from uherding_backend.first_choice import FirstChoice

POOL = clustered(0, 80, 8)


def situation(features: Features = POOL, *, seed: int = 0, labeled: int = 0) -> Situation:
    labels = np.where(np.arange(len(features)) < labeled, np.arange(len(features)) % 2, UNLABELED)
    return Situation(features, labels, labels == UNLABELED, seed, class_count=2)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows the strategy was asked for, each time."""
    counts: list[int] = []
    choose = STRATEGIES["uherding"]

    def watched(here: Situation, count: int) -> Selection:
        counts.append(count)
        return choose(here, count)

    monkeypatch.setitem(STRATEGIES, "uherding", watched)
    return counts


@pytest.mark.parametrize("name", BY_COVERAGE)
def test_without_labels_the_choice_is_that_of_the_strategy_whatever_the_seed(
    name: str, tmp_path: Path
) -> None:
    first = FirstChoice(tmp_path, name)(situation(seed=1), 7)
    second = FirstChoice(tmp_path, name)(situation(seed=2), 7)

    expected = STRATEGIES[name](situation(seed=2), 7)
    for chosen in (first, second):
        np.testing.assert_array_equal(chosen.rows, expected.rows)
        np.testing.assert_array_equal(chosen.gains, expected.gains)


def test_the_same_question_is_answered_once(tmp_path: Path, asked: list[int]) -> None:
    for _ in range(3):
        FirstChoice(tmp_path, "uherding")(situation(), 7)

    assert asked == [7]


def test_another_question_gets_its_own_answer(tmp_path: Path, asked: list[int]) -> None:
    fewer = situation()
    fewer.available[3] = False
    questions = [(situation(), 7), (situation(), 8), (fewer, 8), (situation(POOL[:-1]), 8)]

    answers = [FirstChoice(tmp_path, "uherding")(*question) for question in questions]

    assert asked == [7, 8, 8, 8]
    for answer, question in zip(answers, questions, strict=True):
        np.testing.assert_array_equal(answer.rows, STRATEGIES["uherding"](*question).rows)


def test_another_strategy_is_another_question(tmp_path: Path, asked: list[int]) -> None:
    FirstChoice(tmp_path, "maxherding")(situation(), 7)
    FirstChoice(tmp_path, "uherding")(situation(), 7)

    assert asked == [7]


def test_with_labels_nothing_is_remembered(tmp_path: Path, asked: list[int]) -> None:
    for _ in range(2):
        FirstChoice(tmp_path, "uherding")(situation(labeled=10), 7)

    assert asked == [7, 7]
    assert list(tmp_path.iterdir()) == []


def test_an_estimate_stays_an_estimate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    estimate = Selection(np.arange(3), np.ones(3), error=0.25)
    monkeypatch.setitem(STRATEGIES, "uherding", lambda *_: estimate)

    errors = [FirstChoice(tmp_path, "uherding")(situation(), 3).error for _ in range(2)]

    assert errors == [0.25, 0.25]


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_broken_file_is_chosen_again(tmp_path: Path, asked: list[int], share: float) -> None:
    FirstChoice(tmp_path, "uherding")(situation(), 7)
    path = tmp_path / first_choice.FILE
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])

    for _ in range(2):
        FirstChoice(tmp_path, "uherding")(situation(), 7)

    assert asked == [7, 7]
