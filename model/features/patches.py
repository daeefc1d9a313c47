"""Features learned from the pool itself: no labels, no download, a minute on a laptop.

Each image is coded in a dictionary of patches; of the codes only what tells images apart and
survives moving, mirroring and relighting them is kept.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.arrays import Features, Images
from model.errors import ModelError
from model.features.dictionary import Dictionary, learn_dictionary
from model.features.discriminant import discriminant_directions
from model.features.views import random_view

VIEWED_IMAGES = 1500  # more images made the features no better and the fit slower
VIEWS = 4  # of each image, itself included
IMAGES_AT_ONCE = 256
FIELDS = ("grey", "mean", "whitening", "atoms", "centre", "directions")


@dataclass(frozen=True, slots=True)
class PatchExtractor:
    """A fitted extractor; `fit` makes one, `save` and `load` keep it."""

    name: ClassVar[str] = "patches"
    image_size: ClassVar[int] = 32

    grey: bool  # fitted on pictures without colour: colours are averaged away
    dictionary: Dictionary
    centre: Tensor  # (f,), mean code
    directions: Tensor  # (f, d)

    @classmethod
    def fit(
        cls, images: Images, *, seed: int, on_progress: Callable[[float], None]
    ) -> "PatchExtractor":
        """Learn from the images of a pool.

        Args:
            images: At least two, of image_size x image_size pixels.
            seed: The same images and seed give the same extractor.
            on_progress: Called with the share of the work that is done, from 0 to 1.
        """
        _check_images(images, cls.image_size)
        if len(images) < 2:
            raise ModelError(f"Features are learned from at least 2 images, got {len(images)}.")
        generator = torch.Generator().manual_seed(seed)
        on_progress(0.0)
        grey = _is_grey(images)
        pixels = _as_tensor(images, grey)
        dictionary = learn_dictionary(pixels, generator)
        on_progress(0.15)
        codes = _view_codes(pixels, dictionary, generator, on_progress)  # (views, n, f)
        centre = codes.mean((0, 1))
        directions = discriminant_directions(codes - centre, generator)
        on_progress(1.0)
        return cls(grey, dictionary, centre, directions)

    @property
    def dimension(self) -> int:
        """256, or fewer where there were fewer than 257 images to learn from."""
        return self.directions.shape[1]

    @property
    def version(self) -> str:
        """Changes with every fitted number."""
        digest = hashlib.sha256()
        for field, array in self._arrays().items():
            digest.update(f"{field} {array.dtype} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return f"patches-{digest.hexdigest()[:12]}"

    def extract(self, images: Images) -> Features:
        """One unit row for each image of image_size x image_size pixels, in the same order."""
        _check_images(images, self.image_size)
        features = np.empty((len(images), self.dimension), dtype=np.float32)
        for start in range(0, len(images), IMAGES_AT_ONCE):
            batch = slice(start, start + IMAGES_AT_ONCE)
            codes = self.dictionary.encode(_as_tensor(images[batch], self.grey))
            features[batch] = ((codes - self.centre) @ self.directions).numpy()
        return _unit_rows(features)

    def save(self, path: Path) -> None:
        """Write an .npz file; a crash leaves the old file or the new one, never half of one."""
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".tmp", delete=False) as file:
            try:
                np.savez(file, allow_pickle=False, **self._arrays())
                file.flush()
                os.fsync(file.fileno())
                os.replace(file.name, path)
            except BaseException:
                os.unlink(file.name)
                raise

    @classmethod
    def load(cls, path: Path) -> "PatchExtractor":
        """Read what `save` wrote; no code in the file can run."""
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {field: file[field] for field in FIELDS}
        except Exception as error:
            raise ModelError(
                f"{path} is not a file of fitted patch features ({error}); fit them again."
            ) from error
        tensors = {field: torch.from_numpy(arrays[field]) for field in FIELDS[1:]}
        dictionary = Dictionary(tensors["mean"], tensors["whitening"], tensors["atoms"])
        return cls(bool(arrays["grey"]), dictionary, tensors["centre"], tensors["directions"])

    def _arrays(self) -> dict[str, NDArray[np.float32] | NDArray[np.bool_]]:
        return {
            "grey": np.array(self.grey),
            "mean": self.dictionary.mean.numpy(),
            "whitening": self.dictionary.whitening.numpy(),
            "atoms": self.dictionary.atoms.numpy(),
            "centre": self.centre.numpy(),
            "directions": self.directions.numpy(),
        }


def _view_codes(
    pixels: Tensor,
    dictionary: Dictionary,
    generator: torch.Generator,
    on_progress: Callable[[float], None],
) -> Tensor:
    """Codes of some images and of random views of the same images, (views, n, f)."""
    viewed = pixels[torch.randperm(len(pixels), generator=generator)[:VIEWED_IMAGES]]
    codes = [dictionary.encode(viewed)]
    while len(codes) < VIEWS:
        on_progress(0.15 + 0.7 * len(codes) / VIEWS)
        codes.append(dictionary.encode(random_view(viewed, generator)))
    on_progress(0.85)
    return torch.stack(codes)


def _check_images(images: Images, size: int) -> None:
    if images.ndim != 4 or images.shape[1:] != (size, size, 3) or images.dtype != np.uint8:
        raise ModelError(
            f"Images must be uint8 of shape (n, {size}, {size}, 3), got {images.dtype} of shape "
            f"{images.shape}; decode them with model.images.decode(data, {size})."
        )


def _is_grey(images: Images) -> bool:
    return bool((images == images[..., :1]).all())


def _as_tensor(images: Images, grey: bool) -> Tensor:
    """Images as (n, channels, height, width) with values 0 to 255."""
    pixels = torch.from_numpy(np.ascontiguousarray(images)).permute(0, 3, 1, 2).float()
    return pixels.mean(1, keepdim=True) if grey else pixels


def _unit_rows(features: Features) -> Features:
    """Rows of length 1; a row of zeros, which has no direction, becomes the first axis."""
    lengths = np.linalg.norm(features, axis=1, keepdims=True)
    features[lengths[:, 0] < 1e-12, 0] = 1.0
    return np.asarray(features / np.where(lengths < 1e-12, 1.0, lengths), dtype=np.float32)
