from pathlib import Path

import numpy as np
import pytest

from model.files import UNREADABLE, load_arrays, save_arrays


def test_arrays_come_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "arrays.npz"

    save_arrays(path, {"rows": np.arange(3), "name": np.array("x")})

    found = load_arrays(path)
    assert found.keys() == {"rows", "name"}
    np.testing.assert_array_equal(found["rows"], np.arange(3))
    assert str(found["name"]) == "x"
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_written_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "arrays.npz"
    save_arrays(path, {"rows": np.arange(3)})

    def full(_: int) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr("model.files.os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        save_arrays(path, {"rows": np.arange(4)})

    assert len(load_arrays(path)["rows"]) == 3
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("kept", [0, 50, 400], ids=["empty", "cut off", "without its last bytes"])
def test_a_broken_file_is_noticed(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "arrays.npz"
    save_arrays(path, {"rows": np.arange(30)})
    path.write_bytes(path.read_bytes()[:kept])

    with pytest.raises(UNREADABLE):
        load_arrays(path)


def test_a_file_that_wants_to_run_code_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "arrays.npz"
    np.savez(path, rows=np.array([print], dtype=object), allow_pickle=True)

    with pytest.raises(ValueError, match="allow_pickle=False"):
        load_arrays(path)
