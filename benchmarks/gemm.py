"""The yardstick of a forward pass: the speed at which this machine multiplies large matrices."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

SIDE, REPEATS = 2048, 3


def gemm_speed() -> float:
    """Floating-point operations per second of a large product of matrices."""
    matrix = torch.ones(SIDE, SIDE)
    seconds = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        matrix @ matrix
        seconds.append(time.perf_counter() - started)
    return 2 * SIDE**3 / median(seconds)


def operations_of(forward: Callable[[], object]) -> float:
    """Floating-point operations in the matrix products and convolutions of a forward pass."""

    def distances(rows: Sequence[int], others: Sequence[int], **_: object) -> int:
        return 2 * rows[0] * others[0] * (rows[1] + 2)

    formulas = {torch.ops.aten._euclidean_dist: distances}
    # The products inside the fused attention are counted only where it is not fused.
    with (
        torch.inference_mode(),
        sdpa_kernel(SDPBackend.MATH),
        FlopCounterMode(display=False, custom_mapping=formulas) as counter,
    ):
        forward()
    return float(counter.get_total_flops())
