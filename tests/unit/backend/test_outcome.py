from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from model.pipeline import Ranking, rank_pool
from tests.support.fake_label_studio import Killed
from uherding_backend.labels import TaskId
from uherding_backend.outcome import load_outcome, save_outcome

TASKS = [TaskId(30), TaskId(10), TaskId(20)]
CLASSES = ("bars", "a much longer name", "ünïcode")


def ranking(labels: list[int]) -> Ranking:
    features = np.eye(3, dtype=np.float32)
    return rank_pool(features, np.array(labels), class_count=3, count=3)


def test_what_was_saved_comes_back(tmp_path: Path) -> None:
    ranked = ranking([0, 2, -1])

    save_outcome(tmp_path / "round-1.npz", TASKS, CLASSES, ranked)
    found = load_outcome(tmp_path / "round-1.npz")

    assert found.classes == CLASSES
    assert found.tasks == {30: 0, 10: 1, 20: 2}
    assert found.temperature == ranked.temperature
    np.testing.assert_allclose(found.probabilities, ranked.probabilities, atol=1e-6)
    np.testing.assert_allclose(found.uncertainty, ranked.uncertainty, atol=1e-6)
    assert found.classifier is not None
    assert ranked.classifier is not None
    np.testing.assert_array_equal(found.classifier.weights, ranked.classifier.weights)
    np.testing.assert_array_equal(found.classifier.classes, [0, 2])


def test_before_the_first_label_there_is_no_classifier(tmp_path: Path) -> None:
    save_outcome(tmp_path / "round-1.npz", TASKS, CLASSES, ranking([-1, -1, -1]))

    assert load_outcome(tmp_path / "round-1.npz").classifier is None


def test_killed_while_writing_the_old_file_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "round-1.npz"
    save_outcome(path, TASKS, CLASSES, ranking([-1, -1, -1]))

    def die(_: int) -> None:
        raise Killed

    monkeypatch.setattr("uherding_backend.outcome.os.fsync", die)
    with pytest.raises(Killed):
        save_outcome(path, TASKS, CLASSES, ranking([0, 2, -1]))

    assert load_outcome(path).classifier is None


def test_a_file_that_wants_to_run_code_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "round-1.npz"
    np.savez(path, classes=np.array([print], dtype=object), allow_pickle=True)

    with pytest.raises(ValueError, match="allow_pickle=False"):
        load_outcome(path)
