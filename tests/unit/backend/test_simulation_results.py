from __future__ import annotations

import json
from pathlib import Path

import pytest

from model.simulate import Step
from uherding_backend.errors import UHerdingError
from uherding_backend.simulation.results import HEADER, Curve, Results

BUDGETS = (5, 10)
SETTINGS = {"data": "abc", "classifier": "linear"}
RANDOM = Curve("random", 0, (Step(5, 0.5, 0.1234), Step(10, 0.75, 1.0)))
MARGIN = Curve("margin", 0, (Step(5, 0.25, 0.5), Step(10, 1.0, 2.0)))


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results.open(tmp_path / "made" / "here", SETTINGS, BUDGETS)


def again(results: Results, **other: object) -> Results:
    return Results.open(results.directory, {**SETTINGS, **other}, BUDGETS)


def test_curves_come_back_as_they_were_appended(results: Results) -> None:
    results.append(RANDOM)
    results.append(MARGIN)

    assert again(results).curves() == {("random", 0): RANDOM, ("margin", 0): MARGIN}


def test_the_file_has_the_promised_columns(results: Results) -> None:
    results.append(RANDOM)

    assert results.path.read_text() == (
        "strategy,seed,labels,accuracy,seconds\n"
        "random,0,5,0.500000,0.1234\n"
        "random,0,10,0.750000,1.0000\n"
    )


@pytest.mark.parametrize("kept", range(len("margin,0,5,0.250000,0.5000\nmargin,0,10,1.000000,2.0")))
def test_a_curve_cut_anywhere_is_dropped_and_the_others_stay(results: Results, kept: int) -> None:
    results.append(RANDOM)
    whole = results.path.read_bytes()
    results.append(MARGIN)
    results.path.write_bytes(results.path.read_bytes()[: len(whole) + kept])

    reopened = again(results)

    assert reopened.curves() == {("random", 0): RANDOM}
    assert results.path.read_bytes() == whole


def test_a_file_that_was_cut_in_its_heading_starts_anew(results: Results) -> None:
    results.path.write_text(HEADER[:9])

    assert again(results).curves() == {}
    assert results.path.read_text() == HEADER


@pytest.mark.parametrize(
    ("name", "value"), [("data", "xyz"), ("classifier", "mlp"), ("pool_share", 0.5)]
)
def test_results_of_other_settings_are_refused_and_left_alone(
    results: Results, name: str, value: object
) -> None:
    results.append(RANDOM)
    before = results.path.read_bytes()

    with pytest.raises(UHerdingError, match=f"another {name}.*--output"):
        again(results, **{name: value})

    assert results.path.read_bytes() == before


def test_results_of_other_budgets_are_refused(results: Results) -> None:
    with pytest.raises(UHerdingError, match="another budgets"):
        Results.open(results.directory, SETTINGS, (5, 10, 20))


@pytest.mark.parametrize("content", [None, "{", "[]"])
def test_results_without_readable_settings_are_refused(
    results: Results, content: str | None
) -> None:
    settings = results.directory / "settings.json"
    settings.unlink() if content is None else settings.write_text(content)

    with pytest.raises(UHerdingError, match="another data"):
        again(results)


def test_settings_say_what_the_results_are_of(results: Results) -> None:
    kept = json.loads((results.directory / "settings.json").read_text())

    assert kept == {**SETTINGS, "budgets": [5, 10]}


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("random,0,many,0.5,0.1\n", "Line 2 .*many"),
        ("random,0,5,0.5\n", "Line 2 "),
        ("random,0,5,0.5,0.1,more\n", "Line 2 "),
    ],
)
def test_a_line_that_is_no_result_is_named(results: Results, line: str, sentence: str) -> None:
    results.path.write_text(HEADER + line)

    with pytest.raises(UHerdingError, match=sentence):
        again(results)


def test_a_file_of_something_else_is_not_overwritten(results: Results) -> None:
    results.path.write_text("my,own,table\n1,2,3\n")

    with pytest.raises(UHerdingError, match="does not begin with"):
        again(results)

    assert results.path.read_text() == "my,own,table\n1,2,3\n"
