"""Labelled image files: which there are, and which of them are kept for judging."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from uherding_backend.errors import SettingsError, UHerdingError


@dataclass(frozen=True, slots=True)
class Picture:
    """An image file and its class."""

    path: Path
    label: str


@dataclass(frozen=True, slots=True)
class Split:
    """Pictures to choose from, and pictures to judge by."""

    pool: list[Picture]
    test: list[Picture]


def in_folders(directory: Path) -> list[Picture]:
    """Every file in the class folders of a directory, hidden ones left out."""
    if not directory.is_dir():
        raise UHerdingError(f"There is no directory {directory}.")
    folders = sorted(each for each in directory.iterdir() if each.is_dir() and not _hidden(each))
    if not folders:
        raise UHerdingError(f"{directory} has no sub-folders; --images wants one for each class.")
    pictures = []
    for folder in folders:
        files = sorted(each for each in folder.rglob("*") if each.is_file() and not _hidden(each))
        if not files:
            raise UHerdingError(
                f"The class folder {folder} is empty. Put images into it, or remove it."
            )
        pictures += [Picture(file, folder.name) for file in files]
    return pictures


def in_csv(path: Path) -> list[Picture]:
    """Every line of a file with two columns: image path, relative to the file, and label.

    A first line whose path has no file extension is a heading.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = [(number, row) for number, row in enumerate(csv.reader(file), 1) if row]
    except FileNotFoundError as error:
        raise UHerdingError(f"There is no file {path}.") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise UHerdingError(f"{path} cannot be read as CSV in UTF-8 ({error}).") from error
    if lines and not Path(lines[0][1][0]).suffix:
        lines = lines[1:]
    pictures: dict[Path, Picture] = {}
    for number, row in lines:
        cells = [cell.strip() for cell in row]
        if len(cells) != 2 or not all(cells):
            raise UHerdingError(
                f"Line {number} of {path} must be an image path and a label, got {','.join(row)!r}."
            )
        picture = Picture(path.parent / cells[0], cells[1])
        if picture.path in pictures:
            raise UHerdingError(
                f"Line {number} of {path} names {cells[0]} for the second time. An image that is "
                "both in the pool and among the test images would make every result look better."
            )
        pictures[picture.path] = picture
    if not pictures:
        raise UHerdingError(f"{path} names no images.")
    return list(pictures.values())


def split(pictures: Sequence[Picture], test_share: float) -> Split:
    """Keep a share of each class for judging, by chance but always the same.

    A class with two pictures or more is on both sides; a single picture stays in the pool.
    """
    if not 0 < test_share < 1:
        raise SettingsError(f"--test-share must be above 0 and below 1, got {test_share}.")
    generator = np.random.default_rng(0)
    parts = Split([], [])
    for label in sorted({picture.label for picture in pictures}):
        mine = [picture for picture in pictures if picture.label == label]
        kept = min(max(1, round(test_share * len(mine))), len(mine) - 1)
        order = generator.permutation(len(mine))
        parts.test.extend(mine[row] for row in sorted(order[:kept]))
        parts.pool.extend(mine[row] for row in sorted(order[kept:]))
    if not parts.test:
        raise UHerdingError("No class has two images or more, so none can be kept for judging.")
    return parts


def digest_of(parts: Split) -> str:
    """Another one if a picture came, went, changed, or changed its class or its side."""
    digest = hashlib.sha256()
    for side, pictures in (("pool", parts.pool), ("test", parts.test)):
        for picture in pictures:
            state = picture.path.stat() if picture.path.exists() else None
            changed = (state.st_size, state.st_mtime_ns) if state else None
            digest.update(f"{side} {picture.path} {picture.label} {changed}\n".encode())
    return digest.hexdigest()


def _hidden(path: Path) -> bool:
    return path.name.startswith(".")
