"""Images per second of each extractor, end to end, beside the plain timm loop on the same files.

    .venv/bin/python benchmarks/features.py [--photos 96] [--small 2000]

Photos are JPEG files of 640 x 480 pixels, small images PNG files of 28 x 28. DINOv2 runs with
random weights from a local checkpoint: speed does not depend on their values.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image, ImageFilter

from model.arrays import Features, Images
from model.features import Extractor
from model.features.hub import DEFAULT_MODEL
from model.features.opening import learn, open_pretrained
from model.features.simclr_training import Budget
from model.torchvision_import import import_timm
from uherding_backend.demo.dataset import DemoImages, png
from uherding_backend.image_loading import ImageLoader
from uherding_backend.images_source import ImageSource
from uherding_backend.labels import ProjectId, TaskId
from uherding_backend.labelstudio import LabelStudio
from uherding_backend.store import Store
from uherding_backend.store.pool import Item

PROJECT = ProjectId(1)


@dataclass
class Timed:
    """An extractor whose forward passes are timed."""

    extractor: Extractor
    seconds: float = field(default=0.0)

    def extract(self, images: Images) -> Features:
        started = time.perf_counter()
        features = self.extractor.extract(images)
        self.seconds += time.perf_counter() - started
        return features


def main() -> None:
    import torch  # after `model`, which tells its threads not to spin

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=int, default=96)
    parser.add_argument("--small", type=int, default=2000)
    parsed = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        photos = write_photos(directory / "photos", parsed.photos)
        small = write_small(directory / "small", parsed.small)
        checkpoint = random_dinov2(directory)
        say(f"{torch.get_num_threads()} threads, torch {torch.__version__}\n")
        say("| extractor | files | images/s | share of time in the forward pass |")
        say("|---|---|---|---|")
        row("patches", small, end_to_end(learned("patches", small, directory), small, directory))
        for extractor in ("efficientnet-lite0", f"timm:{DEFAULT_MODEL}@{checkpoint}"):
            measured = end_to_end(open_pretrained(extractor), photos, directory)
            row(extractor.partition("@")[0], photos, measured)
        row("plain timm loop, one image at a time", photos, plain_loop(checkpoint, photos))


def end_to_end(extractor: Extractor, files: list[Path], directory: Path) -> tuple[float, float]:
    """Seconds for all files, and the seconds of these spent in the forward pass."""
    timed = Timed(extractor)
    with tempfile.TemporaryDirectory(dir=directory) as data:
        store = Store(Path(data))
        source = ImageSource(LabelStudio("http://127.0.0.1:1", "unused"), directory)
        items = [
            Item(TaskId(n), f"/data/local-files/?d={file.relative_to(directory)}", None, "")
            for n, file in enumerate(files)
        ]
        started = time.perf_counter()
        loader = ImageLoader(store, PROJECT, source)
        for chunk in loader.load(items, extractor.image_size, lambda _: None):
            timed.extract(chunk.images)
        return time.perf_counter() - started, timed.seconds


def plain_loop(checkpoint: Path, files: list[Path]) -> tuple[float, float]:
    """What timm's documentation shows: open, transform, forward, one file after another."""
    import torch

    timm = import_timm()
    network = timm.create_model(DEFAULT_MODEL, num_classes=0, img_size=224).eval()
    config = timm.data.resolve_model_data_config(network)
    transform = timm.data.create_transform(**{**config, "input_size": (3, 224, 224)})
    forward = 0.0
    started = time.perf_counter()
    for file in files:
        pixels = transform(Image.open(file).convert("RGB"))[None]
        before = time.perf_counter()
        with torch.inference_mode():
            network(pixels)
        forward += time.perf_counter() - before
    return time.perf_counter() - started, forward


def learned(name: str, files: list[Path], directory: Path) -> Extractor:
    images = np.stack(
        [np.asarray(Image.open(file).convert("RGB").resize((32, 32))) for file in files]
    )
    return learn(name, images, directory, seed=0, budget=Budget(), on_progress=lambda *_: None)


def random_dinov2(directory: Path) -> Path:
    from safetensors.torch import save_file

    network = import_timm().create_model(DEFAULT_MODEL, num_classes=0, img_size=224)
    path = directory / "dinov2.safetensors"
    save_file({key: value.contiguous() for key, value in network.state_dict().items()}, path)
    return path


def write_photos(directory: Path, count: int) -> list[Path]:
    """Smooth random pictures: they take as long to decode as photographs."""
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


def row(name: str, files: list[Path], measured: tuple[float, float]) -> None:
    seconds, forward = measured
    kind = f"{len(files)} {files[0].suffix[1:]}"
    say(f"| {name} | {kind} | {len(files) / seconds:.1f} | {forward / seconds:.0%} |")


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
