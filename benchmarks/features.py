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
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import TypeVar

from benchmarks.feature_files import Inputs, prepare
from benchmarks.feature_ways import ROWS, Subject
from benchmarks.gemm import gemm_speed, operations_of

WARM_UP = 8  # files

Result = TypeVar("Result")


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
