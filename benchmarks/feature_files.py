"""What `benchmarks.features` reads: photos, small images, weights, a learned extractor."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageFilter

from model.features.hub import DEFAULT_MODEL
from model.features.opening import learn
from model.features.simclr_training import Budget
from model.images import decode
from model.torchvision_import import import_timm
from uherding_backend.demo.dataset import DemoImages, png

LEARNED_FROM = 600  # images; how many does not change the speed of what was learned


@dataclass(frozen=True)
class Inputs:
    """Everything on disk, in one directory."""

    directory: Path
    photos: list[Path]
    small: list[Path]
    dinov2: Path  # random weights: speed does not depend on their values
    patches: str  # version of the extractor that learned from the small images


def prepare(directory: Path, photos: int, small: int) -> Inputs:
    files = write_small(directory / "small", small)
    return Inputs(
        directory,
        photos=write_photos(directory / "photos", photos),
        small=files,
        dinov2=write_dinov2(directory),
        patches=learn_patches(files[:LEARNED_FROM], directory),
    )


def write_photos(directory: Path, count: int) -> list[Path]:
    """Smooth random pictures of 640 x 480 pixels: they take as long to decode as photographs."""
    generator = np.random.default_rng(0)

    def photo(_: int) -> bytes:
        small = generator.integers(0, 256, (60, 80, 3), dtype=np.uint8)
        picture = Image.fromarray(small).resize((640, 480)).filter(ImageFilter.GaussianBlur(2))
        buffer = io.BytesIO()
        picture.save(buffer, "JPEG", quality=90)
        return buffer.getvalue()

    return write(directory, count, "jpg", photo)


def write_small(directory: Path, count: int) -> list[Path]:
    pool = DemoImages.load().pool
    return write(directory, min(count, len(pool)), "png", lambda row: png(pool[row]))


def write(directory: Path, count: int, kind: str, make: Callable[[int], bytes]) -> list[Path]:
    directory.mkdir()
    files = [directory / f"{number:05d}.{kind}" for number in range(count)]
    for number, file in enumerate(files):
        file.write_bytes(make(number))
    return files


def write_dinov2(directory: Path) -> Path:
    from safetensors.torch import save_file

    network = import_timm().create_model(DEFAULT_MODEL, num_classes=0, img_size=224)
    path = directory / "dinov2.safetensors"
    save_file({key: value.contiguous() for key, value in network.state_dict().items()}, path)
    return path


def learn_patches(files: list[Path], directory: Path) -> str:
    images = np.stack([decode(file.read_bytes(), 32) for file in files])
    learned = learn(
        "patches", images, directory, seed=0, budget=Budget(), on_progress=lambda *_: None
    )
    return learned.version
