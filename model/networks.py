"""Networks that are trained whole: pixels in, logits out, and where their weights start."""

from dataclasses import dataclass
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from model.errors import ModelError
from model.features.efficientnet import EfficientNetLite0Extractor, pretrained
from model.features.names import EFFICIENTNET, TIMM, timm_parts
from model.features.simclr_training import SMALL_SIDE
from model.features.timm_backbone import TimmExtractor
from model.files import Arrays
from model.torchvision_import import import_timm, import_torchvision

RESNET = "resnet18"  # from a random state; its colours are scaled as in the labelled images
# Channels of the first stage. With fewer than 16, oneDNN, which computes convolutions on
# processors, writes outside its memory: https://github.com/uxlfoundation/oneDNN/issues/6035
FULL_WIDTH, LEAST_WIDTH = 64, 16
STARTS = (
    RESNET,
    f"{RESNET}:<width>",
    EFFICIENTNET,
    f"{TIMM}<model>",
    f"{TIMM}<model>@<checkpoint file>",
)
LEAST_EFFICIENTNET_SIDE = 32  # pixels; it makes one of 32
CPU = torch.device("cpu")


class Network(nn.Module):
    """A body that turns scaled pixels into features, and one logit for each class on top."""

    mean: Tensor  # (3, 1, 1), of values 0 to 255
    std: Tensor

    def __init__(self, body: nn.Module, dimension: int, classes: int) -> None:
        super().__init__()
        self.body = body
        self.head = nn.Linear(dimension, classes)
        nn.init.zeros_(self.head.weight)  # no class is ahead
        nn.init.zeros_(self.head.bias)
        self.register_buffer("mean", torch.zeros(3, 1, 1))
        self.register_buffer("std", torch.ones(3, 1, 1))

    def forward(self, images: Tensor) -> Tensor:
        """Logits (n, classes) of images (n, 3, height, width) with values 0 to 255."""
        pixels = ((images - self.mean) / self.std).contiguous(memory_format=torch.channels_last)
        logits: Tensor = self.head(self.body(pixels))
        return logits

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All weights."""
        return {f"network.{key}": value.cpu().numpy() for key, value in self.state_dict().items()}

    def restore(self, arrays: Arrays) -> None:
        """Take over the weights that `arrays` gave; whatever else is among them is ignored."""
        keys = self.state_dict().keys()
        self.load_state_dict({key: torch.from_numpy(arrays[f"network.{key}"]) for key in keys})


class PooledEfficientNet(nn.Module):
    """EfficientNet-Lite0 without its classifier."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        network._fc = nn.Identity()
        self.network = network

    def forward(self, pixels: Tensor) -> Tensor:
        """Features (n, 1280)."""
        fields: Tensor = self.network.extract_features(pixels)  # type: ignore[operator]
        return fields.mean((2, 3))


@dataclass(frozen=True, slots=True)
class Body:
    """The part of a network below its head, and how it wants its pixels, of values 0 to 255."""

    network: nn.Module
    dimension: int
    mean: Tensor  # (3, 1, 1)
    std: Tensor


def checked_start(start: str) -> str:
    """The name as it is; refused if no training can start there."""
    if start in (RESNET, EFFICIENTNET) or (start.startswith(TIMM) and timm_parts(start)[0]):
        return start
    width = start.removeprefix(f"{RESNET}:")
    if width != start and width.isascii() and width.isdecimal() and int(width) >= LEAST_WIDTH:
        return start
    raise ModelError(
        f"Training cannot start from {start!r}; choose one of {', '.join(STARTS)}, with a width of "
        f"{LEAST_WIDTH} or more."
    )


def is_pretrained(start: str) -> bool:
    """True if the network has learned from other images before."""
    return start.partition(":")[0] != RESNET


def starting_network(start: str, images: Tensor, classes: int, *, seed: int) -> Network:
    """The network before its first step.

    Args:
        start: One of STARTS. Pretrained weights come from the file, the package or the hub's cache,
            and are downloaded if the hub has them.
        images: Bytes (n, 3, s, s) that it will learn from.
        classes: How many logits it gives.
        seed: For weights that are not pretrained; the global chance is left alone.

    Raises:
        ModelError: The weights cannot be had; the text says what helps.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        body = _starting_body(start, images)
        network = Network(body.network, body.dimension, classes)
    network.mean.copy_(body.mean)
    network.std.copy_(body.std)
    return network


def empty_network(start: str, size: int, classes: int) -> Network:
    """The same network with weights of no use, for weights that were stored; needs no hub.

    Args:
        start: What it was started from.
        size: Pixels of its images.
        classes: How many logits it gives.
    """
    with torch.random.fork_rng(devices=[]):
        if start.startswith(TIMM):
            body, dimension = _untrained_timm(timm_parts(start)[0], size)
        elif start == EFFICIENTNET:
            body = PooledEfficientNet(pretrained().network)
            dimension = EfficientNetLite0Extractor.dimension
        else:
            body, dimension = residual_network(_width(start), size)
        return Network(body, dimension, classes)


def keep_statistics(network: Network) -> None:
    """Scale activations by what was measured in pretraining; a few labels measure it worse.

    With 60 labels of CIFAR-10 and 10 epochs at a rate of 0.001, EfficientNet-Lite0 recognised 70 %
    of the test images with this and 18 % without.
    """
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.eval()


def residual_network(width: int, size: int) -> tuple[nn.Module, int]:
    """ResNet-18 with random weights, and the number of its features.

    Args:
        width: Channels of the first stage: 64 as published; half of it takes a quarter of the time.
        size: Pixels of its images. Small ones keep their resolution through the stem.
    """
    small = size < SMALL_SIDE
    stem = nn.Conv2d(3, width, 3 if small else 7, 1 if small else 2, 1 if small else 3, bias=False)
    network = nn.Sequential(
        stem,
        nn.BatchNorm2d(width),
        nn.ReLU(inplace=True),
        nn.Identity() if small else nn.MaxPool2d(3, 2, 1),
        *_stage(width, width, stride=1),
        *_stage(width, 2 * width, stride=2),
        *_stage(2 * width, 4 * width, stride=2),
        *_stage(4 * width, 8 * width, stride=2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
    )
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    return network, 8 * width


def _stage(channels: int, wider: int, *, stride: int) -> tuple[nn.Module, nn.Module]:
    block = import_torchvision().models.resnet.BasicBlock
    shortcut = None
    if stride > 1:
        shortcut = nn.Sequential(
            nn.Conv2d(channels, wider, 1, stride, bias=False), nn.BatchNorm2d(wider)
        )
    return block(channels, wider, stride, shortcut), block(wider, wider)


def _starting_body(start: str, images: Tensor) -> Body:
    size = images.shape[-1]
    if start.startswith(TIMM):
        model, file = timm_parts(start)
        timm = TimmExtractor.open(model, file, image_size=size, device=CPU)
        return Body(timm.network, timm.dimension, timm.mean * 255, timm.std * 255)
    if start == EFFICIENTNET:
        if size < LEAST_EFFICIENTNET_SIDE:
            raise ModelError(
                f"{EFFICIENTNET} needs images of at least {LEAST_EFFICIENTNET_SIDE} pixels, got "
                f"{size}; it was trained on {EfficientNetLite0Extractor.image_size}."
            )
        body = PooledEfficientNet(pretrained().network)
        dimension = EfficientNetLite0Extractor.dimension
        return Body(body, dimension, torch.tensor(127.0), torch.tensor(128.0))
    pixels = images.transpose(0, 1).flatten(1).float()  # (3, m)
    mean, std = pixels.mean(1)[:, None, None], pixels.std(1).clamp(min=1.0)[:, None, None]
    return Body(*residual_network(_width(start), size), mean, std)


def _untrained_timm(model: str, size: int) -> tuple[nn.Module, int]:
    timm = import_timm()
    config = timm.get_pretrained_cfg(model)
    fixed = bool(config and config.fixed_input_size)
    body: nn.Module = timm.create_model(
        model, pretrained=False, num_classes=0, img_size=size if fixed else None
    )
    with torch.no_grad():
        features: Tensor = body.eval()(torch.zeros(1, 3, size, size))
    return body, features.shape[1]


def _width(start: str) -> int:
    return int(start.removeprefix(f"{RESNET}:")) if start != RESNET else FULL_WIDTH
