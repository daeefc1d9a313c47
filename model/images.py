"""Bytes of an image file in, a square of RGB pixels out."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from model.errors import UnreadableImageError

DEEP_MODES = ("I", "F")  # 16 and 32 bits per pixel; what is black and white differs per device
WHITE = (255, 255, 255, 255)
THUMBNAIL_SIDE = 128  # pixels


@dataclass(frozen=True, slots=True)
class Picture:
    """One image file twice: as a network sees it and as people do."""

    pixels: NDArray[np.uint8]  # (size, size, 3), what `decode` gives
    thumbnail: bytes


def decode(data: bytes, size: int) -> NDArray[np.uint8]:
    """Decode an image file into RGB pixels of shape (size, size, 3).

    The whole picture is kept: it is shrunk (with antialiasing) or enlarged until its longer side
    fits, and centred on a flat ground in the mean colour of its border. EXIF orientation is
    applied; transparent pixels lie over white; the darkest and brightest values of pictures with
    more than 8 bits become 0 and 255; of an animation the first frame counts.

    Raises:
        UnreadableImageError: Not an image, cut short, or too large to be decoded safely.
    """
    with _opened(data) as image:
        return _square(_fitted(_upright_rgb(image, size), size), size)


def decode_with_thumbnail(data: bytes, size: int) -> Picture:
    """What `decode` gives and what `thumbnail` gives, for little more than the price of one.

    Raises:
        UnreadableImageError: As `decode` does.
    """
    with _opened(data) as image:
        whole = max(image.size)
        upright = _upright_rgb(image, size)
        fitted = _fitted(upright, size)
        pixels = _square(fitted, size)
        if THUMBNAIL_SIDE <= size <= max(upright.size):
            return Picture(pixels, _jpeg(fitted))
        if max(upright.size) == whole:
            return Picture(pixels, _jpeg(upright))
    return Picture(pixels, thumbnail(data))  # of a large JPEG too few pixels were decoded


def longer_side(data: bytes) -> int:
    """Pixels of the longer side, read from the file's head; 0 if it is not an image."""
    try:
        with Image.open(io.BytesIO(data)) as image:
            return max(image.size)
    except Exception:  # noqa: BLE001 - decoders of broken files raise almost anything
        return 0


def thumbnail(data: bytes) -> bytes:
    """A small JPEG of an image for people to look at; its longer side is THUMBNAIL_SIDE or less.

    Raises:
        UnreadableImageError: As `decode` does.
    """
    with _opened(data) as image:
        return _jpeg(_upright_rgb(image, THUMBNAIL_SIDE))


@contextmanager
def _opened(data: bytes) -> Iterator[Image.Image]:
    """The image, not yet decoded; whatever goes wrong with it is an UnreadableImageError."""
    try:
        with Image.open(io.BytesIO(data)) as image:
            _refuse_bombs(image)
            yield image
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise UnreadableImageError(
            f"The image has more than {Image.MAX_IMAGE_PIXELS} pixels, which is not safe to "
            "decode; make it smaller."
        ) from error
    except Exception as error:  # decoders of broken files raise almost anything
        raise UnreadableImageError(
            f"These {len(data)} bytes cannot be read as an image ({error}); check the file."
        ) from error


def _refuse_bombs(image: Image.Image) -> None:
    """Pillow itself only warns; turning its warning into an error is not safe between threads."""
    limit = Image.MAX_IMAGE_PIXELS
    if limit is not None and image.width * image.height > limit:
        raise Image.DecompressionBombError


def _upright_rgb(image: Image.Image, size: int) -> Image.Image:
    """The image itself, changed, where that will do: each copy costs as much as the decoding."""
    image.draft(None, (2 * size, 2 * size))  # large JPEGs are decoded at a fraction of their size
    ImageOps.exif_transpose(image, in_place=True)
    if image.mode.startswith(DEEP_MODES):
        return _stretched(image).convert("RGB")
    if image.has_transparency_data:
        layer = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", layer.size, WHITE), layer).convert("RGB")
    return image if image.mode == "RGB" else image.convert("RGB")


def _stretched(image: Image.Image) -> Image.Image:
    """An 8-bit grey image whose darkest pixel is 0 and whose brightest is 255."""
    values = np.nan_to_num(np.asarray(image, dtype=np.float64), posinf=0.0, neginf=0.0)
    values = values - values.min()
    return Image.fromarray((values * (255.0 / max(values.max(), 1e-12))).astype(np.uint8))


def _fitted(image: Image.Image, size: int) -> Image.Image:
    """The image shrunk or enlarged until its longer side is size pixels."""
    scale = size / max(image.size)
    width, height = (max(1, round(side * scale)) for side in image.size)
    return image.resize((width, height), Image.Resampling.BICUBIC)


def _square(fitted: Image.Image, size: int) -> NDArray[np.uint8]:
    pixels = np.asarray(fitted)
    height, width = pixels.shape[:2]
    top, left = (size - height) // 2, (size - width) // 2
    square = np.empty((size, size, 3), dtype=np.uint8)
    square[:] = _border_colour(pixels)
    square[top : top + height, left : left + width] = pixels
    return square


def _border_colour(pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
    border = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    return np.asarray(border.mean(axis=0).round())


def _jpeg(image: Image.Image) -> bytes:
    """The image, which may be changed, as a thumbnail."""
    image.thumbnail((THUMBNAIL_SIDE, THUMBNAIL_SIDE))
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=80)
    return buffer.getvalue()
