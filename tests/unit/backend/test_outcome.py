from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from model.arrays import Inputs
from model.classifier import LinearClassifier, Train
from model.classifiers import trainer
from model.finetuning import Finetuning
from model.pipeline import Ranking, rank_pool
from tests.support.fake_label_studio import Killed
from uherding_backend.labels import TaskId
from uherding_backend.outcome import load_outcome, save_outcome

TASKS = [TaskId(30), TaskId(10), TaskId(20)]
CLASSES = ("bars", "a much longer name", "ünïcode")
FEATURES = np.eye(3, dtype=np.float32)
IMAGES = np.random.default_rng(0).integers(256, size=(3, 16, 16, 3), dtype=np.uint8)


def ranking(labels: list[int], fit: Train | None = None, inputs: Inputs | None = None) -> Ranking:
    fit = fit or trainer("linear")
    return rank_pool(FEATURES, np.array(labels), class_count=3, count=3, fit=fit, inputs=inputs)


@pytest.mark.parametrize(
    ("fit", "inputs"),
    [
        (trainer("linear"), FEATURES),
        (trainer("mlp"), FEATURES),
        (Finetuning(start="resnet18:16", epochs=1), IMAGES),
    ],
    ids=["linear", "mlp", "finetune"],
)
def test_what_was_saved_comes_back(fit: Train, inputs: Inputs, tmp_path: Path) -> None:
    ranked = ranking([0, 2, -1], fit, inputs)

    save_outcome(tmp_path / "round-1.npz", TASKS, CLASSES, ranked)
    found = load_outcome(tmp_path / "round-1.npz")

    assert [path.name for path in tmp_path.iterdir()] == ["round-1.npz"]
    assert found.classes == CLASSES
    assert found.tasks == {30: 0, 10: 1, 20: 2}
    assert found.temperature == ranked.temperature
    np.testing.assert_allclose(found.probabilities, ranked.probabilities, atol=1e-6)
    np.testing.assert_allclose(found.uncertainty, ranked.uncertainty, atol=1e-6)
    assert found.classifier is not None
    assert ranked.classifier is not None
    np.testing.assert_array_equal(found.classifier.classes, [0, 2])
    expected = ranked.classifier.logits(inputs)
    np.testing.assert_array_equal(found.classifier.logits(inputs), expected)


def test_a_file_from_before_there_were_other_classifiers_is_read(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    weights, bias = generator.normal(size=(3, 2)), generator.normal(size=2)
    np.savez(
        tmp_path / "round-1.npz",
        tasks=np.array(TASKS),
        classes=np.array(CLASSES),
        probabilities=np.zeros((3, 3), dtype=np.float32),
        uncertainty=np.zeros(3, dtype=np.float32),
        temperature=np.array(1.5),
        weights=weights,
        bias=bias,
        class_ids=np.array([0, 2]),
    )

    found = load_outcome(tmp_path / "round-1.npz")

    assert isinstance(found.classifier, LinearClassifier)
    np.testing.assert_array_equal(found.classifier.weights, weights)
    np.testing.assert_array_equal(found.classifier.bias, bias)
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

    monkeypatch.setattr("model.files.os.fsync", die)
    with pytest.raises(Killed):
        save_outcome(path, TASKS, CLASSES, ranking([0, 2, -1]))

    assert load_outcome(path).classifier is None


def test_a_file_that_wants_to_run_code_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "round-1.npz"
    np.savez(path, classes=np.array([print], dtype=object), allow_pickle=True)

    with pytest.raises(ValueError, match="allow_pickle=False"):
        load_outcome(path)
