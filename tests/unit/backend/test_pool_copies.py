from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from model.arrays import Features, Rows
from model.duplicates import NOT_A_COPY, near_duplicates
from uherding_backend import pool_copies as module
from uherding_backend.pool_copies import pool_copies

ROWS = np.eye(3, dtype=np.float32)[[0, 1, 0, 2]]
COPIES = [NOT_A_COPY, NOT_A_COPY, 0, NOT_A_COPY]


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[Features]:
    """The pools in which copies were looked for."""
    seen: list[Features] = []

    def watched(features: Features) -> Rows:
        seen.append(features)
        return near_duplicates(features)

    monkeypatch.setattr(module, "near_duplicates", watched)
    return seen


def test_copies_are_looked_for_once(tmp_path: Path, looked_at: list[Features]) -> None:
    found = [pool_copies(tmp_path, ROWS, ["e", "a", "b", "c", "d"]) for _ in range(2)]

    assert [copies.tolist() for copies in found] == [COPIES, COPIES]
    assert [copies.dtype for copies in found] == [np.int64, np.int64]
    assert len(looked_at) == 1


@pytest.mark.parametrize(
    "others", [["f", "a", "b", "c", "d"], ["e", "b", "a", "c", "d"], ["e", "a", "b", "c"]]
)
def test_they_are_looked_for_again_in_another_pool_and_one_file_is_kept(
    tmp_path: Path, looked_at: list[Features], others: list[str]
) -> None:
    pool_copies(tmp_path, ROWS, ["e", "a", "b", "c", "d"])

    found = pool_copies(tmp_path, ROWS[::-1], others)

    assert found.tolist() == near_duplicates(ROWS[::-1]).tolist()
    assert len(looked_at) == 2
    assert len(list(tmp_path.iterdir())) == 1


def test_another_threshold_finds_others(
    tmp_path: Path, looked_at: list[Features], monkeypatch: pytest.MonkeyPatch
) -> None:
    pool_copies(tmp_path, ROWS, ["e"])
    monkeypatch.setattr(module, "THRESHOLD", 0.9)

    pool_copies(tmp_path, ROWS, ["e"])

    assert len(looked_at) == 2


@pytest.mark.parametrize("content", [b"", b"not an array", b"\x93NUMPY\x01\x00"])
def test_a_broken_file_is_made_anew(
    tmp_path: Path, looked_at: list[Features], content: bytes
) -> None:
    pool_copies(tmp_path, ROWS, ["e"])
    (file,) = tmp_path.iterdir()
    file.write_bytes(content)

    found = [pool_copies(tmp_path, ROWS, ["e"]) for _ in range(2)]

    assert [copies.tolist() for copies in found] == [COPIES, COPIES]
    assert len(looked_at) == 2
