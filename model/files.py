"""Arrays on disk: written whole or not at all, and read without running any code in the file."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]
UNREADABLE = (OSError, ValueError, KeyError, EOFError, BadZipFile)  # what a broken file raises


def save_arrays(path: Path, arrays: Arrays) -> None:
    """Write an .npz file; a crash leaves the old file or the new one, never half of one."""
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".tmp", delete=False) as file:
        try:
            np.savez(file, allow_pickle=False, **arrays)
            file.flush()
            os.fsync(file.fileno())
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


def load_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Read what `save_arrays` wrote; anything else raises whatever numpy finds wrong with it."""
    # numpy would leave a file open in which it finds something wrong.
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
        return {key: file[key] for key in file}
