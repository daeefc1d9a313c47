import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from model.arrays import Features, Inputs, Labels, Logits
from model.classifier import Train
from model.classifiers import classifier_arrays, classifier_from, image_size, trainer
from model.errors import ModelError
from model.finetuning import Finetuning
from model.names import CLASSIFIERS


@pytest.fixture(params=["linear", "mlp"])
def fit(request: pytest.FixtureRequest) -> Train:
    return trainer(request.param)


def on_circle(*degrees: float) -> Features:
    angles = np.radians(np.array(degrees, dtype=np.float64))
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def clusters(count: int, dimension: int = 16, classes: int = 4) -> tuple[Features, Labels]:
    """Unit rows around one random direction for each class."""
    generator = np.random.default_rng(0)
    centres = generator.normal(size=(classes, dimension))
    labels = np.arange(count) % classes
    points = centres[labels] + 0.3 * generator.normal(size=(count, dimension))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points.astype(np.float32), labels


def test_learns_what_can_be_separated_and_recognises_more_of_it(fit: Train) -> None:
    features, labels = clusters(120)

    classifier = fit(features[:80], labels[:80], seed=0)

    assert (classifier.logits(features).argmax(axis=1) == labels).all()


def test_columns_are_the_classes_that_have_labels_in_ascending_order(fit: Train) -> None:
    features = on_circle(0, 10, 90, 100, 180, 190)

    classifier = fit(features, np.array([7, 7, 2, 2, 4, 4]), seed=0)

    logits = classifier.logits(features)
    assert classifier.classes.tolist() == [2, 4, 7]
    assert classifier.classes[logits.argmax(axis=1)].tolist() == [7, 7, 2, 2, 4, 4]
    assert logits.dtype == np.float64


def test_one_class_only_is_one_column_of_zeros(fit: Train) -> None:
    classifier = fit(on_circle(0, 90), np.array([3, 3]), seed=0)

    assert classifier.classes.tolist() == [3]
    np.testing.assert_array_equal(classifier.logits(on_circle(1, 2, 3)), np.zeros((3, 1)))


def test_one_label_is_enough(fit: Train) -> None:
    classifier = fit(on_circle(30), np.array([5]), seed=0)

    assert classifier.classes.tolist() == [5]
    np.testing.assert_array_equal(classifier.logits(on_circle(1)), np.zeros((1, 1)))


def test_two_labels_are_enough(fit: Train) -> None:
    classifier = fit(on_circle(0, 90), np.array([0, 1]), seed=0)

    assert classifier.logits(on_circle(5, 85)).argmax(axis=1).tolist() == [0, 1]


def test_one_image_under_two_classes_is_undecided(fit: Train) -> None:
    classifier = fit(on_circle(30, 30), np.array([0, 1]), seed=0)

    logits = classifier.logits(on_circle(30, 80))

    assert np.isfinite(logits).all()
    np.testing.assert_allclose(logits[0, 0], logits[0, 1], atol=1e-6)


def test_one_contradiction_spoils_nothing_else(fit: Train) -> None:
    features = on_circle(0, 0, 2, 4, 6, 90, 92, 94, 96)
    labels = np.array([0, 1, 0, 0, 0, 1, 1, 1, 1])

    classifier = fit(features, labels, seed=0)

    assert classifier.logits(features[2:]).argmax(axis=1).tolist() == labels[2:].tolist()


def test_a_rare_class_is_still_learned(fit: Train) -> None:
    features = on_circle(*np.linspace(0, 40, 60), 120)
    labels = np.array([0] * 60 + [1])

    classifier = fit(features, labels, seed=0)

    assert classifier.logits(on_circle(20, 120)).argmax(axis=1).tolist() == [0, 1]


def test_the_same_labels_and_seed_give_the_same_classifier(fit: Train) -> None:
    features, labels = clusters(40)

    first, second = fit(features, labels, seed=3), fit(features, labels, seed=3)

    np.testing.assert_array_equal(first.logits(features), second.logits(features))


def test_the_order_of_the_labels_does_not_change_the_linear_classifier() -> None:
    features, labels = clusters(60)
    order = np.random.default_rng(1).permutation(60)

    straight = trainer("linear")(features, labels, seed=0)
    shuffled = trainer("linear")(features[order], labels[order], seed=0)

    np.testing.assert_allclose(straight.logits(features), shuffled.logits(features), atol=1e-3)


def test_other_peoples_chance_is_left_alone(fit: Train) -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()

    fit(*clusters(40), seed=0)

    assert torch.equal(torch.get_rng_state(), before)


@pytest.fixture
def three_threads() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(threads)


@pytest.mark.usefixtures("three_threads")
def test_other_peoples_threads_are_left_alone(fit: Train) -> None:
    fit(*clusters(40), seed=0)

    assert torch.get_num_threads() == 3


def test_rows_are_judged_one_by_one(fit: Train) -> None:
    features, labels = clusters(40)
    classifier = fit(features, labels, seed=0)

    alone = np.concatenate([classifier.logits(features[row : row + 1]) for row in range(40)])

    assert classifier.logits(features[:0]).shape == (0, 4)
    np.testing.assert_allclose(classifier.logits(features), alone, atol=1e-9)


@pytest.mark.parametrize("labels", [[], [0], [0, -1]])
def test_missing_labels_are_refused(fit: Train, labels: list[int]) -> None:
    features = on_circle(0, 90) if labels else on_circle()

    with pytest.raises(ModelError, match="one class for each image"):
        fit(features, np.array(labels, dtype=np.int64), seed=0)


def test_every_known_name_has_a_trainer_and_a_sentence() -> None:
    assert list(CLASSIFIERS) == ["linear", "mlp", "finetune"]
    assert all(callable(trainer(name)) for name in CLASSIFIERS)
    assert all(sentence.endswith(".") for sentence in CLASSIFIERS.values())


def test_fine_tuning_comes_with_its_settings() -> None:
    settings = Finetuning(epochs=7)

    assert trainer("finetune", finetuning=settings) is settings
    assert trainer("finetune") == Finetuning()


def test_a_classifier_taken_apart_and_put_together_is_the_same(fit: Train) -> None:
    features, labels = clusters(40)
    classifier = fit(features, labels + 3, seed=0)

    arrays = classifier_arrays(classifier)
    again = classifier_from(arrays)

    assert type(again) is type(classifier)
    assert all(array.dtype != object for array in arrays.values())
    assert image_size(again) is None
    np.testing.assert_array_equal(again.classes, [3, 4, 5, 6])
    np.testing.assert_array_equal(again.logits(features), classifier.logits(features))


def test_a_network_taken_apart_and_put_together_is_the_same() -> None:
    images = np.random.default_rng(0).integers(256, size=(6, 16, 16, 3), dtype=np.uint8)
    finetuning = Finetuning(start="resnet18:16", epochs=1)
    classifier = finetuning(images, np.array([2, 7] * 3), seed=0)

    arrays = classifier_arrays(classifier)
    again = classifier_from(arrays)

    assert all(array.dtype != object for array in arrays.values())
    assert (image_size(again), again.classes.tolist()) == (16, [2, 7])
    assert classifier_arrays(again)["start"] == "resnet18:16"
    np.testing.assert_array_equal(again.logits(images), classifier.logits(images))


class Guesser:
    classes = np.array([0])

    def logits(self, inputs: Inputs) -> Logits:
        return np.zeros((len(inputs), 1))


def test_a_classifier_of_another_kind_is_refused() -> None:
    with pytest.raises(ModelError, match="A Guesser cannot be stored"):
        classifier_arrays(Guesser())
    with pytest.raises(ModelError, match=r"of the kind 'forest'.*known are linear, mlp, finetune"):
        classifier_from({"kind": np.array("forest"), "classes": np.array([0])})


def test_without_a_classifier_no_images_are_wanted() -> None:
    assert image_size(None) is None


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ModelError, match="no classifier 'lienar'; choose one of linear, mlp, fine"):
        trainer("lienar")


def test_the_names_load_no_torch() -> None:
    question = "import sys, model.names; sys.exit('torch' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", question], check=False).returncode == 0  # noqa: S603
