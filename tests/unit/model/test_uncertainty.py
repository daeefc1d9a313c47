import numpy as np
import pytest

from model.arrays import Probabilities, Uncertainty
from model.uncertainty import confidence, entropy, margin

MEASURES = [margin, entropy, confidence]


@pytest.mark.parametrize("measure", MEASURES)
def test_a_sure_answer_is_0_and_equal_probabilities_are_1(measure: object) -> None:
    probabilities = np.array([[1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]])

    uncertainty = _apply(measure, probabilities)

    np.testing.assert_allclose(uncertainty, [0.0, 1.0], atol=1e-12)


@pytest.mark.parametrize("measure", MEASURES)
def test_a_single_class_leaves_everything_uncertain(measure: object) -> None:
    uncertainty = _apply(measure, np.ones((3, 1)))

    assert uncertainty.tolist() == [1.0, 1.0, 1.0]


def test_margin_looks_at_the_two_likeliest_classes_only() -> None:
    uncertainty = margin(np.array([[0.1, 0.5, 0.4], [0.4, 0.0, 0.6]]))

    np.testing.assert_allclose(uncertainty, [0.9, 0.8])


def test_two_classes_that_share_everything_are_margin_1_but_not_entropy_1() -> None:
    shared = np.array([[0.5, 0.5, 0.0]])

    np.testing.assert_allclose(margin(shared), [1.0])
    np.testing.assert_allclose(entropy(shared), [np.log(2) / np.log(3)])
    np.testing.assert_allclose(confidence(shared), [0.75])


def _apply(measure: object, probabilities: Probabilities) -> Uncertainty:
    assert callable(measure)
    return np.asarray(measure(probabilities))
