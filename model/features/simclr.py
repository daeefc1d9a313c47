"""Features that a network learned from the pool itself: for a graphics card, or a night."""

import hashlib
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from model.arrays import Features, Images
from model.errors import ModelError
from model.features.devices import best_device, half_precision, placed
from model.features.rows import channels_first, check_images, embed
from model.features.simclr_training import WIDTH, Budget, Clock, Network, Progress, train
from model.files import Arrays, load_arrays, save_arrays

IMAGES_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class SimClrExtractor:
    """A trained network; `fit` makes one, `save` and `load` keep it."""

    name: ClassVar[str] = "simclr"
    description: ClassVar[str] = "ResNet-18 trained on the pool with SimCLR"
    dimension: ClassVar[int] = WIDTH

    image_size: int
    version: str
    network: Network

    @classmethod
    def fit(
        cls,
        images: Images,
        *,
        seed: int,
        budget: Budget,
        on_progress: Progress,
        checkpoint: Path | None = None,
        clock: Clock = time.monotonic,
    ) -> "SimClrExtractor":
        """Train on the images of a pool.

        Args:
            images: At least two, square; later images must have the same size.
            seed: On a processor, the same images, seed and epochs give the same extractor.
            budget: When to stop.
            on_progress: Called before each step with the share that is done, from 0 to 1, and with
                the seconds that are left, None as long as nobody knows.
            checkpoint: Where the state is kept after each epoch. If the file is there, training
                goes on from it, to the same result as if it had never stopped; a finished run
                returns at once. Remove it when the extractor is saved.
            clock: Seconds.
        """
        if len(images) < 2:
            raise ModelError(f"Features are learned from at least 2 images, got {len(images)}.")
        size = images.shape[1]
        check_images(images, size)
        run = train(
            channels_first(images),
            seed=seed,
            budget=budget,
            checkpoint=checkpoint,
            on_progress=on_progress,
            clock=clock,
        )
        return _extractor(run.network, size)

    def extract(self, images: Images) -> Features:
        """One unit row for each image of image_size x image_size pixels, in the same order."""
        check_images(images, self.image_size)
        return embed(images, self._forward, dimension=WIDTH, at_once=IMAGES_AT_ONCE)

    def save(self, path: Path) -> None:
        """Write an .npz file; a crash leaves the old file or the new one, never half of one."""
        save_arrays(path, _arrays(self.network, self.image_size))

    @classmethod
    def load(cls, path: Path) -> "SimClrExtractor":
        """Read what `save` wrote; no code in the file can run."""
        try:
            arrays = load_arrays(path)
            size = int(arrays.pop("image_size"))
            network = Network(size)
            weights = {key: torch.from_numpy(value) for key, value in arrays.items()}
            network.load_state_dict(weights)
        except Exception as error:
            raise ModelError(
                f"{path} is not a file of SimCLR features ({error}); train them again."
            ) from error
        return _extractor(network, size)

    def _forward(self, images: Tensor) -> Tensor:
        device = self.network.mean.device
        with half_precision(device):
            features: Tensor = self.network(images.to(device) / 255)
        return features


def _extractor(network: Network, size: int) -> SimClrExtractor:
    digest = hashlib.sha256()
    for key, array in _arrays(network, size).items():
        digest.update(f"{key} {array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    version = f"simclr-{digest.hexdigest()[:12]}"
    return SimClrExtractor(size, version, placed(network.eval(), best_device()))


def _arrays(network: Network, size: int) -> Arrays:
    weights = {key: value.cpu().numpy() for key, value in network.state_dict().items()}
    return weights | {"image_size": np.array(size)}
