"""Features of any timm model: DINOv2 by default, from the hub, its cache or a checkpoint file."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from model.arrays import Features, Images
from model.errors import ModelError
from model.features.devices import best_device, half_precision, images_at_once, placed
from model.features.hub import DEFAULT_MODEL, weights_file
from model.features.rows import check_images, embed
from model.torchvision_import import import_timm

SUFFIXES = (".safetensors", ".pth", ".pt")
# DINOv2 learned at 224 px and finished at 518 px. At 224 px an image costs a seventh.
DINOV2_SIDE, AFFORDABLE_SIDE = 518, 224


@dataclass(frozen=True, slots=True)
class TimmExtractor:
    """A loaded network with its own preprocessing; `open` makes one."""

    name: str
    version: str
    dimension: int
    image_size: int
    network: nn.Module
    mean: Tensor  # (3, 1, 1), of values 0 to 1
    std: Tensor

    @classmethod
    def open(
        cls,
        model: str = DEFAULT_MODEL,
        checkpoint: Path | None = None,
        *,
        image_size: int | None = None,
        device: torch.device | None = None,
    ) -> "TimmExtractor":
        """Load a pretrained network.

        Args:
            model: Any name that timm knows, with or without the tag of its weights.
            checkpoint: A .safetensors, .pth or .pt file to load instead of the hub's weights.
            image_size: Pixels; the model's own size if None, but 224 where that is 518.
            device: The best there is if None.

        Raises:
            ModelError: The model is unknown, or its weights cannot be had or do not fit.
        """
        timm = import_timm()
        weights = _checkpoint(checkpoint) if checkpoint else None
        config = _config(model)
        size = image_size or _side(config)
        network = _load(model, weights or weights_file(model), size)
        data = timm.data.resolve_model_data_config(network)
        place = device or best_device()
        network = placed(network.eval(), place)
        return cls(
            name=f"timm:{model}" + (f"@{checkpoint}" if checkpoint else ""),
            version=_version(model, network, size, data),
            dimension=_dimension(model, network, size),
            image_size=size,
            network=network,
            mean=torch.tensor(data["mean"], device=place)[:, None, None],
            std=torch.tensor(data["std"], device=place)[:, None, None],
        )

    @property
    def description(self) -> str:
        """Which network it is."""
        return f"pretrained network {self.name.removeprefix('timm:')}"

    def extract(self, images: Images) -> Features:
        """One unit row for each image of image_size x image_size pixels, in the same order."""
        check_images(images, self.image_size)
        at_once = images_at_once(self.mean.device)
        return embed(images, self._forward, dimension=self.dimension, at_once=at_once)

    def _forward(self, images: Tensor) -> Tensor:
        pixels = (images.to(self.mean.device) / 255 - self.mean) / self.std
        with half_precision(self.mean.device):
            rows: Tensor = self.network(pixels.contiguous(memory_format=torch.channels_last))
        return rows


def _config(model: str) -> Any:  # noqa: ANN401 - timm has no types
    timm = import_timm()
    try:
        known = timm.is_model(model)
        config = timm.get_pretrained_cfg(model) if known else None
    except RuntimeError as error:  # an unknown tag
        raise ModelError(f"timm has no weights {model!r} ({error})") from error
    if not known:
        near = ", ".join(timm.list_models(f"*{model.split('.')[0]}*")[:5])
        raise ModelError(
            f"timm has no model {model!r}; "
            + (f"names like it: {near}." if near else "timm.list_models() lists the names.")
        )
    return config


def _side(config: Any) -> int:  # noqa: ANN401 - timm has no types
    side = int(config.input_size[-1]) if config else AFFORDABLE_SIDE
    return AFFORDABLE_SIDE if side == DINOV2_SIDE else side


def _checkpoint(path: Path) -> Path:
    if path.suffix not in SUFFIXES:
        raise ModelError(f"A checkpoint file ends in {', '.join(SUFFIXES)}, got {path}.")
    if not path.is_file():
        raise ModelError(f"There is no checkpoint file {path}; check the path in the setting.")
    return path


def _load(model: str, weights: Path, size: int) -> nn.Module:
    """The network with these weights, every one of them from the file.

    timm leaves what the file lacks at random values. Loading twice, from two random starts, tells
    which those are: whatever the two networks do not share.
    """
    network, other = (_build(model, weights, size, seed) for seed in (0, 1))
    copy = other.state_dict()
    lacking = [key for key, value in network.state_dict().items() if not value.equal(copy[key])]
    if lacking:
        raise ModelError(
            f"{weights} lacks weights of {model} ({len(lacking)} tensors, the first is "
            f"{lacking[0]}); give the file that belongs to this model."
        )
    return network


def _build(model: str, weights: Path, size: int, seed: int) -> nn.Module:
    timm = import_timm()
    config = _config(model)
    fixed = bool(config and config.fixed_input_size)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        try:
            network: nn.Module = timm.create_model(
                model,
                pretrained=True,
                # The file's weights go through the adaptation that timm gives the hub's.
                pretrained_cfg_overlay={"file": str(weights), "custom_load": False},
                num_classes=0,
                img_size=size if fixed else None,
            )
        except Exception as error:  # broken files and files of other models raise almost anything
            raise ModelError(
                f"{weights} cannot be loaded as weights of {model} ({error}); give a file that "
                "holds only the weights of this model."
            ) from error
    return network


def _dimension(model: str, network: nn.Module, size: int) -> int:
    parameter = next(network.parameters())
    with torch.inference_mode():
        shape = network(torch.zeros(1, 3, size, size, device=parameter.device)).shape
    if len(shape) != 2:
        raise ModelError(f"{model} gives no pooled features (shape {tuple(shape)}); take another.")
    return int(shape[1])


def _version(model: str, network: nn.Module, size: int, data: dict[str, Any]) -> str:
    digest = hashlib.sha256(f"{size} {data['mean']} {data['std']}".encode())
    for key, value in network.state_dict().items():
        digest.update(f"{key} {value.dtype} {tuple(value.shape)}".encode())
        digest.update(value.cpu().contiguous().numpy().tobytes())
    safe = re.sub(r"[^A-Za-z0-9._-]", "_", model)
    return f"timm-{safe}-{digest.hexdigest()[:12]}"
