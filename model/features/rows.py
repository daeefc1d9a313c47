"""What every extractor does with its images before, and with its rows after."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from model.arrays import Features, Images
from model.errors import ModelError


def check_images(images: Images, size: int) -> None:
    """Refuse anything but uint8 pictures of size x size pixels."""
    if images.ndim != 4 or images.shape[1:] != (size, size, 3) or images.dtype != np.uint8:
        raise ModelError(
            f"Images must be uint8 of shape (n, {size}, {size}, 3), got {images.dtype} of shape "
            f"{images.shape}; decode them with model.images.decode(data, {size})."
        )


def channels_first(images: Images) -> Tensor:
    """A copy of the images as (n, 3, height, width); torch dislikes read-only and reversed ones."""
    return torch.from_numpy(np.array(images, order="C")).permute(0, 3, 1, 2)


def unit_rows(features: Features) -> Features:
    """Rows of length 1; a row of zeros, which has no direction, becomes the first axis."""
    lengths = np.linalg.norm(features, axis=1, keepdims=True)
    features[lengths[:, 0] < 1e-12, 0] = 1.0
    return np.asarray(features / np.where(lengths < 1e-12, 1.0, lengths), dtype=np.float32)


def embed(
    images: Images, network: Callable[[Tensor], Tensor], *, dimension: int, at_once: int
) -> Features:
    """Unit rows of images, in batches.

    Args:
        images: uint8, of the size that the network wants.
        network: Bytes (n, 3, height, width) in, features (n, dimension) out.
        dimension: Length of a row.
        at_once: Images per batch.
    """
    features = np.empty((len(images), dimension), dtype=np.float32)
    with torch.inference_mode():
        for start in range(0, len(images), at_once):
            batch = channels_first(images[start : start + at_once])
            features[start : start + at_once] = network(batch).float().cpu().numpy()
    return unit_rows(features)
