from __future__ import annotations

import numpy as np
import pytest

from tests.support.fake_label_studio import Killed
from uherding_backend.feature_store import FeatureStore
from uherding_backend.store import Store
from uherding_backend.store.database import Database

ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.fixture
def features(store: Store) -> FeatureStore:
    return FeatureStore(store.database, store.data_dir / "features")


def test_rows_come_back_in_the_order_asked_for(features: FeatureStore) -> None:
    features.append("e", ["a", "b", "c", "d"], ROWS)

    found = features.rows("e", 3, ["d", "a", "c", "a"])

    np.testing.assert_array_equal(found, ROWS[[3, 0, 2, 0]])


def test_later_rows_are_added_behind_the_earlier_ones(features: FeatureStore) -> None:
    features.append("e", ["a", "b"], ROWS[:2])
    features.append("e", ["c", "d"], ROWS[2:])

    np.testing.assert_array_equal(features.rows("e", 3, ["a", "b", "c", "d"]), ROWS)
    assert features.known("e") == {"a", "b", "c", "d"}


def test_equal_images_share_the_first_row(features: FeatureStore, store: Store) -> None:
    features.append("e", ["a", "b", "a"], ROWS[:3])
    features.append("e", ["b", "c"], ROWS[2:])

    np.testing.assert_array_equal(features.rows("e", 3, ["a", "b", "c"]), ROWS[[0, 1, 3]])
    assert (store.data_dir / "features" / "e.f32").stat().st_size == 3 * 3 * 4


def test_extractors_do_not_share_rows(features: FeatureStore) -> None:
    features.append("e", ["a"], ROWS[:1])
    features.append("f", ["a"], ROWS[1:2, :2])

    np.testing.assert_array_equal(features.rows("e", 3, ["a"]), ROWS[:1])
    np.testing.assert_array_equal(features.rows("f", 2, ["a"]), ROWS[1:2, :2])
    assert features.known("g") == set()


def test_bytes_that_were_written_but_not_indexed_are_overwritten(
    features: FeatureStore, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    features.append("e", ["a"], ROWS[:1])
    with monkeypatch.context() as patch:
        patch.setattr(Database, "writing", lambda _: (_ for _ in ()).throw(Killed))
        with pytest.raises(Killed):
            features.append("e", ["b", "c"], ROWS[[3, 3]])

    features.append("e", ["d"], ROWS[2:3])

    assert features.known("e") == {"a", "d"}
    np.testing.assert_array_equal(features.rows("e", 3, ["a", "d"]), ROWS[[0, 2]])
    left = np.fromfile(store.data_dir / "features" / "e.f32", dtype=np.float32).reshape(-1, 3)
    np.testing.assert_array_equal(left, ROWS[[0, 2, 3]])


def test_no_hashes_give_no_rows_of_the_right_width(features: FeatureStore) -> None:
    assert features.rows("e", 3, []).shape == (0, 3)
