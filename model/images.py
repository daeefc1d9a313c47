"""Bytes of an image file in, a square of RGB pixels out."""

import io
import warnings

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from model.errors import UnreadableImageError

DEEP_MODES = ("I", "F")  # 16 and 32 bits per pixel; what is black and white differs per device
WHITE = (255, 255, 255, 255)
THUMBNAIL_SIDE = 128  # pixels


def decode(data: bytes, size: int) -> NDArray[np.uint8]:
    """Decode an image file into RGB pixels of shape (size, size, 3).

    The whole picture is kept: it is shrunk (with antialiasing) or enlarged until its longer side
    fits, and centred on a flat ground in the mean colour of its border. EXIF orientation is
    applied; transparent pixels lie over white; the darkest and brightest values of pictures with
    more than 8 bits become 0 and 255; of an animation the first frame counts.

    Raises:
        UnreadableImageError: Not an image, cut short, or too large to be decoded safely.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data)) as image:
                return _square(_upright_rgb(image, size), size)
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise UnreadableImageError(
            f"The image has more than {Image.MAX_IMAGE_PIXELS} pixels, which is not safe to "
            "decode; make it smaller."
        ) from error
    except Exception as error:  # decoders of broken files raise almost anything
        raise UnreadableImageError(
            f"These {len(data)} bytes cannot be read as an image ({error}); check the file."
        ) from error


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
    try:
        with Image.open(io.BytesIO(data)) as image:
            small = _upright_rgb(image, THUMBNAIL_SIDE)
            small.thumbnail((THUMBNAIL_SIDE, THUMBNAIL_SIDE))
            buffer = io.BytesIO()
            small.save(buffer, "JPEG", quality=80)
            return buffer.getvalue()
    except Exception as error:
        raise UnreadableImageError(f"No thumbnail can be made ({error}).") from error


def _upright_rgb(image: Image.Image, size: int) -> Image.Image:
    image.draft(None, (2 * size, 2 * size))  # large JPEGs are decoded at a fraction of their size
    upright = ImageOps.exif_transpose(image)
    if upright.mode.startswith(DEEP_MODES):
        return _stretched(upright).convert("RGB")
    if upright.has_transparency_data:
        layer = upright.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", layer.size, WHITE), layer).convert("RGB")
    return upright.convert("RGB")


def _stretched(image: Image.Image) -> Image.Image:
    """An 8-bit grey image whose darkest pixel is 0 and whose brightest is 255."""
    values = np.nan_to_num(np.asarray(image, dtype=np.float64), posinf=0.0, neginf=0.0)
    values = values - values.min()
    return Image.fromarray((values * (255.0 / max(values.max(), 1e-12))).astype(np.uint8))


def _square(image: Image.Image, size: int) -> NDArray[np.uint8]:
    scale = size / max(image.size)
    width, height = (max(1, round(side * scale)) for side in image.size)
    pixels = np.asarray(image.resize((width, height), Image.Resampling.BICUBIC))
    top, left = (size - height) // 2, (size - width) // 2
    square = np.empty((size, size, 3), dtype=np.uint8)
    square[:] = _border_colour(pixels)
    square[top : top + height, left : left + width] = pixels
    return square


def _border_colour(pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
    border = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    return np.asarray(border.mean(axis=0).round())
