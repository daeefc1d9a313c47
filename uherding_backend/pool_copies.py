"""Near-copies in a project's pool: looked for once, kept in a file, used by every round."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from model.arrays import Features, Rows
from model.duplicates import THRESHOLD, near_duplicates

log = logging.getLogger(__name__)


def pool_copies(directory: Path, features: Features, made_of: Sequence[str]) -> Rows:
    """As `near_duplicates`, which compares all pairs: seconds for 20,000 images.

    Args:
        directory: Where the project keeps its files.
        features: The whole pool.
        made_of: What the features follow from: an extractor's version and the images' hashes.
    """
    path = directory / f"copies-{_digest(made_of)}.npy"
    if path.exists():
        try:
            return np.asarray(np.load(path, allow_pickle=False), dtype=np.int64)
        except (ValueError, EOFError) as error:
            log.warning("%s cannot be read (%s); looking for copies again", path, error)
    copies = near_duplicates(features)
    _replace(directory, path, copies)
    return copies


def _replace(directory: Path, path: Path, copies: Rows) -> None:
    """Delete the files of earlier pools, also half-written ones, and write this one in one go."""
    for earlier in directory.glob("copies-*"):
        earlier.unlink()
    unfinished = path.with_suffix(".unfinished")
    with unfinished.open("wb") as file:
        np.save(file, copies, allow_pickle=False)
    unfinished.replace(path)


def _digest(made_of: Sequence[str]) -> str:
    text = "\n".join([str(THRESHOLD), *made_of])
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
