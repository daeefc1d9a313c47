"""Directions that differ between images and stay the same within the views of one image.

Linear discriminant analysis in which every image is its own class: the closed-form cousin of
contrastive learning.
"""

import torch
from torch import Tensor

COMPONENTS = 512  # kept by the principal component analysis that goes first
DIRECTIONS = 256
OVERSAMPLED = 40  # more random directions than components make the low-rank fit tight
POWER_STEPS = 2
RIDGE = 0.1  # of the mean variance within views, so that no direction looks perfectly stable


def discriminant_directions(codes: Tensor, generator: torch.Generator) -> Tensor:
    """Directions (f, k), best first, in each of which the variance within views is about 1.

    Args:
        codes: (views, n, f), centred.
        generator: Starts the low-rank fit.
    """
    views, images, _ = codes.shape
    basis = _principal_basis(codes.flatten(0, 1), generator)  # (f, q)
    small = (codes @ basis).double()  # (views, n, q)
    means = small.mean(0)
    residuals = (small - means).flatten(0, 1)
    within = _ridged(residuals.T @ residuals / (views * images))
    stabilise = _inverse_root(within)  # (q, q)
    between = means.T @ means / images
    _, vectors = torch.linalg.eigh(stabilise @ between @ stabilise)
    kept = max(1, min(DIRECTIONS, len(basis.T), images - 1))
    directions: Tensor = basis.double() @ stabilise @ vectors.flip(1)[:, :kept]
    return directions.float()


def _principal_basis(rows: Tensor, generator: torch.Generator) -> Tensor:
    """The leading principal directions, (f, q), by randomised subspace iteration."""
    count = min(COMPONENTS, *rows.shape)
    start = torch.randn(rows.shape[1], count + OVERSAMPLED, generator=generator)
    span = rows @ start
    for _ in range(POWER_STEPS):
        span = rows @ torch.linalg.qr(rows.T @ torch.linalg.qr(span).Q).Q
    projected = torch.linalg.qr(span).Q.T @ rows
    principal: Tensor = torch.linalg.svd(projected, full_matrices=False).Vh[:count].T
    return principal


def _ridged(covariance: Tensor) -> Tensor:
    size = len(covariance)
    ridge = RIDGE * covariance.trace() / size + 1e-9  # positive even if no view differs
    return covariance + ridge * torch.eye(size, dtype=covariance.dtype)


def _inverse_root(covariance: Tensor) -> Tensor:
    values, vectors = torch.linalg.eigh(covariance)
    root: Tensor = (vectors * values.rsqrt()) @ vectors.T
    return root
