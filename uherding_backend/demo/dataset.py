"""The demo's images: a sample of Fashion-MNIST that comes with the package."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

ARCHIVE = Path(__file__).parent / "data" / "fashion-mnist.npz"
CLASSES = (
    "T-shirt",
    "Trousers",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)
_CHOICES = "\n".join(
    f'    <Choice value="{name}" hotkey="{key}"/>'
    for name, key in zip(CLASSES, "1234567890", strict=True)
)
LABEL_CONFIG = f"""<View>
  <Header value="What is in the picture?"/>
  <Image name="image" value="$image" width="320px"/>
  <Choices name="label" toName="image" choice="single-radio" showInLine="true">
{_CHOICES}
  </Choices>
</View>"""


@dataclass(frozen=True, slots=True)
class DemoImages:
    """Images (n, 28, 28) and their true classes; the held-out ones never enter the project."""

    pool: NDArray[np.uint8]
    pool_labels: NDArray[np.uint8]
    held_out: NDArray[np.uint8]
    held_out_labels: NDArray[np.uint8]

    @classmethod
    def load(cls) -> DemoImages:
        """Read the archive."""
        with np.load(ARCHIVE, allow_pickle=False) as stored:
            return cls(**{name: stored[name] for name in cls.__slots__})

    def unpack(self, directory: Path) -> list[str]:
        """Write the pool as PNG files, those that are missing; returns their names in order."""
        directory.mkdir(parents=True, exist_ok=True)
        names = [f"{row:04d}.png" for row in range(len(self.pool))]
        for name, pixels in zip(names, self.pool, strict=True):
            path = directory / name
            if not path.exists():
                unfinished = path.with_suffix(".unfinished")
                unfinished.write_bytes(png(pixels))
                unfinished.replace(path)
        return names

    def true_class(self, address: str) -> str:
        """The class of a pool image, by the file name at the end of its address."""
        return CLASSES[self.pool_labels[int(address[-8:-4])]]


def png(pixels: NDArray[np.uint8]) -> bytes:
    """Grey pixels as a PNG file."""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def data_uri(pixels: NDArray[np.uint8]) -> str:
    """Grey pixels as a data URI, as task data may hold it."""
    return "data:image/png;base64," + base64.b64encode(png(pixels)).decode()
