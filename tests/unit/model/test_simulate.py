import numpy as np
import pytest

from model.arrays import UNLABELED
from model.errors import ModelError
from model.greedy import Selection
from model.simulate import LabelledData, Trial
from model.situation import Situation
from model.strategies import STRATEGIES


def blobs(size: int = 90, test: int = 60) -> LabelledData:
    generator = np.random.default_rng(0)
    labels = np.arange(size + test) % 3
    points = np.eye(5)[labels] + generator.normal(scale=0.15, size=(size + test, 5))
    unit = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)
    return LabelledData(unit[:size], labels[:size], unit[size:], labels[size:])


def test_a_curve_has_one_point_for_each_budget() -> None:
    trial = Trial.draw(blobs(), share=0.8, seed=0)

    steps = list(trial.run(STRATEGIES["uherding"], [3, 10, 30]))

    assert [step.labels for step in steps] == [3, 10, 30]
    assert steps[-1].accuracy == 1.0
    assert all(step.seconds > 0 for step in steps)


def test_the_strategy_sees_only_labels_that_it_asked_for() -> None:
    trial = Trial.draw(blobs(), share=1.0, seed=0)
    seen: list[list[int]] = []

    def last_rows(situation: Situation, count: int) -> Selection:
        seen.append(np.flatnonzero(situation.labels != UNLABELED).tolist())
        rows = np.flatnonzero(situation.available)[-count:]
        assert (situation.labels[situation.labeled] == blobs().labels[situation.labeled]).all()
        return Selection(rows, np.zeros(len(rows)))

    list(trial.run(last_rows, [2, 5]))

    assert seen == [[], [88, 89]]


def test_accuracy_counts_classes_without_labels_as_wrong() -> None:
    trial = Trial.draw(blobs(), share=1.0, seed=0)

    def only_class_0(situation: Situation, count: int) -> Selection:
        rows = np.flatnonzero(trial.data.labels == 0)[:count]
        return Selection(rows, np.zeros(len(rows)))

    (step,) = trial.run(only_class_0, [4])

    assert step.accuracy == pytest.approx(1 / 3)


def test_the_same_seed_gives_the_same_curve_and_another_one_another() -> None:
    def accuracies(seed: int) -> list[float]:
        trial = Trial.draw(blobs(), share=0.5, seed=seed)
        return [step.accuracy for step in trial.run(STRATEGIES["random"], [3, 4, 5])]

    assert accuracies(1) == accuracies(1)
    assert len({tuple(accuracies(seed)) for seed in range(6)}) > 1


def test_every_strategy_of_a_seed_draws_from_the_same_pool() -> None:
    first = Trial.draw(blobs(), share=0.5, seed=4).data
    second = Trial.draw(blobs(), share=0.5, seed=4).data

    assert len(first.features) == 45
    np.testing.assert_array_equal(first.features, second.features)
    np.testing.assert_array_equal(first.test_features, blobs().test_features)


def test_budgets_beyond_the_pool_are_left_out() -> None:
    trial = Trial.draw(blobs(), share=0.5, seed=0)

    assert [step.labels for step in trial.run(STRATEGIES["margin"], [40, 45, 46])] == [40, 45]


@pytest.mark.parametrize("share", [0.0, -1.0, 1.1])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(ModelError, match="share of the pool"):
        Trial.draw(blobs(), share=share, seed=0)


def test_arrays_that_do_not_fit_together_are_refused() -> None:
    data = blobs()

    with pytest.raises(ModelError, match="test_features needs one row and one label"):
        LabelledData(data.features, data.labels, data.test_features, data.labels)
