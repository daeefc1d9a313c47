"""Ways from files to features that `benchmarks.features` compares: ours and plain timm loops."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from PIL import Image

from benchmarks.feature_files import Inputs
from model.features import Extractor
from model.features.hub import DEFAULT_MODEL
from model.features.opening import open_pretrained, reopen
from model.torchvision_import import import_timm
from uherding_backend.image_loading import ImageLoader
from uherding_backend.images_source import ImageSource
from uherding_backend.labels import ProjectId, TaskId
from uherding_backend.labelstudio import LabelStudio
from uherding_backend.store import Store
from uherding_backend.store.pool import Item

PROJECT = ProjectId(1)
LITE0 = "tf_efficientnet_lite0"  # timm's name of the same architecture
SIDE = 224  # pixels
BATCH = 32  # images at once in the plain batched loop


class Subject(Protocol):
    """A way from files to features."""

    @property
    def files(self) -> Sequence[Path]:
        """All there are."""

    def run(self, files: Sequence[Path]) -> float:
        """Go through the files; gives the seconds of it spent in the forward pass."""

    def forward_one(self) -> object:
        """One forward pass of one image, to count its operations."""


@dataclass(frozen=True)
class Ours:
    """The way a round goes: fetched and decoded in the background, embedded chunk by chunk."""

    extractor: Extractor
    files: Sequence[Path]
    directory: Path

    def run(self, files: Sequence[Path]) -> float:
        forward = 0.0
        with tempfile.TemporaryDirectory(dir=self.directory) as data:
            source = ImageSource(LabelStudio("http://127.0.0.1:1", "unused"), self.directory)
            loader = ImageLoader(Store(Path(data)), PROJECT, source)
            items = [
                Item(
                    TaskId(n), f"/data/local-files/?d={file.relative_to(self.directory)}", None, ""
                )
                for n, file in enumerate(files)
            ]
            for chunk in loader.load(items, self.extractor.image_size, lambda _: None):
                started = time.perf_counter()
                self.extractor.extract(chunk.images)
                forward += time.perf_counter() - started
        return forward

    def forward_one(self) -> object:
        side = self.extractor.image_size
        return self.extractor.extract(np.zeros((1, side, side, 3), dtype=np.uint8))


@dataclass(frozen=True)
class Plain:
    """What timm's documentation shows: open, transform, forward, a batch after another."""

    network: Any
    transform: Any
    files: Sequence[Path]
    batch: int

    def run(self, files: Sequence[Path]) -> float:
        import torch

        forward = 0.0
        for start in range(0, len(files), self.batch):
            opened = [Image.open(file).convert("RGB") for file in files[start : start + self.batch]]
            pixels = torch.stack([self.transform(image) for image in opened])
            started = time.perf_counter()
            with torch.inference_mode():
                self.network(pixels)
            forward += time.perf_counter() - started
        return forward

    def forward_one(self) -> object:
        import torch

        return self.network(torch.zeros(1, 3, SIDE, SIDE))


def patches(inputs: Inputs) -> Subject:
    extractor = reopen("patches", inputs.patches, inputs.directory)
    return Ours(extractor, inputs.small, inputs.directory)


def efficientnet(inputs: Inputs) -> Subject:
    return Ours(open_pretrained("efficientnet-lite0"), inputs.photos, inputs.directory)


def dinov2(inputs: Inputs) -> Subject:
    extractor = open_pretrained(f"timm:{DEFAULT_MODEL}@{inputs.dinov2}")
    return Ours(extractor, inputs.photos, inputs.directory)


def plain(inputs: Inputs, model: str, batch: int) -> Subject:
    timm = import_timm()
    fixed = {"img_size": SIDE} if model == DEFAULT_MODEL else {}
    network = timm.create_model(model, num_classes=0, **fixed).eval()
    config = timm.data.resolve_model_data_config(network)
    transform = timm.data.create_transform(**{**config, "input_size": (3, SIDE, SIDE)})
    return Plain(network, transform, inputs.photos, batch)


ROWS: dict[str, Callable[[Inputs], Subject]] = {
    "`patches`": patches,
    "`efficientnet-lite0`": efficientnet,
    "plain timm loop, the same network, one at a time": partial(plain, model=LITE0, batch=1),
    f"plain timm loop, the same network, {BATCH} at a time": partial(
        plain, model=LITE0, batch=BATCH
    ),
    f"`timm:{DEFAULT_MODEL}`": dinov2,
    "plain timm loop, DINOv2, one at a time": partial(plain, model=DEFAULT_MODEL, batch=1),
    f"plain timm loop, DINOv2, {BATCH} at a time": partial(plain, model=DEFAULT_MODEL, batch=BATCH),
}
