"""Features and labels from an .npz file, checked."""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.arrays import Features
from model.features.rows import unit_rows
from model.files import load_arrays
from model.simulate import LabelledData
from uherding_backend.errors import UHerdingError

KEYS = ("features", "labels", "test_features", "test_labels")
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Dataset:
    """A pool with known labels and test images.

    Attributes:
        data: Unit feature rows, and labels as class ids.
        classes: Names of the classes by id.
        digest: The same for the same content, whatever the file is called.
    """

    data: LabelledData
    classes: tuple[str, ...]
    digest: str

    @property
    def unseen(self) -> list[str]:
        """Classes of test images that no pool image has: always judged wrong."""
        missing = np.setdiff1d(self.data.test_labels, self.data.labels)
        return [self.classes[number] for number in missing]


def load_dataset(path: Path) -> Dataset:
    """Read ``features``, ``labels``, ``test_features`` and ``test_labels``."""
    arrays = _read(path)
    features, test_features = (_rows(path, key, arrays) for key in ("features", "test_features"))
    if features.shape[1] != test_features.shape[1]:
        raise UHerdingError(
            f"{path}: features have {features.shape[1]} columns and test_features "
            f"{test_features.shape[1]}; both must come from the same extractor."
        )
    names = np.concatenate([_names(path, key, arrays) for key in ("labels", "test_labels")])
    classes, ids = np.unique(names, return_inverse=True)
    ids = ids.astype(np.int64)
    pool = len(arrays["labels"])
    # Where all is equal strategies take the lowest row: classes must not lie there one by one.
    mixed = np.random.default_rng(0).permutation(pool)
    data = LabelledData(features[mixed], ids[:pool][mixed], test_features, ids[pool:])
    if len(np.unique(data.labels)) < 2:
        raise UHerdingError(
            f"All images of the pool in {path} are of one class ({classes[data.labels[0]]}). "
            "Nothing can be learned from that; give images of two classes or more."
        )
    return Dataset(data, tuple(str(name) for name in classes), _digest(arrays))


def _read(path: Path) -> Arrays:
    if not path.is_file():
        raise UHerdingError(f"There is no file {path}.")
    try:
        if not zipfile.is_zipfile(path):
            raise zipfile.BadZipFile("it is another kind of file")  # noqa: TRY301
        arrays = load_arrays(path)
    except (ValueError, zipfile.BadZipFile, EOFError) as error:
        raise UHerdingError(
            f"{path} cannot be read as an .npz file of plain arrays ({error}). Write it with "
            "numpy.savez; labels as whole numbers or strings, not as Python objects."
        ) from error
    missing = [key for key in KEYS if key not in arrays]
    if missing:
        raise UHerdingError(
            f"{path} lacks {', '.join(missing)}; it must hold {', '.join(KEYS)} and holds "
            f"{', '.join(arrays) or 'nothing'}."
        )
    return arrays


def _rows(path: Path, key: str, arrays: Arrays) -> Features:
    rows = arrays[key]
    if rows.ndim != 2 or rows.dtype.kind not in "fiu" or 0 in rows.shape:
        raise UHerdingError(
            f"{path}: {key} must be numbers of shape (images, columns), got {rows.dtype} of "
            f"shape {rows.shape}."
        )
    rows = rows.astype(np.float32)
    broken = int((~np.isfinite(rows)).any(axis=1).sum())
    if broken:
        raise UHerdingError(f"{path}: {broken} rows of {key} hold NaN or infinity.")
    return unit_rows(rows)


def _names(path: Path, key: str, arrays: Arrays) -> NDArray[np.str_]:
    """Labels as strings, so that 3 and "3" are one class."""
    labels = arrays[key]
    rows = arrays[key.replace("labels", "features")]
    if labels.dtype.kind not in "iubUS" or labels.shape != rows.shape[:1]:
        raise UHerdingError(
            f"{path}: {key} must be one whole number or string for each row of features, got "
            f"{labels.dtype} of shape {labels.shape} for {len(rows)} rows."
        )
    return np.char.decode(labels, "utf-8") if labels.dtype.kind == "S" else labels.astype(str)


def _digest(arrays: Arrays) -> str:
    digest = hashlib.sha256()
    for key in KEYS:
        array = np.ascontiguousarray(arrays[key])
        digest.update(f"{key} {array.dtype} {array.shape} ".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
