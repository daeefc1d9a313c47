import csv
from pathlib import Path

import pytest

from benchmarks import quality, result_files, selection_ledger
from benchmarks.result_files import CODE, append, code_digest, keep_only, read_results
from benchmarks.selection_contenders import APRICOT, DENSE, OURS
from benchmarks.selection_ledger import Ledger
from benchmarks.selection_pools import Case

SETTING = "digits efficientnet-lite0"
CASE = Case("clustered", 5_000, batch=100)
FIGURES = {"d": 384, "radius": 1.0, "seconds": 2.0, "megabytes": 3.0, "gains": 0.5}
PICKS = {"picks": [4, 2], "gain_of_each": [0.3, 0.2]}


@pytest.fixture(autouse=True)
def own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(".bench").mkdir()


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(result_files, "ROOT", tmp_path)
    file = tmp_path / "model" / "radius.py"
    file.parent.mkdir()
    file.write_text("RADIUS = 1.0\n")
    return file


def test_other_code_has_another_digest(source: Path) -> None:
    before = code_digest(["model"])

    source.write_text("RADIUS = 2.0\n")

    assert code_digest(["model"]) != before


def test_a_new_file_changes_the_digest(source: Path) -> None:
    before = code_digest(["model"])

    source.with_name("empty.py").write_text("")

    assert code_digest(["model"]) != before


def test_comments_and_layout_leave_the_digest_as_it_is(source: Path) -> None:
    before = code_digest(["model"])

    source.write_text("# As in the paper.\n\nRADIUS = (1.0)\n")

    assert code_digest(["model"]) == before


@pytest.mark.usefixtures("source")
def test_other_settings_have_another_digest() -> None:
    assert code_digest(["model"], (20, 40)) != code_digest(["model"], (20, 60))


def test_dropped_lines_stay_in_a_copy() -> None:
    path = Path("some.csv")
    path.write_text("name,code\nmine,a\nother,b\n")

    kept = keep_only(path, ("name", CODE), lambda row: row[CODE] == "a")

    assert kept == read_results(path) == [{"name": "mine", CODE: "a"}]
    assert Path(".bench/some.csv.old").read_text() == "name,code\nmine,a\nother,b\n"


def test_lines_can_follow_those_of_a_file_that_knew_no_digest() -> None:
    path = Path("some.csv")
    path.write_text("name\nold\n")

    keep_only(path, ("name", CODE), lambda row: True)
    append(path, [("new", "a")])

    assert read_results(path) == [{"name": "old", CODE: ""}, {"name": "new", CODE: "a"}]


def write_curves(path: Path, code: str) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(quality.COLUMNS)
        for strategy in quality.SETTINGS[SETTING].strategies():
            writer.writerow((SETTING, strategy, 0, 20, 0.5, 0.1, code))


def test_curves_of_this_code_are_not_measured_again() -> None:
    path = Path("quality.csv")
    write_curves(path, quality.code_of(SETTING))

    rows = quality.known([SETTING], path)

    assert list(quality.missing([SETTING], 1, rows)) == []


def test_curves_of_other_code_are_measured_again() -> None:
    path = Path("quality.csv")
    write_curves(path, "other")

    rows = quality.known([SETTING], path)

    assert list(quality.missing([SETTING], 1, rows)) == [(SETTING, 0, frozenset())]
    assert read_results(path) == []


def test_curves_of_settings_that_do_not_run_are_left_alone() -> None:
    path = Path("quality.csv")
    write_curves(path, "other")

    quality.known(["digits patches"], path)

    assert len(read_results(path)) == len(quality.SETTINGS[SETTING].strategies())


def test_selection_measures_again_what_other_code_has_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wanted = [(CASE, DENSE), (CASE, OURS)]
    codes = {DENSE: "dense", OURS: "before", APRICOT: "apricot"}
    monkeypatch.setattr(selection_ledger, "code_of", lambda contender: codes[contender])
    ledger = Ledger(Path("out.csv"), wanted)
    for _, contender in wanted:
        ledger.add(CASE, contender, FIGURES | PICKS | {CODE: codes[contender]})

    codes[OURS] = "after"
    ledger = Ledger(Path("out.csv"), wanted)

    assert len(ledger.of(CASE, DENSE)) == 1
    assert ledger.of(CASE, OURS) == []


def test_nothing_is_compared_with_picks_of_other_code(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = {OURS: "before", APRICOT: "apricot"}
    monkeypatch.setattr(selection_ledger, "code_of", lambda contender: codes[contender])
    wanted = [(CASE, OURS), (CASE, APRICOT)]
    Ledger(Path("out.csv"), wanted).add(CASE, OURS, FIGURES | PICKS | {CODE: "before"})

    codes[OURS] = "after"
    added = Ledger(Path("out.csv"), wanted).add(CASE, APRICOT, FIGURES | PICKS)

    assert added["compared_with"] == ""


def test_selection_leaves_cases_alone_that_it_is_not_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(selection_ledger, "code_of", lambda contender: "after")
    Ledger(Path("out.csv"), []).add(CASE, OURS, FIGURES | {CODE: "before"})

    ledger = Ledger(Path("out.csv"), [(Case("clustered", 10_000, batch=100), OURS)])

    assert len(ledger.of(CASE, OURS)) == 1
    assert ledger.radius(CASE) is None
