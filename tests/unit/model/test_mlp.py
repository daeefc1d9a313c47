import numpy as np
import pytest
import torch

from model import mlp
from model.arrays import Features, Labels
from model.classifier import train
from model.mlp import Scaling, train_mlp


def ring(count: int, seed: int = 0) -> tuple[Features, Labels]:
    """A disc of one class within a ring of the other: no straight line parts them."""
    generator = np.random.default_rng(seed)
    labels = np.arange(count) % 2
    radius = np.where(labels == 0, 0.3, 1.0) + 0.05 * generator.normal(size=count)
    angle = generator.uniform(0, 2 * np.pi, size=count)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return points.astype(np.float32), labels


def test_learns_what_no_straight_line_parts() -> None:
    features, labels = ring(300)

    bent = train_mlp(features[:200], labels[:200], seed=0)
    straight = train(features[:200], labels[:200])

    assert np.mean(bent.logits(features[200:]).argmax(axis=1) == labels[200:]) > 0.95
    assert np.mean(straight.logits(features[200:]).argmax(axis=1) == labels[200:]) < 0.8


def test_another_seed_gives_another_classifier() -> None:
    features, labels = ring(20)

    one, other = train_mlp(features, labels, seed=0), train_mlp(features, labels, seed=1)

    assert not np.array_equal(one.logits(features), other.logits(features))


def test_training_starts_from_zero_every_time() -> None:
    features, labels = ring(40)
    before = train_mlp(features, labels, seed=0)

    train_mlp(*ring(60, seed=5), seed=0)

    after = train_mlp(features, labels, seed=0)
    np.testing.assert_array_equal(after.logits(features), before.logits(features))


@pytest.mark.parametrize(("features", "hidden"), [(2, 32), (100, 200), (400, 512)])
def test_hidden_layers_are_twice_as_wide_as_the_features_within_limits(
    features: int, hidden: int
) -> None:
    rows = np.eye(3, features, dtype=np.float32)

    classifier = train_mlp(rows, np.array([0, 1, 1]), seed=0)

    shapes = [weight.shape for weight in classifier.weights]
    assert shapes == [(features, hidden), (hidden, hidden), (hidden, 2)]
    assert [bias.shape for bias in classifier.biases] == [(hidden,), (hidden,), (2,)]


def test_logits_are_those_of_the_network_that_was_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    features, labels = ring(50)
    trained: list[mlp.Layers] = []
    merged = Scaling.merged_into

    def remember(scaling: Scaling, layers: mlp.Layers, classes: Labels) -> mlp.MlpClassifier:
        trained.append(layers)
        return merged(scaling, layers, classes)

    monkeypatch.setattr(Scaling, "merged_into", remember)
    classifier = train_mlp(features, labels, seed=0)

    scaled = (features - features.mean(axis=0)) / np.sqrt(
        np.mean((features - features.mean(axis=0)) ** 2)
    )
    with torch.inference_mode():
        expected = trained[0].forward(torch.from_numpy(scaled)).numpy()
    np.testing.assert_allclose(classifier.logits(features), expected, atol=1e-4)


def test_many_rows_are_judged_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    features, labels = ring(50)
    classifier = train_mlp(features, labels, seed=0)
    at_once = classifier.logits(features)

    monkeypatch.setattr(mlp, "ROWS_AT_ONCE", 7)

    np.testing.assert_allclose(classifier.logits(features), at_once, atol=1e-12)


def test_the_size_and_place_of_features_do_not_matter() -> None:
    features, labels = ring(60)

    small = train_mlp(features, labels, seed=0)
    large = train_mlp(1000 * features + 500, labels, seed=0)

    np.testing.assert_allclose(
        small.logits(features), large.logits(1000 * features + 500), atol=0.05
    )


def epochs_of(features: Features, labels: Labels, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The loss of every epoch that training takes."""
    losses: list[float] = []
    epoch = mlp._epoch

    def counted(*arguments: object) -> float:
        losses.append(epoch(*arguments))  # type: ignore[arg-type]
        return losses[-1]

    monkeypatch.setattr(mlp, "_epoch", counted)
    train_mlp(features, labels, seed=0)
    return losses


def test_training_ends_when_every_label_is_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = epochs_of(*ring(1000), monkeypatch)

    assert losses[-1] < mlp.LEAST_LOSS <= min(losses[:-1])
    assert len(losses) < mlp.EPOCHS


def test_training_ends_when_the_loss_falls_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, labels = np.ones((6, 4), dtype=np.float32), np.array([0, 1] * 3)

    losses = epochs_of(rows, labels, monkeypatch)

    assert len(losses) == 1 + mlp.PATIENCE
    np.testing.assert_allclose(losses, np.log(2), atol=1e-4)


def test_training_ends_in_any_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mlp, "EPOCHS", 3)

    assert len(epochs_of(*ring(40), monkeypatch)) == 3


def test_one_thread_trains(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []
    monkeypatch.setattr(mlp, "_fit", lambda *_: threads.append(torch.get_num_threads()))
    before = torch.get_num_threads()
    torch.set_num_threads(3)

    train_mlp(*ring(4), seed=0)

    torch.set_num_threads(before)
    assert threads == [1]


def test_batches_show_every_row_once_an_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mlp, "BATCH", 16)
    monkeypatch.setattr(mlp, "EPOCHS", 1)
    shown: list[float] = []
    forward = mlp.Layers.forward

    def recorded(layers: mlp.Layers, points: torch.Tensor) -> torch.Tensor:
        shown.extend(points[:, 0].tolist())
        return forward(layers, points)

    monkeypatch.setattr(mlp.Layers, "forward", recorded)
    rows = np.arange(40, dtype=np.float32)[:, None]

    train_mlp(rows, np.arange(40) % 2, seed=0)

    assert len(shown) == len(set(shown)) == 40
    assert shown != sorted(shown)
