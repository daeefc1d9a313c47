import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from model.arrays import UNLABELED, Features, Labels
from model.classifier import train
from model.pipeline import rank_pool

Labelled = tuple[Features, Labels]
CLASSES = 5


@st.composite
def labelled_images(draw: st.DrawFn) -> Labelled:
    """Few images, some of them copies, in any mix of classes."""
    size = draw(st.integers(1, 16))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    points = generator.normal(size=(size, 4))
    if draw(st.booleans()):
        points = points[generator.integers(size, size=size)]
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    labels = draw(st.lists(st.integers(0, CLASSES - 1), min_size=size, max_size=size))
    return unit.astype(np.float32), np.array(labels, dtype=np.int64)


@settings(max_examples=40)
@given(labelled_images())
def test_any_labels_give_a_classifier_with_finite_logits(labelled: Labelled) -> None:
    features, labels = labelled

    classifier = train(features, labels)

    assert classifier.classes.tolist() == sorted(set(labels.tolist()))
    logits = classifier.logits(features)
    assert logits.shape == (len(labels), len(classifier.classes))
    assert np.isfinite(logits).all()


@settings(max_examples=25)
@given(labelled_images(), st.integers(0, 16), st.integers(0, 20))
def test_any_labels_give_a_ranking(labelled: Labelled, unlabelled: int, count: int) -> None:
    features, labels = labelled
    labels = labels.copy()
    labels[:unlabelled] = UNLABELED

    ranking = rank_pool(features, labels, class_count=CLASSES, count=count)

    free = np.flatnonzero(labels == UNLABELED)
    assert len(ranking.selection.rows) == min(count, len(free))
    assert set(ranking.selection.rows.tolist()) <= set(free.tolist())
    assert (ranking.uncertainty[labels != UNLABELED] == 0).all()
    np.testing.assert_allclose(ranking.probabilities.sum(axis=1), 1.0, atol=1e-9)
    assert 0 <= ranking.coverage <= 1 + 1e-12
    assert ranking.radius > 0
