from __future__ import annotations

import re

import numpy as np
import pytest

from model.simulate import LabelledData, Step
from uherding_backend.errors import SettingsError
from uherding_backend.simulation.arguments import Options
from uherding_backend.simulation.data import Dataset
from uherding_backend.simulation.figures import differences, learning_curves, styles
from uherding_backend.simulation.plan import Plan
from uherding_backend.simulation.report import report_page
from uherding_backend.simulation.results import Curve
from uherding_backend.simulation.summary import Summary, headline, remark, summarise
from uherding_backend.simulation.table import short_table
from uherding_backend.simulation.words import duration

BUDGETS = "50,100,1000,2000"
ROWS = np.eye(8, dtype=np.float32)
DATASET = Dataset(
    LabelledData(ROWS, np.arange(8) % 2, ROWS, np.arange(8) % 2),
    ("<cat>", "dog"),
    "0123456789abcdef",
)

Accuracies = list[list[float]]  # one list for each seed

RANDOM = [[0.4, 0.5, 0.6, 0.7], [0.42, 0.52, 0.62, 0.72], [0.44, 0.54, 0.64, 0.74]]
BETTER = [[0.5, 0.6, 0.75, 0.8], [0.53, 0.63, 0.78, 0.83], [0.53, 0.63, 0.78, 0.83]]
WORSE = [[0.3, 0.4, 0.5, 0.6], [0.31, 0.41, 0.51, 0.61], [0.33, 0.43, 0.53, 0.63]]
NO_DIFFERENT = [[0.41, 0.51, 0.61, 0.71], [0.41, 0.51, 0.61, 0.71], [0.44, 0.54, 0.64, 0.74]]


def summary_of(**accuracies: Accuracies) -> Summary:
    seeds = len(next(iter(accuracies.values())))
    options = Options(
        None, None, None, strategies=",".join(accuracies), budgets=BUDGETS, seeds=seeds
    )
    plan = Plan.of(options, pool=3000)
    curves = {}
    for name, rows in accuracies.items():
        for seed, row in enumerate(rows):
            steps = zip(plan.budgets, row, strict=True)
            curve = Curve(name, seed, tuple(Step(labels, each, 0.5) for labels, each in steps))
            curves[curve.key] = curve
    return summarise(plan, curves)


def page(summary: Summary) -> str:
    return report_page(summary, DATASET, "last-year.npz")


def without_plotly(html: str) -> str:
    """The page without the library in it, which names addresses that it never loads."""
    start = html.index("<script>")
    return html[:start] + html[html.index("</script>", start) :]


def test_regimes_are_means_over_their_budgets_with_the_paired_error() -> None:
    summary = summary_of(random=RANDOM, uherding=BETTER)

    (_, better) = summary.rows
    low, middle, high = better.regimes

    assert [regime.name for regime in summary.regimes] == ["low", "middle", "high"]
    np.testing.assert_allclose(low.accuracy.mean, np.mean([0.55, 0.58, 0.58]))
    paired = np.array([0.1, 0.11, 0.09])
    np.testing.assert_allclose(low.difference.mean, paired.mean())
    np.testing.assert_allclose(low.difference.error, paired.std(ddof=1) / np.sqrt(3))
    np.testing.assert_allclose(middle.difference.mean, np.mean([0.15, 0.16, 0.14]))
    np.testing.assert_allclose(high.difference.mean, np.mean([0.1, 0.11, 0.09]))


def test_the_best_and_those_within_its_standard_error_are_marked() -> None:
    scatter = np.array([[0.02], [-0.03], [0.0]])  # by seed
    nearly = (np.array(BETTER) + scatter).tolist()
    clearly_less = (np.array(BETTER) - 0.02).tolist()

    summary = summary_of(random=RANDOM, uherding=BETTER, margin=nearly, entropy=clearly_less)

    marks = {row.strategy: (row.regimes[0].best, row.regimes[0].close) for row in summary.rows}
    assert marks == {
        "random": (False, False),
        "uherding": (True, True),
        "margin": (False, True),
        "entropy": (False, False),
    }


def test_where_nothing_beats_the_baseline_the_baseline_is_best() -> None:
    summary = summary_of(random=RANDOM, uherding=WORSE)

    assert [row.regimes[0].best for row in summary.rows] == [True, False]


def test_strategies_meet_the_baseline_and_the_best_other_one() -> None:
    random, margin, better = summary_of(random=RANDOM, margin=WORSE, uherding=BETTER).rows

    assert random.against_baseline is None
    assert random.best_other == "uherding"
    assert margin.against_baseline is not None
    assert (margin.against_baseline.wins, margin.against_baseline.losses) == (0, 3)
    assert better.best_other == "random"
    assert better.against_best_other is not None
    assert better.against_best_other.wins == 3
    assert better.against_best_other.p == 0.25


def test_the_headline_says_what_was_saved_and_how_sure_that_is() -> None:
    said = headline(summary_of(random=RANDOM, uherding=BETTER))

    # By hand: random ends at 0.70, 0.72 and 0.74, which the other curve reaches on its way from
    # 100 to 1,000 labels: at 700, 640 and 760.
    assert said.startswith(
        "UHerding reached with 700 labels the accuracy (72.0 %) that random labels reach with "
        "2,000: 65 % saved (95 % interval: 58 to 72 %, 3 seeds)."
    )


@pytest.mark.parametrize(
    ("accuracies", "part"),
    [
        ({"random": RANDOM, "uherding": WORSE}, "it saved nothing, it took "),
        ({"random": RANDOM, "uherding": NO_DIFFERENT}, "no saving that stands out from chance"),
        ({"random": RANDOM[:1], "uherding": BETTER[:1]}, "65 % saved, but one seed says little"),
        ({"random": RANDOM}, "nothing to compare it with"),
        ({"margin": RANDOM, "entropy": BETTER}, "Entropy reached with 700 labels"),
        ({"margin": RANDOM, "entropy": BETTER}, "that margin reach with"),
        ({"random": RANDOM, "margin": BETTER, "uherding": WORSE}, "UHerding reached"),
        ({"random": RANDOM, "margin": BETTER, "entropy": WORSE}, "Margin reached"),
    ],
)
def test_the_headline_is_honest(accuracies: dict[str, Accuracies], part: str) -> None:
    assert part in headline(summary_of(**accuracies))


def test_a_better_strategy_than_the_headlines_is_named() -> None:
    summary = summary_of(random=RANDOM, margin=BETTER, uherding=WORSE)

    assert remark(summary).startswith("Over all budgets margin did best")
    assert remark(summary_of(random=RANDOM, uherding=BETTER)) == ""


def test_the_table_is_short_and_aligned() -> None:
    lines = short_table(summary_of(random=RANDOM, uherding=BETTER))

    assert len({len(line) for line in lines}) == 1
    assert re.split(r"  +", lines[1].strip()) == [
        *("random", "47.0 %", "-", "62.0 %", "-", "72.0 %", "-", "-"),
    ]
    assert re.split(r"  +", lines[2].strip()) == [
        *("uherding", "57.0 %", "+10.0 ± 0.6", "77.0 %", "+15.0 ± 0.6"),
        *("82.0 %", "+10.0 ± 0.6", "1,300 (65 %)"),
    ]


def test_the_page_has_the_numbers() -> None:
    html = page(summary_of(random=RANDOM, uherding=BETTER))

    for shown in (
        *("65 % saved", "+15.0 ± 0.6", "1,300 ± 35", "3 : 0 (p = 0.25)", "82.0 ± 1.0 %"),
        *("p cannot fall below 0.25", "last-year.npz", "0.50 s", "50, 100, 1,000, 2,000"),
    ):
        assert shown in html, shown


def test_the_page_loads_nothing_and_brings_its_library() -> None:
    html = page(summary_of(random=RANDOM, uherding=BETTER))

    assert not re.search(r"(src|href|url|import)\s*[=(]", without_plotly(html))
    assert "http" not in without_plotly(html)
    assert "plotly.js v" in html
    assert "Plotly.newPlot" in without_plotly(html)


def test_the_page_escapes_names() -> None:
    html = page(summary_of(random=RANDOM, uherding=BETTER))

    assert "&lt;cat&gt;" in html
    assert "<cat>" not in html


def test_the_page_says_when_random_is_not_the_baseline() -> None:
    with_random = page(summary_of(random=RANDOM, uherding=BETTER))
    without = page(summary_of(margin=RANDOM, uherding=BETTER))

    sentence = "is not among the strategies"
    assert sentence not in with_random
    assert sentence in without
    assert "Improvement over margin" in without


def test_the_page_of_a_single_seed_shows_no_errors() -> None:
    html = without_plotly(page(summary_of(random=RANDOM[:1], uherding=BETTER[:1])))

    assert "A single seed" in html
    assert "one seed says nothing" in html
    assert "nan" not in html.lower()


def test_the_page_says_that_the_test_was_drawn_where_seeds_are_many() -> None:
    html = page(summary_of(random=RANDOM * 5, uherding=BETTER * 5))

    assert "Monte-Carlo with 20,000 random sign flips" in html


def test_every_strategy_has_a_line_of_its_own_with_its_means() -> None:
    summary = summary_of(random=RANDOM, uherding=BETTER)

    band, line = learning_curves(summary)["data"][2:]
    (difference,) = differences(summary)["data"]

    assert line["x"] == [50, 100, 1000, 2000]
    np.testing.assert_allclose(line["y"], np.mean(BETTER, axis=0))
    deviation = np.std(BETTER, axis=0, ddof=1)
    np.testing.assert_allclose(band["y"][:4], np.mean(BETTER, axis=0) + deviation)
    np.testing.assert_allclose(difference["y"], [10, 10, 15, 10])
    np.testing.assert_allclose(difference["error_y"]["array"], [0.5774] * 4, rtol=1e-3)


def test_no_two_of_many_strategies_look_the_same_even_in_grey() -> None:
    names = ("uherding", "uherding-entropy", "uherding-fixed", "maxherding", "margin", "entropy")
    summary = summary_of(random=RANDOM, confidence=RANDOM, **dict.fromkeys(names, BETTER))

    looks = [tuple(style.values()) for style in styles(summary)]

    assert len(set(looks)) == len({look[1:] for look in looks}) == 8


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.4, "0 s"), (119, "119 s"), (150, "2 min"), (9000, "2 h")]
)
def test_durations_are_in_one_unit(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_close_to_the_best_is_judged_by_the_paired_difference_even_if_random_is_best() -> None:
    nearly = (np.array(RANDOM) - [[0.02], [0.0], [0.02]]).tolist()
    scattered = (np.array(RANDOM) - [[-0.02], [0.03], [0.0]]).tolist()

    rows = summary_of(random=RANDOM, margin=nearly, entropy=scattered).rows

    assert [row.regimes[0].best for row in rows] == [True, False, False]
    assert not rows[1].regimes[0].close  # behind by 0.013 with an error of 0.007
    assert rows[2].regimes[0].close  # behind by 0.003 with an error of 0.015


def test_a_strategy_that_needs_the_linear_classifier_is_refused_with_another() -> None:
    options = Options(None, None, None, strategies="random,alfa-mix", classifier="mlp")

    with pytest.raises(SettingsError, match="alfa-mix works only with --classifier linear"):
        Plan.of(options, pool=3000)
