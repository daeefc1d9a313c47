"""Near-copies in a project's pool: looked for once, kept in a file, used by every round."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from pathlib import Path

from model.arrays import Features, Rows
from model.duplicates import THRESHOLD, near_duplicates
from model.files import UNREADABLE, load_arrays, save_arrays
from uherding_backend.caching import dispensable

log = logging.getLogger(__name__)


def pool_copies(directory: Path, features: Features, made_of: Sequence[str]) -> Rows:
    """As `near_duplicates`, which compares all pairs: seconds for 20,000 images.

    Args:
        directory: Where the project keeps its files.
        features: The whole pool.
        made_of: What the features follow from: an extractor's version and the images' hashes.
    """
    path = directory / f"copies-{_digest(made_of)}.npz"
    if path.exists():
        try:
            return load_arrays(path)["copies"]
        except UNREADABLE as error:
            log.warning("%s cannot be read (%s); looking for copies again", path, error)
    copies = near_duplicates(features)
    _replace(directory, path, copies)
    return copies


def _replace(directory: Path, path: Path, copies: Rows) -> None:
    """Delete the files of earlier pools and write this one."""
    with dispensable(path):
        for earlier in directory.glob("copies-*"):
            earlier.unlink()
        save_arrays(path, {"copies": copies})


def _digest(made_of: Sequence[str]) -> str:
    text = "\n".join([str(THRESHOLD), *made_of])
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
