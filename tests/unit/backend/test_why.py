from __future__ import annotations

from typing import Any

import pytest

from tests.support.builders import make_entry
from uherding_backend.why import why


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"company": 1212}, "new region: 1,212 similar images have no label near them"),
        (
            {"predicted": "coat", "second": "pullover", "uncertainty": 0.9},
            "model undecided between coat and pullover",
        ),
        (
            {"company": 30, "predicted": "coat", "second": "bag", "uncertainty": 0.6},
            "new region: 30 similar images have no label near them; "
            "model undecided between coat and bag",
        ),
        ({"company": 1, "uncertainty": 0.1}, "1 similar image has no label near"),
        ({"company": 3, "uncertainty": 0.1}, "3 similar images have no label near"),
        ({"audit": True, "company": 900}, "drawn at random for the audit slice"),
        ({"uncertainty": 0.2, "second": "bag"}, "stands for images around it"),
    ],
)
def test_the_sentence_says_what_speaks_for_the_task(entry: dict[str, Any], sentence: str) -> None:
    assert why(make_entry(1, **entry), "uherding").startswith(sentence)


def test_other_strategies_are_named() -> None:
    assert why(make_entry(1, uncertainty=0.0), "random") == "random: by chance"
