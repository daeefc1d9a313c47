import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from model.activeft import activeft, closeness, crowding
from model.arrays import Features, Mask, Rows

BLOBS = 6


def on_sphere(points: NDArray[np.float64]) -> Features:
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    return np.asarray(unit, dtype=np.float32)


def blobs(seed: int, each: int = 20, dimension: int = 64) -> tuple[Features, NDArray[np.int64]]:
    blob_of = np.repeat(np.arange(BLOBS), each)
    noise = np.random.default_rng(seed).normal(scale=0.03, size=(len(blob_of), dimension))
    return on_sphere(np.eye(BLOBS, dimension)[blob_of] + noise), blob_of


def unit_tensor(seed: int, size: int) -> torch.Tensor:
    return torch.from_numpy(on_sphere(np.random.default_rng(seed).normal(size=(size, 8))))


def arc(size: int) -> Features:
    angles = np.linspace(0, 0.6, size)
    return on_sphere(np.stack([np.cos(angles), np.sin(angles)], axis=1))


def everything(size: int) -> Mask:
    return np.ones(size, dtype=np.bool_)


def loss_of(pool: torch.Tensor, rows: Rows) -> float:
    return float(crowding(pool[rows], 0.07) - closeness(pool, pool[rows], 0.07))


def test_closeness_and_its_gradient_are_those_of_the_plain_formula() -> None:
    pool = unit_tensor(0, 50)
    points = unit_tensor(1, 7).requires_grad_()

    found = closeness(pool, points, 0.07)

    plain = (pool @ points.T).max(dim=1).values.mean() / 0.07
    torch.testing.assert_close(found, plain)
    (slope,) = torch.autograd.grad(found, points)
    (plain_slope,) = torch.autograd.grad(plain, points)
    torch.testing.assert_close(slope, plain_slope)


def test_crowding_is_the_mean_log_sum_over_the_other_points() -> None:
    points = unit_tensor(2, 5)

    found = crowding(points, 0.5)

    logs = [
        np.log(sum(np.exp(float(points[j] @ points[k]) / 0.5) for k in range(5) if k != j))
        for j in range(5)
    ]
    np.testing.assert_allclose(float(found), np.mean(logs), rtol=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_the_chosen_rows_have_a_lower_loss_than_the_random_start(seed: int) -> None:
    features = on_sphere(np.random.default_rng(seed).normal(size=(500, 4)) + 0.3)
    pool = torch.from_numpy(features)

    learned = activeft(features, 8, everything(500), np.random.default_rng(seed))
    start = activeft(features, 8, everything(500), np.random.default_rng(seed), iterations=0)

    assert loss_of(pool, learned) < loss_of(pool, start) - 2.0


def test_no_steps_leave_the_rows_of_the_start() -> None:
    features, _ = blobs(6)
    available = everything(len(features))
    available[::2] = False

    rows = activeft(features, 9, available, np.random.default_rng(6), iterations=0)

    start = np.random.default_rng(6).choice(np.flatnonzero(available), 9, replace=False)
    assert rows.tolist() == start.tolist()


def test_a_single_point_settles_in_the_middle() -> None:
    features = arc(31)

    rows = activeft(features, 1, everything(31), np.random.default_rng(0), iterations=1000)

    assert rows.tolist() == [15]


def test_keeping_apart_spreads_the_points() -> None:
    features = on_sphere(np.random.default_rng(8).normal(size=(200, 16)) + 1.0)

    apart = activeft(features, 10, everything(200), np.random.default_rng(8), balance=5.0)
    near = activeft(features, 10, everything(200), np.random.default_rng(8), balance=0.0)

    assert crowding(torch.from_numpy(features[apart]), 0.07) < crowding(
        torch.from_numpy(features[near]), 0.07
    )


def test_points_that_meet_take_different_rows_that_are_available() -> None:
    available = np.arange(60) % 3 == 0

    rows = activeft(arc(60), 15, available, np.random.default_rng(1), balance=-1.0).tolist()

    assert len(set(rows)) == 15
    assert available[rows].all()


def test_rows_are_distinct_and_available_and_no_more_than_there_are() -> None:
    features, _ = blobs(9)
    available = np.random.default_rng(9).random(len(features)) < 0.2

    rows = activeft(features, 99, available, np.random.default_rng(9), iterations=30)

    assert sorted(rows.tolist()) == np.flatnonzero(available).tolist()


def test_nothing_available_is_nothing_chosen() -> None:
    features, _ = blobs(10)

    rows = activeft(features, 3, ~everything(len(features)), np.random.default_rng(0))

    assert len(rows) == 0


def test_the_same_generator_gives_the_same_rows() -> None:
    features, _ = blobs(11)

    once = activeft(features, 5, everything(120), np.random.default_rng(3), iterations=50)
    again = activeft(features, 5, everything(120), np.random.default_rng(3), iterations=50)

    assert once.tolist() == again.tolist()
