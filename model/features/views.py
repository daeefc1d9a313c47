"""Augmented views: other pictures of the same thing, as a camera might have taken them."""

import torch
from torch import Tensor
from torch.nn import functional

ZOOM = (0.85, 1.1)  # below 1 the view shows a part of the image, enlarged
STRETCH = (0.95, 1.05)  # of the height against the width
SHIFT = (-0.15, 0.15)  # of half the width or height
BRIGHTNESS = (0.7, 1.3)


def random_view(images: Tensor, generator: torch.Generator) -> Tensor:
    """One view of each image (n, channels, height, width): moved, zoomed, mirrored, relit."""
    count = len(images)

    def between(limits: tuple[float, float]) -> Tensor:
        low, high = limits
        return torch.rand(count, generator=generator) * (high - low) + low

    zoom = between(ZOOM)
    mirror = torch.randint(2, (count,), generator=generator) * 2.0 - 1.0
    placement = torch.zeros(count, 2, 3)
    placement[:, 0, 0] = zoom * mirror
    placement[:, 1, 1] = zoom * between(STRETCH)
    placement[:, 0, 2] = between(SHIFT)
    placement[:, 1, 2] = between(SHIFT)
    grid = functional.affine_grid(placement, list(images.shape), align_corners=False)
    moved = functional.grid_sample(images, grid, padding_mode="border", align_corners=False)
    return (moved * between(BRIGHTNESS)[:, None, None, None]).clamp(0, 255)
