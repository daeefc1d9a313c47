from __future__ import annotations

import numpy as np

from model.arrays import Labels, Probabilities
from model.label_errors import suspects

ALL = np.ones(1, dtype=np.bool_)


def sure_of(columns: list[int], classes: int = 3, confidence: float = 0.9) -> Probabilities:
    rest = (1.0 - confidence) / (classes - 1)
    found = np.full((len(columns), classes), rest)
    found[np.arange(len(columns)), columns] = confidence
    return found


def everywhere(columns: Labels) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.ones(len(columns), dtype=np.bool_)


def test_a_label_that_is_contradicted_with_confidence_is_a_suspect() -> None:
    columns = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 0])
    said = sure_of([0, 0, 0, 1, 1, 1, 2, 2, 2, 2], confidence=0.95)

    (found,) = suspects(said, columns, everywhere(columns))

    assert (found.item, found.label, found.instead) == (9, 0, 2)
    assert found.confidence == 0.95


def test_an_unsure_contradiction_is_not() -> None:
    columns = np.array([0, 0, 0, 1, 1, 1, 0])
    said = sure_of([0, 0, 0, 1, 1, 1, 1], classes=2)
    said[6] = [0.4, 0.6]

    assert suspects(said, columns, everywhere(columns)) == []


def test_a_contradiction_that_leaves_something_for_the_label_is_not() -> None:
    columns = np.array([0, 0, 0, 1, 1, 1, 0])
    said = sure_of([0, 0, 0, 1, 1, 1, 1], classes=2)
    said[6] = [0.1, 0.9]  # more than a tenth of the 0.9 that is usual

    assert suspects(said, columns, everywhere(columns)) == []


def test_labels_of_a_class_that_is_hard_to_recognise_are_not_all_errors() -> None:
    columns = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 2])
    said = sure_of([0, 0, 0, 0, 2, 2, 2, 2, 2, 2], confidence=0.98)  # 1 looks like 2
    said[3] = [0.001, 0.0, 0.999]

    found = suspects(said, columns, everywhere(columns))

    assert [one.item for one in found] == [3]


def test_the_label_for_which_least_is_left_comes_first() -> None:
    columns = np.array([0, 0, 0, 0, 0, 1, 1, 1])
    said = sure_of([0, 0, 0, 1, 1, 1, 1, 1], classes=2)
    said[3], said[4] = [0.02, 0.98], [0.01, 0.99]

    found = suspects(said, columns, everywhere(columns))

    assert [one.item for one in found] == [4, 3]


def test_an_answer_of_a_class_that_is_well_recognised_comes_first() -> None:
    columns = np.array([0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2])
    said = sure_of([0, 0, 0, 1, 2, 1, 1, 1, 2, 2, 2], confidence=0.95)
    said[5:8] = [0.2, 0.7, 0.1]

    found = suspects(said, columns, everywhere(columns))

    assert [one.item for one in found] == [4, 3]


def test_what_was_never_held_out_is_not() -> None:
    columns = np.array([0, 0, 0, 1, 1, 1, 0])
    said = sure_of([0, 0, 0, 1, 1, 1, 1])

    assert suspects(said, columns, np.arange(7) != 6) == []


def test_a_class_that_is_hardly_known_contradicts_nobody() -> None:
    columns = np.array([0, 0, 0, 0, 1])
    said = sure_of([0, 0, 0, 1, 1], classes=2)

    assert suspects(said, columns, everywhere(columns)) == []


def test_one_class_only_has_no_suspects() -> None:
    assert suspects(np.ones((4, 1)), np.zeros(4, dtype=np.int64), ALL.repeat(4)) == []


def test_most_planted_errors_are_found_first() -> None:
    generator = np.random.default_rng(0)
    truth = generator.integers(4, size=400)
    logits = generator.normal(size=(400, 4)) + 4.0 * np.eye(4)[truth]
    said = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    columns = truth.copy()
    planted = generator.permutation(400)[:30]
    columns[planted] = (columns[planted] + 1) % 4

    found = [one.item for one in suspects(said, columns, everywhere(columns))]

    first = found[:20]
    assert np.isin(first, planted).mean() >= 0.9
    assert np.isin(planted, found).mean() >= 0.5
