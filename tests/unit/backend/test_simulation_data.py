"""What `uherding simulate` accepts, and the sentence for everything that it does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from uherding_backend.cli import main
from uherding_backend.errors import SettingsError, UHerdingError
from uherding_backend.simulation.arguments import Options
from uherding_backend.simulation.data import load_dataset
from uherding_backend.simulation.pictures import Picture, digest_of, in_csv, in_folders, split
from uherding_backend.simulation.plan import Plan

pytestmark = pytest.mark.usefixtures("_logging_as_before")


def arrays(**other: object) -> dict[str, Any]:
    rows = np.random.default_rng(0).normal(size=(40, 4))
    labels = np.arange(40) % 2
    usual = {"features": rows, "labels": labels, "test_features": rows, "test_labels": labels}
    return {key: value for key, value in (usual | other).items() if value is not None}


def npz(path: Path, **other: object) -> Path:
    with path.open("wb") as file:
        np.savez(file, **arrays(**other))
    return path


def folders(root: Path, **classes: int) -> Path:
    for name, count in classes.items():
        (root / name).mkdir(parents=True)
        for number in range(count):
            (root / name / f"{number}.png").write_bytes(b"")
    return root


def options(*, strategies: str = "random", budgets: str = "") -> Options:
    return Options(None, None, None, strategies=strategies, budgets=budgets)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32])
def test_rows_of_any_type_have_length_1_after_loading(tmp_path: Path, dtype: type) -> None:
    rows = (10 * arrays()["features"]).astype(dtype) + dtype(1)

    data = load_dataset(npz(tmp_path / "a.npz", features=rows)).data

    assert data.features.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(data.features, axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize("names", [[7, 11], ["cat", "dog"], [b"cat", b"dog"], [False, True]])
def test_labels_may_be_numbers_or_strings(tmp_path: Path, names: list[object]) -> None:
    labels = np.array(names)[np.arange(40) % 2]

    dataset = load_dataset(npz(tmp_path / "a.npz", labels=labels, test_labels=labels))

    assert len(dataset.classes) == 2
    assert dataset.unseen == []
    assert sorted(set(dataset.data.labels.tolist())) == [0, 1]
    assert (dataset.data.test_labels[::2] != dataset.data.test_labels[1::2]).all()
    assert np.bincount(dataset.data.labels).tolist() == [20, 20]


def test_the_digest_is_of_the_content(tmp_path: Path) -> None:
    changed = arrays()["test_features"].copy()
    changed[3, 2] += 1e-3

    one, same = (load_dataset(npz(tmp_path / name)).digest for name in ("a.npz", "b.npz"))
    other = load_dataset(npz(tmp_path / "c.npz", test_features=changed)).digest

    assert one == same != other


def test_classes_that_only_test_images_have_are_named(tmp_path: Path) -> None:
    labels = np.where(np.arange(40) == 3, 9, np.arange(40) % 2)

    assert load_dataset(npz(tmp_path / "a.npz", test_labels=labels)).unseen == ["9"]


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({"test_labels": None}, "lacks test_labels"),
        ({"labels": np.array(["a", None] * 20, dtype=object)}, "cannot be read as an .npz file"),
        ({"labels": np.arange(40) / 2}, "labels must be one whole number or string"),
        ({"labels": np.arange(39)}, "for each row of features, got int64 of shape (39,)"),
        ({"features": np.ones(40)}, "features must be numbers of shape (images, columns)"),
        ({"features": np.full((40, 4), np.nan)}, "40 rows of features hold NaN"),
        ({"test_features": np.ones((40, 5))}, "features have 4 columns and test_features 5"),
        ({"labels": np.zeros(40, dtype=int)}, "are of one class (0)"),
    ],
)
def test_a_wrong_npz_file_gets_a_sentence_and_1(
    tmp_path: Path, other: dict[str, Any], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path, output = npz(tmp_path / "a.npz", **other), tmp_path / "out"

    code = main(["simulate", "--features", str(path), "--output", str(output)])

    assert code == 1
    assert sentence in capsys.readouterr().err
    assert not output.exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--budgets", "20,ten"], "--budgets must be whole numbers that rise"),
        (["--budgets", "20,20"], "--budgets must be whole numbers that rise"),
        (["--budgets", "0,20"], "--budgets must be whole numbers that rise"),
        (["--budgets", "40,80"], "each seed draws only 36 images (90 % of a pool of 40)"),
        (["--strategies", "random,best"], "There is no strategy 'best'; choose from "),
        (["--strategies", ","], "--strategies names no strategy"),
        (["--seeds", "0"], "--seeds must be 1 or more"),
        (["--jobs", "-1"], "--jobs must be 1 or more"),
        (["--pool-share", "0"], "--pool-share must be above 0"),
        (["--pool-share", "1.5"], "--pool-share must be above 0"),
    ],
)
def test_a_wrong_option_gets_a_sentence_and_1(
    tmp_path: Path, arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path, output = npz(tmp_path / "a.npz"), tmp_path / "out"

    code = main(["simulate", "--features", str(path), "--output", str(output), *arguments])

    assert code == 1
    assert sentence in capsys.readouterr().err
    assert not output.exists()


@pytest.mark.parametrize("argument", ["--features", "--images", "--csv"])
def test_data_that_is_not_there_gets_a_sentence_and_1(
    tmp_path: Path, argument: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["simulate", argument, str(tmp_path / "nothing")])

    assert code == 1
    assert "uherding: There is no " in capsys.readouterr().err


def test_a_file_that_is_no_npz_gets_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(b"PK\x03\x04 no")
    (tmp_path / "b.npz").write_bytes(b"text")
    np.save(tmp_path / "c.npy", np.ones(3))

    for name in ("a.npz", "b.npz", "c.npy"):
        with pytest.raises(UHerdingError, match="cannot be read as an"):
            load_dataset(tmp_path / name)


def test_budgets_follow_the_pool_where_none_are_given() -> None:
    small = Plan.of(options(), pool=100)
    large = Plan.of(options(), pool=5000)

    assert small.budgets == (20, 40, 60, 80)
    assert large.budgets == (20, 40, 60, 80, 100, *range(200, 1001, 100))
    assert small.beyond == ()


def test_budgets_beyond_the_pool_are_told_apart() -> None:
    plan = Plan.of(options(budgets="10,90,91,200"), pool=100)

    assert plan.budgets == (10, 90)
    assert plan.beyond == (91, 200)


def test_the_baseline_is_random_or_else_the_first_one() -> None:
    assert Plan.of(options(strategies="margin,random"), pool=100).baseline == "random"
    assert Plan.of(options(strategies="margin,uherding"), pool=100).baseline == "margin"


def test_every_class_folder_is_a_class(tmp_path: Path) -> None:
    folders(tmp_path, cat=2, dog=1)
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "cat" / ".DS_Store").write_bytes(b"")
    (tmp_path / "notes.txt").write_text("not a class")

    found = in_folders(tmp_path)

    assert [(each.path.name, each.label) for each in found] == [
        ("0.png", "cat"),
        ("1.png", "cat"),
        ("0.png", "dog"),
    ]


def test_a_csv_file_names_images_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("image,label\n sub/a.png , cat\n\n/else/b.png,dog\n", encoding="utf-8-sig")

    assert in_csv(path) == [
        Picture(tmp_path / "sub/a.png", "cat"),
        Picture(Path("/else/b.png"), "dog"),
    ]


def test_a_csv_file_needs_no_heading(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a.png,cat\nb.png,dog\n")

    assert len(in_csv(tmp_path / "a.csv")) == 2


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("image,label\n", "names no images"),
        ("", "names no images"),
        ("a.png,cat\nb.png\n", "Line 2 of .* must be an image path and a label"),
        ("a.png,cat\nb.png,\n", "Line 2 of .* must be an image path and a label"),
        ("a.png,cat,3\n", "Line 1 of .* must be an image path and a label"),
        ("a.png,cat\na.png,dog\n", "Line 2 of .* for the second time"),
    ],
)
def test_a_wrong_csv_file_gets_a_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "a.csv").write_text(text)

    with pytest.raises(UHerdingError, match=sentence):
        in_csv(tmp_path / "a.csv")


def test_a_csv_file_that_is_not_utf8_gets_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("ä.png,cat".encode("latin-1"))

    with pytest.raises(UHerdingError, match="CSV in UTF-8"):
        in_csv(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("classes", "sentence"),
    [
        ({}, "has no sub-folders"),
        ({"cat": 30, "dog": 0}, "dog is empty"),
        ({"cat": 10, "dog": 10}, "each seed draws only 13 images"),
        ({"cat": 1, "dog": 1}, "No class has two images"),
    ],
)
def test_wrong_folders_get_a_sentence_and_1_before_anything_is_computed(
    tmp_path: Path,
    classes: dict[str, int],
    sentence: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "images").mkdir()
    folders(tmp_path / "images", **classes)
    output = tmp_path / "out"

    code = main(["simulate", "--images", str(tmp_path / "images"), "--output", str(output)])

    assert code == 1
    assert sentence in capsys.readouterr().err
    assert not output.exists()


def test_the_split_keeps_the_share_of_each_class_and_is_always_the_same() -> None:
    pictures = [Picture(Path(f"{n}.png"), "rare" if n < 10 else "common") for n in range(110)]

    parts = split(pictures, 0.3)

    assert sorted(parts.pool + parts.test, key=str) == sorted(pictures, key=str)
    assert sum(each.label == "rare" for each in parts.test) == 3
    assert sum(each.label == "common" for each in parts.test) == 30
    assert split(pictures, 0.3) == parts


@pytest.mark.parametrize("share", [0.01, 0.99])
def test_a_class_of_two_is_on_both_sides_and_a_single_picture_in_the_pool(share: float) -> None:
    pictures = [Picture(Path(name), name[0]) for name in ("a1", "a2", "b1")]

    parts = split(pictures, share)

    assert sorted(each.label for each in parts.pool) == ["a", "b"]
    assert [each.label for each in parts.test] == ["a"]


@pytest.mark.parametrize("share", [0.0, 1.0, -0.2])
def test_a_test_share_must_leave_something_on_both_sides(share: float) -> None:
    with pytest.raises(SettingsError, match="--test-share must be above 0 and below 1"):
        split([Picture(Path("a"), "a")], share)


def test_the_digest_of_pictures_notices_a_changed_file(tmp_path: Path) -> None:
    parts = split(in_folders(folders(tmp_path, cat=3, dog=3)), 0.3)
    before = digest_of(parts)
    assert digest_of(parts) == before

    parts.pool[0].path.write_bytes(b"other")

    assert digest_of(parts) != before


def test_a_pool_that_is_sorted_by_class_is_mixed(tmp_path: Path) -> None:
    rows, labels = np.eye(40, dtype=np.float32), np.repeat([0, 1], 20)
    np.savez(
        tmp_path / "sorted.npz",
        features=rows,
        labels=labels,
        test_features=rows,
        test_labels=labels,
    )

    data = load_dataset(tmp_path / "sorted.npz").data

    assert 3 < data.labels[:20].sum() < 17
    np.testing.assert_array_equal(data.labels, labels[data.features.argmax(axis=1)])
    np.testing.assert_array_equal(data.test_labels, labels)
