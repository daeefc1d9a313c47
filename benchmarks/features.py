"""Images per second of each extractor, end to end, beside plain timm loops on the same files.

    .venv/bin/python -m benchmarks.features [--photos 96] [--small 2000] [--repeats 3]
                                            [--output FILE.md]

Photos are JPEG files of 640 x 480 pixels, small images PNG files of 28 x 28. Every line of the
table is a process of its own and shows the median of its repeats. The limit is a large float32
product of matrices, measured in the same process right before and right after each repeat, so that
another program on the machine slows both: images per second that the network's products alone
would allow.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any, Protocol, TypeVar

import numpy as np
from PIL import Image

from benchmarks.feature_files import Inputs, prepare
from benchmarks.gemm import gemm_speed, operations_of
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
WARM_UP = 8  # files

Result = TypeVar("Result")


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


@dataclass(frozen=True)
class Repeat:
    """One pass over all files."""

    images_per_second: float
    limit: float  # images per second at the speed of a large matrix product
    forward_share: float  # of the time


@dataclass(frozen=True)
class Measured:
    """One line of the table."""

    files: str
    repeats: list[Repeat]
    megabytes: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=int, default=96)
    parser.add_argument("--small", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path, help="write the table to this Markdown file as well")
    parsed = parser.parse_args()
    lines = []
    with tempfile.TemporaryDirectory() as name:
        inputs = apart(partial(prepare, Path(name), parsed.photos, parsed.small))
        for line in table(inputs, parsed.repeats):
            say(line)
            lines.append(line)
    if parsed.output:
        parsed.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


def table(inputs: Inputs, repeats: int) -> Iterator[str]:
    yield (
        "| extractor | files | images/s | images/s at the GEMM limit | share of the GEMM limit "
        "| share of time in the forward pass | peak memory (MB) |"
    )
    yield "|---|---|---|---|---|---|---|"
    for name, subject in ROWS.items():
        measured = apart(partial(measure, subject, inputs, repeats))
        yield line_of(name, measured)


def line_of(name: str, measured: Measured) -> str:
    repeats = measured.repeats
    speed = median(repeat.images_per_second for repeat in repeats)
    limit = median(repeat.limit for repeat in repeats)
    share = median(repeat.images_per_second / repeat.limit for repeat in repeats)
    forward = median(repeat.forward_share for repeat in repeats)
    return (
        f"| {name} | {measured.files} | {speed:.1f} | {limit:.0f} | {share:.0%} "
        f"| {forward:.0%} | {measured.megabytes:.0f} |"
    )


def measure(make: Callable[[Inputs], Subject], inputs: Inputs, repeats: int) -> Measured:
    subject = make(inputs)
    subject.run(subject.files[:WARM_UP])
    operations = operations_of(subject.forward_one)
    return Measured(
        files=f"{len(subject.files)} {subject.files[0].suffix[1:]}",
        repeats=[repeat(subject, operations) for _ in range(repeats)],
        megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )


def repeat(subject: Subject, operations: float) -> Repeat:
    before = gemm_speed()
    started = time.perf_counter()
    forward = subject.run(subject.files)
    seconds = time.perf_counter() - started
    speed = (before + gemm_speed()) / 2
    return Repeat(len(subject.files) / seconds, speed / operations, forward / seconds)


def apart(task: Callable[[], Result]) -> Result:
    """Run something in a process of its own, so that no memory of others counts."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(task).result()


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
