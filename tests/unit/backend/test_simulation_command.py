"""`uherding simulate` as people run it; the worker processes are real ones."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from model.arrays import Images
from model.errors import ModelError
from model.features.choosing import Choice, choose
from model.images import decode
from model.strategies import STRATEGIES
from tests.support.builders import kind_of, picture
from uherding_backend.cli import main
from uherding_backend.console import Console
from uherding_backend.errors import UHerdingError
from uherding_backend.simulation import command, extracting, running
from uherding_backend.simulation.arguments import Options
from uherding_backend.simulation.data import load_dataset
from uherding_backend.simulation.extracting import Extraction
from uherding_backend.simulation.pictures import in_folders, split
from uherding_backend.simulation.plan import Plan
from uherding_backend.simulation.results import Curve
from uherding_backend.simulation.running import Work

COLUMNS = ["strategy", "seed", "labels", "accuracy", "seconds"]
BUDGETS = ("--budgets", "6,12,24")


pytestmark = pytest.mark.usefixtures("_logging_as_before")


def blobs(path: Path, *, rows: int = 120, seed: int = 0) -> Path:
    """Three classes that lie well apart."""
    generator = np.random.default_rng(seed)
    ids = np.arange(rows) % 3
    features = 4 * np.eye(3)[ids] + generator.normal(size=(rows, 3))
    labels = np.array(["ant", "bee", "cow"])[ids]
    np.savez(path, features=features, labels=labels, test_features=features, test_labels=labels)
    return path


def read(output: Path) -> list[dict[str, str]]:
    with (output / "results.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def curves(output: Path) -> dict[tuple[str, str], list[tuple[str, str]]]:
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for row in read(output):
        point = (row["labels"], row["accuracy"])
        found.setdefault((row["strategy"], row["seed"]), []).append(point)
    return found


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with data.npz and the simulation of two strategies and one seed in out/."""
    directory = tmp_path_factory.mktemp("finished")
    data = blobs(directory / "data.npz")
    assert simulate(data, directory / "out", "--seeds", "1", "--strategies", "random,margin") == 0
    return directory


@pytest.fixture
def copied(finished: Path, tmp_path: Path) -> Path:
    """The same, for one test alone."""
    return Path(shutil.copytree(finished, tmp_path / "copied"))


def simulate(data: Path, output: Path, *more: str) -> int:
    return main(["simulate", "--features", str(data), "--output", str(output), *BUDGETS, *more])


def test_all_curves_are_in_the_file_and_the_report_and_the_same_with_more_processes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, one, two = blobs(tmp_path / "data.npz"), tmp_path / "one", tmp_path / "two"

    codes = (
        simulate(data, one, "--seeds", "2", "--jobs", "1"),
        simulate(data, two, "--seeds", "2", "--jobs", "2"),
    )

    assert codes == (0, 0)
    assert list(read(one)[0]) == COLUMNS
    names = ("random", "margin", "maxherding", "uherding")
    assert set(curves(one)) == {(name, seed) for name in names for seed in "01"}
    assert all(
        [labels for labels, _ in curve] == ["6", "12", "24"] for curve in curves(one).values()
    )
    assert curves(one) == curves(two)
    assert all(float(curve[-1][1]) > 0.9 for curve in curves(one).values())
    shown = capsys.readouterr().out
    assert "120 images to choose from, 120 to judge by, 3 classes; up to 24 labels." in shown
    assert f"Report: {two / 'report.html'}" in shown
    report = (one / "report.html").read_text()
    assert "ant, bee, cow" in report
    mean = np.mean([float(curves(one)["random", seed][-1][1]) for seed in "01"])
    assert f"{100 * mean:.1f} ± " in report


def test_a_run_goes_on_where_it_was_cut_and_can_be_extended(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, output = copied / "data.npz", copied / "out"
    whole = curves(output)
    path = output / "results.csv"
    first = path.read_text().splitlines()[1:4]
    marked = [line.rsplit(",", 1)[0] + ",7.7777" for line in first]  # kept, not computed again
    text = path.read_text().replace("\n".join(first), "\n".join(marked))
    path.write_text(text[:-10])  # in the middle of the last line

    code = simulate(data, output, "--seeds", "1", "--strategies", "random,margin,entropy")

    assert code == 0
    assert "1 of 3 curves are there already." in capsys.readouterr().out
    assert set(curves(output)) == {*whole, ("entropy", "0")}
    assert all(curves(output)[key] == curve for key, curve in whole.items())
    assert [row["seconds"] for row in read(output)[:3]] == ["7.7777"] * 3


def test_a_directory_with_results_of_other_data_or_options_is_refused(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, output = copied / "data.npz", copied / "out"
    before = (output / "results.csv").read_bytes()

    for name, code in (
        ("data", simulate(blobs(copied / "other.npz", seed=1), output)),
        ("pool_share", simulate(data, output, "--pool-share", "0.5")),
        ("classifier", simulate(data, output, "--classifier", "mlp")),
        ("budgets", simulate(data, output, "--budgets", "6,12")),
    ):
        assert code == 1, name

    refused = capsys.readouterr().err.splitlines()
    assert [line.split(" was made with another ")[1].split(".")[0] for line in refused] == [
        *("data", "pool_share", "classifier", "budgets"),
    ]
    assert all("Choose another --output" in line for line in refused)
    assert (output / "results.csv").read_bytes() == before


def test_the_bar_shows_the_share_of_curves_and_the_time_that_is_left(
    copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def here(plan: Plan, source: Path, work: list[Work]) -> Iterator[Curve]:
        for each in work:
            yield from running.curves(load_dataset(source).data, plan, each)

    monkeypatch.setattr(command, "run", here)
    written: list[str] = []
    options = Options(
        *(copied / "data.npz", None, None),
        strategies="random,margin",
        budgets="6,12,24",
        seeds=3,
        output=copied / "out",
    )

    ticks = count(0, 30)  # seconds, each time somebody looks
    console = Console(written.append, terminal=True)
    command.simulate(options, console, lambda: float(next(ticks)), simclr_epochs=1)

    bars = [text.strip() for text in written if "Simulating" in text]
    assert bars == [
        "Simulating 2 of 6 curves [########................]  33%",
        "Simulating 3 of 6 curves, 90 s left [############............]  50%",
        "Simulating 4 of 6 curves, 60 s left [################........]  67%",
        "Simulating 5 of 6 curves, 30 s left [####################....]  83%",
        "Simulating 6 of 6 curves, 0 s left [########################] 100%",
    ]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_run_leaves_whole_curves_and_no_processes(
    tmp_path: Path, number: signal.Signals
) -> None:
    data, output = blobs(tmp_path / "data.npz", rows=600), tmp_path / "out"
    call = [sys.executable, "-m", "uherding_backend", "simulate", "--features", str(data)]
    call += ["--output", str(output), "--seeds", "500", "--jobs", "2"]  # 9 budgets fit the pool
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)  # the child inherits "ignored"
    with subprocess.Popen(  # noqa: S603
        call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        signal.signal(signal.SIGINT, heard)
        wait_for(lambda: (output / "results.csv").exists() and len(read(output)) > 0)
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # as a terminal does: to all of them
        else:
            process.send_signal(number)
        _, errors = process.communicate(timeout=60)

    assert process.returncode == (130 if number == signal.SIGINT else -signal.SIGKILL)
    assert "Traceback" not in errors
    wait_for(lambda: not group_exists(process.pid))
    lengths = {len(curve) for curve in curves(output).values()}
    assert lengths == {9}
    assert not (output / "report.html").exists()


def group_exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def wait_for(happened: Callable[[], bool], seconds: float = 90.0) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.05)


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """Forty small pictures of three kinds in class folders, and one file that is no picture."""
    directory = tmp_path / "images"
    for number in range(1, 41):
        folder = directory / kind_of(number)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.png").write_bytes(picture(kind_of(number), number))
    (directory / kind_of(1) / "broken.png").write_bytes(b"not a picture")
    return directory


def run_images(output: Path, *arguments: str) -> int:
    usual = ("--extractor", "patches", "--strategies", "random,uherding", "--budgets", "4,8")
    return main(["simulate", "--output", str(output), "--seeds", "1", *usual, *arguments])


def test_images_in_folders_become_features_once(
    images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out"

    code = run_images(output, "--images", str(images))

    shown = capsys.readouterr().out
    assert code == 0
    assert "Warning: 1 images cannot be read and are left out:" in shown
    assert "broken.png: " in shown
    with np.load(output / "features.npz") as file:
        assert set(file) == {"features", "labels", "test_features", "test_labels"}
        assert len(file["labels"]) + len(file["test_labels"]) == 40
        assert (
            set(file["labels"])
            == set(file["test_labels"])
            == {folder.name for folder in images.iterdir()}
        )
    assert json.loads((output / "features.json").read_text())["left_out"].keys() == {
        str(path) for path in images.rglob("broken.png")
    }
    made = (output / "features.npz").stat().st_mtime_ns

    code = run_images(output, "--images", str(images))

    shown = capsys.readouterr().out
    assert code == 0
    assert (output / "features.npz").stat().st_mtime_ns == made
    assert "broken.png: " in shown
    assert "2 of 2 curves are there already." in shown


def test_features_of_other_images_or_options_are_refused(images: Path, tmp_path: Path) -> None:
    def features(extractor: str, test_share: float) -> Path:
        parts = split(in_folders(images), test_share)
        console = Console(lambda _: None, terminal=False)
        return Extraction(parts, extractor, tmp_path / "out", console, simclr_epochs=1).file()

    made = features("patches", 0.3)
    assert features("patches", 0.3) == made

    refused = "was made from other images, or with another"
    with pytest.raises(UHerdingError, match=refused):
        features("patches", 0.5)
    with pytest.raises(UHerdingError, match=refused):
        features("simclr", 0.3)
    next(images.rglob("1.png")).write_bytes(picture("bars", 99))
    with pytest.raises(UHerdingError, match=refused):
        features("patches", 0.3)


def test_an_extractor_that_learns_never_sees_the_test_images(
    images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Images] = []
    parts = split(in_folders(images), 0.3)

    def learn(name: str, images: Images, *_: object, **__: object) -> None:
        seen.append(images)
        raise ModelError("enough")

    monkeypatch.setattr(extracting, "learn", learn)
    console = Console(lambda _: None, terminal=False)
    with pytest.raises(ModelError, match="enough"):
        Extraction(parts, "patches", tmp_path / "out", console, simclr_epochs=1).file()

    readable = [each.path for each in parts.pool if each.path.name != "broken.png"]
    pool = {decode(path.read_bytes(), 32).tobytes() for path in readable}
    assert {image.tobytes() for image in seen[0]} == pool


def test_auto_takes_what_needs_no_hub_where_the_hub_fails(
    images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def choose_hub(wanted: str, side: int, **offline: object) -> Choice:
        return choose(wanted, side, cached=lambda _: not offline, answers=lambda: False)

    def blocked(name: str) -> None:
        raise ModelError(f"{name} cannot be downloaded.")

    said: list[str] = []
    monkeypatch.setattr(extracting, "choose", choose_hub)
    monkeypatch.setattr(extracting, "open_pretrained", blocked)
    parts = split(in_folders(images), 0.3)

    console = Console(said.append, terminal=False)
    Extraction(parts, "auto", tmp_path / "out", console, simclr_epochs=1).file()

    assert any("cannot be downloaded. Taking what needs no model hub." in line for line in said)
    assert any(line.startswith("Features by patches.") for line in said)


def test_images_can_be_named_in_a_csv_file(
    images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = sorted(images.rglob("*.png"))
    lines = [f"images/{file.relative_to(images)},{file.parent.name}" for file in files]
    (tmp_path / "list.csv").write_text("\n".join(["path,label", *lines, "gone.png,none"]) + "\n")

    code = run_images(tmp_path / "out", "--csv", str(tmp_path / "list.csv"))

    assert code == 0
    assert "Warning: 2 images cannot be read" in capsys.readouterr().out
    assert set(curves(tmp_path / "out")) == {("random", "0"), ("uherding", "0")}


def test_images_none_of_which_can_be_read_get_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("cat", "dog"):
        (tmp_path / "images" / name).mkdir(parents=True)
        for number in range(20):
            (tmp_path / "images" / name / f"{number}.png").write_bytes(b"x")

    code = run_images(tmp_path / "out", "--images", str(tmp_path / "images"))

    assert code == 1
    assert "images" in capsys.readouterr().err
    assert not (tmp_path / "out" / "features.npz").exists()


def test_an_unknown_extractor_gets_a_sentence(
    images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run_images(tmp_path / "out", "--images", str(images), "--extractor", "magic")

    assert code == 1
    assert "There is no feature extractor 'magic'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_budgets_beyond_the_pool_and_unseen_classes_are_pointed_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = blobs(tmp_path / "data.npz", rows=30)
    with np.load(data) as file:
        arrays = dict(file)
    arrays["test_labels"] = np.where(np.arange(30) == 0, "yak", arrays["test_labels"])
    np.savez(data, **arrays)

    code = simulate(data, tmp_path / "out", "--budgets", "6,90", "--seeds", "1")

    shown = capsys.readouterr().out
    assert code == 0
    assert "Warning: budgets of 90 labels and more are left out" in shown
    assert "no image of the pool has the class yak" in shown


def test_the_list_names_every_strategy(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sorted(line.split()[0] for line in lines) == sorted(STRATEGIES)
    assert all(line.endswith(".") for line in lines)


@pytest.mark.parametrize(
    "arguments", [[], ["--features", "a.npz", "--images", "b"], ["--features", "a", "--seeds", "x"]]
)
def test_a_wrong_call_ends_with_2_and_the_usage(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["simulate", *arguments])

    assert ended.value.code == 2
    assert "usage: uherding simulate" in capsys.readouterr().err
