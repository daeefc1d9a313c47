import numpy as np
import pytest
import torch

from model.arrays import Features, Probabilities
from model.badge import GradientMetric, gradient_distances, gradient_embeddings, residuals
from model.clustering import EuclideanMetric, kmeans_plus_plus
from model.errors import ModelError


def pool(seed: int, size: int = 40, classes: int = 4) -> tuple[Probabilities, Features]:
    generator = np.random.default_rng(seed)
    points = generator.normal(size=(size, 6))
    features = points / np.linalg.norm(points, axis=1, keepdims=True)
    return generator.dirichlet(np.ones(classes), size=size), features.astype(np.float32)


def test_distances_are_those_of_the_embeddings_themselves() -> None:
    probabilities, features = pool(0)
    embeddings = gradient_embeddings(probabilities, features).astype(np.float64)

    squared = GradientMetric(probabilities, features).squared_distances_to(9)

    expected = np.square(embeddings - embeddings[9]).sum(axis=1)
    np.testing.assert_allclose(squared, expected, atol=1e-6)  # the embeddings are float32


def test_features_of_any_length_give_the_distances_of_their_embeddings() -> None:
    probabilities, features = pool(1)
    longer = features * np.linspace(1, 3, len(features), dtype=np.float32)[:, None]
    embeddings = gradient_embeddings(probabilities, longer).astype(np.float64)

    squared = GradientMetric(probabilities, longer).squared_distances_to(0)

    expected = np.square(embeddings - embeddings[0]).sum(axis=1)
    np.testing.assert_allclose(squared, expected, atol=1e-5)


def test_all_distances_at_once_are_those_to_each_row() -> None:
    probabilities, features = pool(5)
    metric = GradientMetric(probabilities, features)

    distances = gradient_distances(probabilities, features)

    squared = np.array([metric.squared_distances_to(row) for row in range(metric.size)])
    np.testing.assert_allclose(np.square(distances), squared, atol=1e-12)
    np.testing.assert_array_equal(np.diagonal(distances), 0.0)


def test_kmeans_plus_plus_draws_as_on_the_embeddings() -> None:
    probabilities, features = pool(2)
    embeddings = gradient_embeddings(probabilities, features)

    implicit = kmeans_plus_plus(
        GradientMetric(probabilities, features), 9, np.random.default_rng(2)
    )

    explicit = kmeans_plus_plus(EuclideanMetric(embeddings), 9, np.random.default_rng(2))
    assert implicit.tolist() == explicit.tolist()


def test_embeddings_are_minus_the_gradient_of_the_predicted_classs_loss() -> None:
    _, features = pool(3)
    weights = torch.from_numpy(np.random.default_rng(3).normal(size=(4, 6))).requires_grad_()
    logits = torch.from_numpy(features).double() @ weights.T
    probabilities = logits.softmax(dim=1).detach().numpy()

    embeddings = gradient_embeddings(probabilities, features)

    for row in range(5):
        loss = torch.nn.functional.cross_entropy(logits[row], logits[row].argmax())
        (gradient,) = torch.autograd.grad(loss, weights, retain_graph=True)
        np.testing.assert_allclose(embeddings[row], -gradient.numpy().ravel(), atol=1e-6)


def test_residuals_are_prediction_minus_probabilities() -> None:
    probabilities = np.array([[0.2, 0.7, 0.1], [0.5, 0.5, 0.0]])

    found = residuals(probabilities)

    np.testing.assert_allclose(found, [[-0.2, 0.3, -0.1], [0.5, -0.5, 0.0]], atol=1e-12)


def test_rows_the_classifier_is_sure_of_are_at_the_same_place() -> None:
    _, features = pool(4)
    sure = np.tile([0.0, 1.0], (len(features), 1))

    squared = GradientMetric(sure, features).squared_distances_to(0)

    np.testing.assert_array_equal(squared, 0.0)


def test_pools_that_are_too_large_for_all_pairs_are_refused_with_what_to_do() -> None:
    probabilities, features = np.full((10_001, 2), 0.5), np.ones((10_001, 1), dtype=np.float32)

    with pytest.raises(ModelError, match=r"up to 10000, not 10001\. Choose `badge`"):
        gradient_distances(probabilities, features)


def test_gradients_that_are_too_many_to_write_down_are_refused() -> None:
    wide = np.broadcast_to(np.float32(1.0), (10_000, 6_000))

    with pytest.raises(ModelError, match=r"0\.6 billion numbers"):
        gradient_embeddings(np.full((10_000, 10), 0.1), wide)
