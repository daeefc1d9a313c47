"""The strong views of contrastive learning: a random part of the image in other colours.

After Chen et al., "A Simple Framework for Contrastive Learning of Visual Representations" (SimCLR),
without its blur, which does not help on small images. Whole batches are computed at once; chance
comes from a generator on the processor, so that every device sees the same views.
"""

import math

import torch
from torch import Tensor
from torch.nn import functional

AREA = (0.2, 1.0)  # share of the image that a crop keeps
ASPECT = 4 / 3  # a crop is at most this much wider than high, or higher than wide
BRIGHTNESS, CONTRAST, SATURATION = 0.4, 0.4, 0.4  # factors lie between 1 minus and 1 plus this
HUE = 0.1  # of a full turn of the colour circle, either way
JITTERED, GREYED = 0.8, 0.2  # share of the views
LUMA = (0.299, 0.587, 0.114)
# Brightness and two axes of colour; turning the two changes the hue and nothing else.
TO_YIQ = ((0.299, 0.587, 0.114), (0.596, -0.274, -0.322), (0.211, -0.523, 0.312))


def strong_view(images: Tensor, generator: torch.Generator) -> Tensor:
    """One view of each image (n, 3, height, width) with values 0 to 1."""
    cropped = _random_crop(images, generator)
    jittered = _random_colours(cropped, generator)
    keeps_colours = _chance(len(images), JITTERED, generator).logical_not().to(images.device)
    coloured = torch.where(keeps_colours, cropped, jittered)
    grey = _chance(len(images), GREYED, generator).to(images.device)
    return torch.where(grey, _luma(coloured).expand_as(coloured), coloured)


def _random_crop(images: Tensor, generator: torch.Generator) -> Tensor:
    """A random part of each image, mirrored or not, enlarged to the size of the image."""
    count = len(images)
    area = _between(*AREA, count, generator)
    aspect = _between(-math.log(ASPECT), math.log(ASPECT), count, generator).exp()
    width = (area * aspect).sqrt().clamp(max=1.0)
    height = (area / aspect).sqrt().clamp(max=1.0)
    mirror = torch.randint(2, (count,), generator=generator) * 2.0 - 1.0
    placement = torch.zeros(count, 2, 3)
    placement[:, 0, 0] = width * mirror
    placement[:, 1, 1] = height
    placement[:, 0, 2] = _between(-1, 1, count, generator) * (1 - width)
    placement[:, 1, 2] = _between(-1, 1, count, generator) * (1 - height)
    grid = functional.affine_grid(
        placement.to(images.device), list(images.shape), align_corners=False
    )
    return functional.grid_sample(images, grid, padding_mode="border", align_corners=False)


def _random_colours(images: Tensor, generator: torch.Generator) -> Tensor:
    """Other brightness, contrast, saturation and hue for each image."""
    count = len(images)

    def factor(strength: float) -> Tensor:
        factors = _between(1 - strength, 1 + strength, count, generator)
        return factors[:, None, None, None].to(images.device)

    bright = (images * factor(BRIGHTNESS)).clamp(0, 1)
    mean = _luma(bright).mean((2, 3), keepdim=True)
    contrasted = torch.lerp(mean, bright, factor(CONTRAST)).clamp(0, 1)
    saturated = torch.lerp(_luma(contrasted), contrasted, factor(SATURATION)).clamp(0, 1)
    turns = _hue_turns(count, generator).to(images.device)
    return torch.einsum("nij,njhw->nihw", turns, saturated).clamp(0, 1)


def _hue_turns(count: int, generator: torch.Generator) -> Tensor:
    """Maps of colours, (n, 3, 3)."""
    angle = _between(-HUE, HUE, count, generator) * 2 * math.pi
    turn = torch.zeros(count, 3, 3)
    turn[:, 0, 0] = 1.0
    turn[:, 1, 1] = turn[:, 2, 2] = angle.cos()
    turn[:, 2, 1] = angle.sin()
    turn[:, 1, 2] = -angle.sin()
    to_yiq = torch.tensor(TO_YIQ)
    turned: Tensor = torch.linalg.inv(to_yiq) @ turn @ to_yiq
    return turned


def _luma(images: Tensor) -> Tensor:
    weights = torch.tensor(LUMA, device=images.device)[:, None, None]
    return (images * weights).sum(1, keepdim=True)


def _between(low: float, high: float, count: int, generator: torch.Generator) -> Tensor:
    return torch.rand(count, generator=generator) * (high - low) + low


def _chance(count: int, share: float, generator: torch.Generator) -> Tensor:
    """True for about this share of the images, (n, 1, 1, 1)."""
    return (torch.rand(count, generator=generator) < share)[:, None, None, None]
