"""Image files -> features.npz, computed once and used again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.arrays import Features, Images
from model.errors import ModelError, UnreadableImageError
from model.features import Extractor
from model.features.choosing import Choice, choose
from model.features.names import AUTO, checked
from model.features.opening import learn, learning_size, learns, open_pretrained
from model.features.simclr_training import Budget
from model.files import save_arrays
from model.images import decode, longer_side
from uherding_backend.console import Console
from uherding_backend.errors import UHerdingError
from uherding_backend.simulation.pictures import Picture, Split, digest_of
from uherding_backend.simulation.results import replace_file

AT_ONCE = 32  # pictures
LEARN_IMAGES = 4000  # as in a project's rounds
SIZE_SAMPLE = 32
LISTED = 10


@dataclass(frozen=True, slots=True)
class Extraction:
    """Makes the features of one split in one directory.

    Attributes:
        parts: The pictures.
        wanted: Name of the extractor, or "auto".
        directory: Where features.npz goes; made if it is missing.
        console: Hears of the progress and of pictures that cannot be read.
        simclr_epochs: For the extractor of that name.
    """

    parts: Split
    wanted: str
    directory: Path
    console: Console
    simclr_epochs: int
    left_out: dict[Path, str] = field(default_factory=dict)

    def file(self) -> Path:
        """The features of all readable pictures, from an earlier run if there was one."""
        path, about = self.directory / "features.npz", self.directory / "features.json"
        made_of = {"images": digest_of(self.parts), "extractor": checked(self.wanted)}
        if path.exists() and about.exists():
            there = json.loads(about.read_text(encoding="utf-8"))
            if any(there.get(name) != value for name, value in made_of.items()):
                raise UHerdingError(
                    f"{path} was made from other images, or with another --extractor or "
                    f"--test-share. Choose another --output, or remove {self.directory} to start "
                    "anew."
                )
            self._warn(there["left_out"])
            return path
        self.directory.mkdir(parents=True, exist_ok=True)
        extractor = self._extractor()
        save_arrays(path, self._arrays(extractor))
        left_out = {str(file): reason for file, reason in self.left_out.items()}
        facts = {**made_of, "made_by": extractor.description, "left_out": left_out}
        replace_file(about, json.dumps(facts, indent=2) + "\n")
        self._warn(left_out)
        return path

    def _extractor(self) -> Extractor:
        side = self._typical_side()
        choice = choose(self.wanted, side)
        try:
            return self._make(choice, side)
        except ModelError as error:
            if self.wanted != AUTO:
                raise
            # The hub may answer while the download behind it is blocked.
            self.console.say(f"{error} Taking what needs no model hub.")
            offline = choose(AUTO, side, cached=lambda _: False, answers=lambda: False)
            return self._make(offline, side)

    def _make(self, choice: Choice, side: int) -> Extractor:
        self.console.say(f"Features by {choice.name}. {choice.reason}")
        if not learns(choice.name):
            return open_pretrained(choice.name)
        pool = self.parts.pool
        rows = sorted(np.random.default_rng(0).permutation(len(pool))[:LEARN_IMAGES])
        size = learning_size(choice.name, side)
        batches = self._batches([pool[row] for row in rows], size)
        return learn(
            choice.name,
            np.concatenate([images for _, images in batches]),
            self.directory,
            seed=0,
            budget=Budget(epochs=self.simclr_epochs),
            on_progress=lambda share, _: self.console.renew("Learning features", share),
        )

    def _arrays(self, extractor: Extractor) -> dict[str, NDArray[Any]]:
        pool, pool_labels = self._embedded(extractor, self.parts.pool, "the pool")
        test, test_labels = self._embedded(extractor, self.parts.test, "the test images")
        return {
            "features": pool,
            "labels": pool_labels,
            "test_features": test,
            "test_labels": test_labels,
        }

    def _embedded(
        self, extractor: Extractor, pictures: Sequence[Picture], which: str
    ) -> tuple[Features, NDArray[np.str_]]:
        rows: list[Features] = []
        labels: list[str] = []
        for number, (readable, images) in enumerate(self._batches(pictures, extractor.image_size)):
            self.console.renew(f"Computing features of {which}", number * AT_ONCE / len(pictures))
            if readable:
                rows.append(extractor.extract(images))
                labels += [picture.label for picture in readable]
        if not labels:
            example = pictures[0].path
            raise UHerdingError(
                f"None of the {len(pictures)} images for {which} can be read, for example "
                f"{example}: {self.left_out[example]}"
            )
        return np.concatenate(rows), np.array(labels)

    def _batches(
        self, pictures: Sequence[Picture], size: int
    ) -> Iterator[tuple[list[Picture], Images]]:
        """A few pictures at a time that can be read, with their pixels."""
        for start in range(0, len(pictures), AT_ONCE):
            readable, pixels = [], [np.zeros((0, size, size, 3), dtype=np.uint8)]
            for picture in pictures[start : start + AT_ONCE]:
                try:
                    pixels.append(decode(picture.path.read_bytes(), size)[None])
                except (UnreadableImageError, OSError) as error:
                    self.left_out[picture.path] = str(error)
                    continue
                readable.append(picture)
            yield readable, np.concatenate(pixels)

    def _typical_side(self) -> int:
        """Pixels of the longer side of most pictures, by the median of a few."""
        pool = [picture.path for picture in self.parts.pool if picture.path.is_file()]
        rows = np.random.default_rng(0).permutation(len(pool))[:SIZE_SAMPLE]
        sides = [side for row in rows if (side := longer_side(pool[row].read_bytes()))]
        return round(float(np.median(sides))) if sides else 0

    def _warn(self, left_out: dict[str, str]) -> None:
        if not left_out:
            return
        self.console.say(f"Warning: {len(left_out)} images cannot be read and are left out:")
        for file, reason in list(left_out.items())[:LISTED]:
            self.console.say(f"  {file}: {reason}")
        if len(left_out) > LISTED:
            listed = self.directory / "features.json"
            self.console.say(f"  and {len(left_out) - LISTED} more; {listed} lists all.")
