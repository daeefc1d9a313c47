import subprocess
import sys

import numpy as np
import pytest

from model.arrays import UNLABELED, Features, Inputs, Labels
from model.calibration import softmax
from model.classifier import Classifier, train
from model.errors import ModelError
from model.pipeline import predict, rank_pool
from model.radius import TYPICAL
from model.situation import PAPERS, Adaptation
from model.strategies import STRATEGIES
from model.uncertainty import margin

CLASSES = 4


def pool(size: int, seed: int = 0) -> tuple[Features, Labels]:
    generator = np.random.default_rng(seed)
    truth = generator.integers(3, size=size)
    points = np.eye(6)[truth] + generator.normal(scale=0.4, size=(size, 6))
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    return unit.astype(np.float32), truth.astype(np.int64)


def labels_for(truth: Labels, count: int) -> Labels:
    labels = np.full(len(truth), UNLABELED)
    labels[:count] = truth[:count]
    return labels


def test_without_labels_chooses_by_coverage_and_says_so() -> None:
    features, truth = pool(30)

    ranking = rank_pool(features, labels_for(truth, 0), class_count=CLASSES, count=5)

    assert len(ranking.selection.rows) == 5
    assert ranking.classifier is None
    assert ranking.uncertainty.tolist() == [1.0] * 30
    assert (ranking.probabilities == 1 / CLASSES).all()
    assert ranking.coverage == 0.0
    assert ranking.warnings == (
        "There are no labels yet: no image is more uncertain than another.",
    )


def test_with_one_class_only_chooses_by_coverage_and_says_so() -> None:
    features, _ = pool(30)
    labels = np.full(30, UNLABELED)
    labels[:12] = 2

    ranking = rank_pool(features, labels, class_count=CLASSES, count=5)

    assert ranking.uncertainty.tolist() == [0.0] * 12 + [1.0] * 18
    assert (ranking.probabilities == np.eye(CLASSES)[2]).all()
    assert "coverage alone" in ranking.warnings[0]
    assert ranking.temperature == 1.0


def test_with_labels_the_uncertainty_is_the_calibrated_margin() -> None:
    features, truth = pool(80)

    ranking = rank_pool(features, labels_for(truth, 40), class_count=CLASSES, count=5)

    assert ranking.classifier is not None
    logits = ranking.classifier.logits(features)
    expected = margin(softmax(logits, ranking.temperature))
    expected[:40] = 0.0
    np.testing.assert_allclose(ranking.uncertainty, expected, atol=1e-12)
    assert ranking.warnings == ("1 of 4 classes have no label yet: they cannot be predicted.",)
    assert ranking.calibration.fitted


def test_a_class_without_labels_has_probability_0() -> None:
    features, truth = pool(80)

    ranking = rank_pool(features, labels_for(truth, 40), class_count=CLASSES, count=5)

    assert ranking.probabilities.shape == (80, CLASSES)
    assert (ranking.probabilities[:, 3] == 0).all()
    np.testing.assert_allclose(ranking.probabilities.sum(axis=1), 1.0)


def test_never_chooses_labelled_rows_or_rows_that_are_no_candidates() -> None:
    features, truth = pool(60)
    candidates = np.arange(60) % 2 == 0

    ranking = rank_pool(
        features, labels_for(truth, 30), class_count=CLASSES, count=99, candidates=candidates
    )

    assert sorted(ranking.selection.rows.tolist()) == list(range(30, 60, 2))


def test_more_labels_cover_more_of_the_pool_at_one_radius() -> None:
    features, truth = pool(60)

    ranking = rank_pool(features, labels_for(truth, 20), class_count=CLASSES, count=1)

    assert 20 / 60 <= ranking.coverage <= 1.0


def test_a_pool_that_is_labelled_completely_has_nothing_to_choose() -> None:
    features, truth = pool(40)

    ranking = rank_pool(features, truth, class_count=CLASSES, count=5)

    assert ranking.selection.rows.tolist() == []
    assert ranking.coverage == pytest.approx(1.0)


def test_an_empty_pool_is_ranked_too() -> None:
    ranking = rank_pool(
        np.empty((0, 6), dtype=np.float32), np.empty(0, dtype=np.int64), class_count=2, count=5
    )

    assert ranking.selection.rows.tolist() == []
    assert ranking.probabilities.shape == (0, 2)


def test_gains_that_are_estimates_are_told_with_their_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    features, truth = pool(1_100)
    monkeypatch.setattr("model.large.EXACT_UP_TO", 1_000)
    monkeypatch.setattr("model.large.SAMPLE", 400)

    ranking = rank_pool(features, labels_for(truth, 0), class_count=CLASSES, count=2)

    assert 0.1 < ranking.selection.error < 1.0
    assert f"off by at most {ranking.selection.error:.2f}" in ranking.warnings[-1]


def test_copies_among_the_labels_are_a_warning() -> None:
    features, truth = pool(60)
    features[1] = features[0]

    ranking = rank_pool(features, labels_for(truth, 30), class_count=CLASSES, count=5)

    assert any("nearly identical" in warning for warning in ranking.warnings)


def test_tells_every_step_and_its_time() -> None:
    features, truth = pool(40)
    steps: list[str] = []

    ranking = rank_pool(
        features, labels_for(truth, 20), class_count=CLASSES, count=5, on_step=steps.append
    )

    assert steps == ["classifier", "calibration", "selection"]
    assert list(ranking.seconds) == steps
    assert all(seconds >= 0 for seconds in ranking.seconds.values())


def test_the_same_input_gives_the_same_ranking() -> None:
    features, truth = pool(80)
    labels = labels_for(truth, 40)

    first = rank_pool(features, labels, class_count=CLASSES, count=20, seed=3)
    second = rank_pool(features, labels, class_count=CLASSES, count=20, seed=3)

    assert first.selection.rows.tolist() == second.selection.rows.tolist()
    np.testing.assert_array_equal(first.probabilities, second.probabilities)


def test_the_adaptation_decides_how_often_is_trained_and_which_radius_is_taken() -> None:
    features, truth = pool(60)
    labels = labels_for(truth, 30)
    trained: list[int] = []

    def fit(inputs: Inputs, labels: Labels, *, seed: int) -> Classifier:
        trained.append(len(labels))
        return train(inputs, labels, seed=seed)

    one_split = Adaptation(splits=1, quantile=TYPICAL)
    once = rank_pool(features, labels, class_count=CLASSES, count=1, fit=fit, adaptation=one_split)
    to_the_letter = rank_pool(features, labels, class_count=CLASSES, count=1, adaptation=PAPERS)
    usual = rank_pool(features, labels, class_count=CLASSES, count=1)

    assert trained == [30, 15]  # all labels, and half of them to calibrate
    assert once.radius == usual.radius > to_the_letter.radius


def test_the_classifier_may_see_something_else_than_the_strategy() -> None:
    features, truth = pool(60)
    labels = labels_for(truth, 30)
    inputs = pool(60, seed=1)[0]

    ranking = rank_pool(
        features,
        labels,
        class_count=CLASSES,
        count=5,
        strategy=STRATEGIES["maxherding"],
        inputs=inputs,
    )

    usual = rank_pool(
        features, labels, class_count=CLASSES, count=5, strategy=STRATEGIES["maxherding"]
    )
    assert ranking.selection.rows.tolist() == usual.selection.rows.tolist()
    again = predict(ranking.classifier, ranking.temperature, inputs, CLASSES)
    np.testing.assert_allclose(again, ranking.probabilities, atol=1e-12)
    assert not np.allclose(ranking.probabilities, usual.probabilities)


def test_items_outside_the_pool_are_predicted_alike() -> None:
    features, truth = pool(80)
    ranking = rank_pool(features, labels_for(truth, 40), class_count=CLASSES, count=1)

    again = predict(ranking.classifier, ranking.temperature, features[50:], CLASSES)

    np.testing.assert_allclose(again, ranking.probabilities[50:], atol=1e-12)


@pytest.mark.parametrize("label", [-2, CLASSES])
def test_labels_outside_the_classes_are_refused(label: int) -> None:
    features, truth = pool(10)
    truth[0] = label

    with pytest.raises(ModelError, match="a class from 0 to 3"):
        rank_pool(features, truth, class_count=CLASSES, count=1)


def test_labels_that_do_not_fit_the_pool_are_refused() -> None:
    features, truth = pool(10)

    with pytest.raises(ModelError, match="as many labels"):
        rank_pool(features, truth[:5], class_count=CLASSES, count=1)
    with pytest.raises(ModelError, match="at least one class"):
        rank_pool(features, labels_for(truth, 0), class_count=0, count=1)


def test_importing_the_package_does_not_load_torch() -> None:
    program = "import sys, model; sys.exit('torch' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0  # noqa: S603
