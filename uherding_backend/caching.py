"""Files that only save work: without them the next round computes the same again."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

log = logging.getLogger(__name__)


@contextmanager
def dispensable(path: Path) -> Iterator[None]:
    """Go on where this file cannot be written, as on a full disk."""
    try:
        yield
    except OSError as error:
        log.warning("%s cannot be written (%s); it will be computed again", path, error)
