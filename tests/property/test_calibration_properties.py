import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from model.arrays import Logits
from model.calibration import (
    TEMPERATURES,
    best_temperature,
    expected_calibration_error,
    log_loss,
    softmax,
)
from model.uncertainty import confidence, entropy, margin
from tests.support import reference

Answers = tuple[Logits, NDArray[np.int64]]
temperatures = st.floats(1.0, 20.0)


@st.composite
def answers(draw: st.DrawFn) -> Answers:
    """Logits of all sizes, some of them impossible, and the columns of the right classes."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, columns = draw(st.integers(1, 40)), draw(st.integers(2, 6))
    logits = generator.normal(size=(rows, columns)) * draw(st.sampled_from([0.0, 1.0, 10.0, 1e4]))
    if draw(st.booleans()):
        logits[generator.random(rows) < 0.3, 1] = -np.inf
    return logits, generator.integers(columns, size=rows)


@given(answers(), temperatures)
def test_rows_sum_to_1_and_are_never_nan(given_answers: Answers, temperature: float) -> None:
    probabilities = softmax(given_answers[0], temperature)

    assert (probabilities >= 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-12)


@given(answers(), temperatures)
def test_the_likeliest_class_stays_the_likeliest(
    given_answers: Answers, temperature: float
) -> None:
    logits, _ = given_answers

    probabilities = softmax(logits, temperature)

    winners = probabilities[np.arange(len(logits)), logits.argmax(axis=1)]
    np.testing.assert_array_equal(winners, probabilities.max(axis=1))


@given(answers(), temperatures, st.floats(-100, 100))
def test_adding_a_constant_to_a_row_changes_nothing(
    given_answers: Answers, temperature: float, constant: float
) -> None:
    logits, _ = given_answers

    np.testing.assert_allclose(
        softmax(logits + constant, temperature), softmax(logits, temperature), atol=1e-9
    )


@given(answers(), temperatures)
def test_every_uncertainty_lies_between_0_and_1(given_answers: Answers, temperature: float) -> None:
    probabilities = softmax(given_answers[0], temperature)

    for measure in (margin, entropy, confidence):
        uncertainty = measure(probabilities)
        assert ((uncertainty >= 0) & (uncertainty <= 1)).all()


@given(answers(), temperatures)
def test_margin_is_the_papers(given_answers: Answers, temperature: float) -> None:
    probabilities = softmax(given_answers[0], temperature)

    expected = [reference.margin(row) for row in probabilities.tolist()]
    np.testing.assert_allclose(margin(probabilities), expected, atol=1e-12)


@given(answers(), temperatures, st.integers(1, 20))
def test_calibration_error_is_that_of_the_definition(
    given_answers: Answers, temperature: float, bins: int
) -> None:
    logits, right = given_answers
    probabilities = softmax(logits, temperature)

    error = expected_calibration_error(probabilities, right, bins)

    expected = reference.expected_calibration_error(probabilities.tolist(), right.tolist(), bins)
    np.testing.assert_allclose(error, expected, atol=1e-9)
    assert 0 <= error <= 1 + 1e-12


@given(answers())
def test_the_temperature_is_a_candidate_and_no_candidate_is_better(
    given_answers: Answers,
) -> None:
    logits, right = given_answers

    temperature = best_temperature(logits, right)

    def errors(candidate: float) -> tuple[float, float]:
        probabilities = softmax(logits, candidate)
        error = expected_calibration_error(probabilities, right)
        return error, log_loss(probabilities, right)

    assert temperature in TEMPERATURES
    reached_error, reached_loss = errors(temperature)
    for candidate in TEMPERATURES[::10]:
        error, loss = errors(float(candidate))
        assert reached_error <= error + 1e-11
        assert abs(reached_error - error) > 1e-11 or reached_loss <= loss + 1e-9


@given(answers(), st.sampled_from([0.25, 0.5, 2.0, 4.0]))
def test_larger_logits_need_a_temperature_larger_by_as_much(
    given_answers: Answers, factor: float
) -> None:
    logits, right = given_answers

    temperature = best_temperature(logits, right)
    scaled = best_temperature(logits * factor, right, TEMPERATURES * factor)

    assert scaled == temperature * factor


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1.5, 3.0, 6.0]))
def test_finds_the_temperature_that_labels_were_drawn_with(seed: int, drawn_with: float) -> None:
    generator = np.random.default_rng(seed)
    logits = generator.normal(scale=2.0 * drawn_with, size=(8_000, 4))
    drawn = softmax(logits, drawn_with).cumsum(axis=1) > generator.random((8_000, 1))

    temperature = best_temperature(logits, drawn.argmax(axis=1), TEMPERATURES[::5])

    assert abs(temperature - drawn_with) <= 0.25 * drawn_with + 0.25
