import numpy as np
import pytest

from model import Selection, coverage, select
from model.arrays import NO_ROWS, Features
from model.coverage import select_by
from model.errors import ModelError
from model.kernels import TopHatKernel
from tests.support import reference


def on_circle(*degrees: float) -> Features:
    angles = np.radians(np.array(degrees, dtype=np.float64))
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def random_pool(seed: int, size: int, dimension: int = 8) -> Features:
    points = np.random.default_rng(seed).normal(size=(size, dimension))
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    return np.asarray(unit, dtype=np.float32)


def test_picks_one_image_from_each_cluster_before_a_second_from_any() -> None:
    features = on_circle(0, 1, 2, 90, 91, 92)

    chosen = select(features, np.ones(6), NO_ROWS, count=2, radius=0.2)

    assert chosen.rows.tolist() == [1, 4]


def test_a_labelled_image_covers_its_cluster() -> None:
    features = on_circle(0, 1, 2, 3, 4, 90, 91, 92)

    chosen = select(features, np.ones(8), np.array([1]), count=1, radius=0.2)

    assert chosen.rows.tolist() == [6]


def test_prefers_the_cluster_the_classifier_is_unsure_about() -> None:
    features = on_circle(0, 1, 2, 90, 91, 92)
    uncertainty = np.array([0.1, 0.1, 0.1, 0.9, 0.9, 0.9])

    chosen = select(features, uncertainty, NO_ROWS, count=1, radius=0.2)

    assert chosen.rows.tolist() == [4]


def test_the_gain_of_a_lone_image_is_its_share_of_the_pool() -> None:
    features = on_circle(0, 90, 180, 270)

    chosen = select(features, np.ones(4), NO_ROWS, count=4, radius=0.01)

    np.testing.assert_allclose(chosen.gains, [0.25] * 4, atol=1e-12)


def test_similarity_has_fallen_to_one_over_e_at_the_radius() -> None:
    features = np.array([[1.0, 0.0], [0.0, 1.0]], dtype=np.float32)

    covered = coverage(features, np.array([0.0, 1.0]), np.array([0]), radius=2**0.5)

    np.testing.assert_allclose(covered, np.exp(-1) / 2, atol=1e-12)


def test_a_doubled_radius_counts_by_its_square() -> None:
    features = np.array([[1.0, 0.0], [0.0, 1.0]], dtype=np.float32)

    covered = coverage(features, np.array([0.0, 1.0]), np.array([0]), radius=2 * 2**0.5)

    np.testing.assert_allclose(covered, np.exp(-1 / 4) / 2, atol=1e-12)


def test_coverage_is_complete_when_everything_is_chosen_and_zero_when_nothing_is() -> None:
    features = random_pool(0, 20)
    uncertainty = np.linspace(0, 1, 20)

    everything = coverage(features, uncertainty, np.arange(20), radius=0.3)
    nothing = coverage(features, uncertainty, NO_ROWS, radius=0.3)

    np.testing.assert_allclose(everything, uncertainty.mean(), atol=1e-12)
    assert nothing == 0.0


def test_equal_gains_go_to_the_lowest_row() -> None:
    features = on_circle(0, 120, 240)

    chosen = select(features, np.ones(3), NO_ROWS, count=3, radius=0.5)

    assert chosen.rows.tolist() == [0, 1, 2]


def test_a_copy_of_a_chosen_image_comes_last() -> None:
    features = on_circle(0, 0, 90, 180)

    chosen = select(features, np.ones(4), NO_ROWS, count=4, radius=0.3)

    assert chosen.rows.tolist() == [0, 2, 3, 1]
    np.testing.assert_allclose(chosen.gains[-1], 0.0, atol=1e-12)


def test_without_uncertainty_the_rows_come_in_their_order() -> None:
    chosen = select(random_pool(0, 6), np.zeros(6), np.array([2]), count=9, radius=0.5)

    assert chosen.rows.tolist() == [0, 1, 3, 4, 5]
    assert chosen.gains.tolist() == [0.0] * 5


def test_rows_that_are_no_candidates_are_never_chosen_but_are_covered() -> None:
    features = on_circle(0, 1, 2, 90)
    candidates = np.array([True, False, True, True])

    chosen = select(features, np.ones(4), NO_ROWS, count=9, radius=0.2, candidates=candidates)

    assert chosen.rows.tolist() == [0, 3, 2]
    np.testing.assert_allclose(
        chosen.gains[0], reference.coverage(features.tolist(), [1] * 4, [0], 0.2), atol=1e-12
    )


def test_the_callers_mask_is_left_as_it_was() -> None:
    candidates = np.ones(4, dtype=np.bool_)

    select(random_pool(0, 4), np.ones(4), np.array([0]), count=2, radius=1, candidates=candidates)

    assert candidates.all()


@pytest.mark.parametrize("count", [0, -3])
def test_nothing_wanted_is_nothing_chosen(count: int) -> None:
    chosen = select(random_pool(0, 4), np.ones(4), NO_ROWS, count=count, radius=1.0)

    assert chosen.rows.tolist() == []
    assert chosen.rows.dtype == np.int64


def test_an_empty_pool_gives_an_empty_selection() -> None:
    features = np.empty((0, 3), dtype=np.float32)

    chosen = select(features, np.empty(0), NO_ROWS, count=3, radius=1.0)

    assert isinstance(chosen, Selection)
    assert len(chosen.rows) == len(chosen.gains) == 0
    assert coverage(features, np.empty(0), NO_ROWS, 1.0) == 0.0


@pytest.mark.parametrize("radius", [0.02, 0.2, 1.0])
def test_meets_the_plain_greedy_on_a_pool_with_near_copies(radius: float) -> None:
    distinct = random_pool(3, 40)
    features = np.concatenate([distinct, distinct + np.float32(1e-4), distinct])
    uncertainty = np.tile(np.random.default_rng(4).random(40), 3)
    labeled = np.array([5, 17])

    chosen = select(features, uncertainty, labeled, count=60, radius=radius)

    rows, gains = reference.select(features.tolist(), uncertainty.tolist(), [5, 17], 60, radius)
    assert chosen.rows.tolist() == rows
    np.testing.assert_allclose(chosen.gains, gains, atol=1e-9)


def test_asking_for_more_only_adds_to_the_end() -> None:
    features, uncertainty = random_pool(1, 200), np.random.default_rng(1).random(200)

    few = select(features, uncertainty, np.array([3]), count=10, radius=0.6)
    many = select(features, uncertainty, np.array([3]), count=60, radius=0.6)

    assert many.rows[:10].tolist() == few.rows.tolist()


@pytest.mark.parametrize("radius", [0.0, -1.0, float("nan"), float("inf")])
def test_a_radius_that_is_no_distance_is_refused(radius: float) -> None:
    with pytest.raises(ModelError, match="positive distance"):
        select(random_pool(0, 4), np.ones(4), NO_ROWS, count=1, radius=radius)


def test_arrays_that_do_not_fit_together_are_refused() -> None:
    features = random_pool(0, 4)

    with pytest.raises(ModelError, match="one uncertainty for each row"):
        select(features, np.ones(3), NO_ROWS, count=1, radius=1.0)
    with pytest.raises(ModelError, match="each of the 4 rows"):
        select(
            features,
            np.ones(4),
            NO_ROWS,
            count=1,
            radius=1.0,
            candidates=np.ones(3, dtype=np.bool_),
        )


def test_values_that_are_not_finite_are_refused() -> None:
    features = random_pool(0, 4)
    broken = features.copy()
    broken[1, 1] = np.nan

    with pytest.raises(ModelError, match="not finite"):
        select(broken, np.ones(4), NO_ROWS, count=1, radius=1.0)
    with pytest.raises(ModelError, match="at least 0"):
        select(features, np.array([1.0, -0.1, 1.0, 1.0]), NO_ROWS, count=1, radius=1.0)


def test_an_exact_kernel_with_many_ties_gives_the_lowest_of_the_best_rows() -> None:
    features = random_pool(0, size=80, dimension=3)
    distances = np.linalg.norm(features[:, None].astype(float) - features[None], axis=2)
    near = distances <= 0.45

    chosen = select_by(TopHatKernel(features, 0.45), np.ones(80), np.array([2]), count=60)

    covered, rows = near[2].copy(), [2]
    for _ in range(60):
        gains = (near & ~covered).sum(axis=1)
        gains[rows] = -1
        rows.append(int(gains.argmax()))  # the first of the largest
        covered |= near[rows[-1]]
    assert chosen.rows.tolist() == rows[1:]


def test_a_row_that_ties_only_with_a_row_that_ties_with_the_best_does_not_win() -> None:
    features = np.array(
        [
            [-0.8968982, -0.44223705],
            [-0.9995083, -0.03135524],
            [0.9771914, 0.21236049],
            [0.934268, -0.35657164],
            [0.22500193, -0.9743583],
            [0.65435183, -0.75619024],
            [0.9657142, 0.2596075],
            [-0.72713786, 0.68649143],
            [0.5054021, 0.862884],
            [0.5054021, 0.862884],
            [0.69508857, 0.71892416],
            [-0.53585625, 0.8443093],
            [-0.9995083, -0.03135524],
            [0.8200462, -0.5722974],
            [-0.93622196, 0.35140917],
            [0.22500193, -0.9743583],
            [0.69508857, 0.71892416],
            [0.8200462, -0.5722974],
            [0.22500193, -0.9743583],
            [0.9915564, -0.12967613],
            [-0.7041787, -0.7100228],
        ],
        dtype=np.float32,
    )  # after nine choices row 11 is within a tie of the best, row 5 within a tie of row 11 only

    chosen = select(features, np.ones(21), NO_ROWS, count=10, radius=0.05)

    rows, _ = reference.select(features.tolist(), [1.0] * 21, [], 10, 0.05)
    assert chosen.rows.tolist() == rows
