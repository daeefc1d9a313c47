"""Features learned from the pool itself: no labels, no download, a minute on a laptop.

Each image is coded in a dictionary of patches; of the codes only what tells images apart and
survives moving, mirroring and relighting them is kept.
"""

import hashlib
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
from model.features.rows import channels_first, check_images, embed
from model.features.views import random_view
from model.files import load_arrays, save_arrays

VIEWED_IMAGES = 1500  # more images made the features no better and the fit slower
VIEWS = 4  # of each image, itself included
IMAGES_AT_ONCE = 256
FIELDS = ("grey", "mean", "whitening", "atoms", "centre", "directions")


@dataclass(frozen=True, slots=True)
class PatchExtractor:
    """A fitted extractor; `fit` makes one, `save` and `load` keep it."""

    name: ClassVar[str] = "patches"
    description: ClassVar[str] = "dictionary of patches learned from the pool"
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
        check_images(images, cls.image_size)
        if len(images) < 2:
            raise ModelError(f"Features are learned from at least 2 images, got {len(images)}.")
        generator = torch.Generator().manual_seed(seed)
        on_progress(0.0)
        grey = _is_grey(images)
        pixels = _channels(channels_first(images), grey)
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
        check_images(images, self.image_size)
        return embed(images, self._project, dimension=self.dimension, at_once=IMAGES_AT_ONCE)

    def save(self, path: Path) -> None:
        """Write an .npz file; a crash leaves the old file or the new one, never half of one."""
        save_arrays(path, self._arrays())

    @classmethod
    def load(cls, path: Path) -> "PatchExtractor":
        """Read what `save` wrote; no code in the file can run."""
        try:
            arrays = load_arrays(path)
            tensors = {field: torch.from_numpy(arrays[field]) for field in FIELDS[1:]}
            grey = bool(arrays["grey"])
        except Exception as error:
            raise ModelError(
                f"{path} is not a file of fitted patch features ({error}); fit them again."
            ) from error
        dictionary = Dictionary(tensors["mean"], tensors["whitening"], tensors["atoms"])
        return cls(grey, dictionary, tensors["centre"], tensors["directions"])

    def _project(self, images: Tensor) -> Tensor:
        codes = self.dictionary.encode(_channels(images, self.grey))
        return (codes - self.centre) @ self.directions

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


def _is_grey(images: Images) -> bool:
    return bool((images == images[..., :1]).all())


def _channels(images: Tensor, grey: bool) -> Tensor:
    """Images (n, channels, height, width) with values 0 to 255; without colour, one channel."""
    pixels = images.float()
    return pixels.mean(1, keepdim=True) if grey else pixels
