import contextlib
import io

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from model.errors import UnreadableImageError
from model.images import decode


@given(st.integers(1, 90), st.integers(1, 90), st.integers(1, 40), st.sampled_from("LRPC"))
def test_any_picture_becomes_a_square(width: int, height: int, size: int, kind: str) -> None:
    mode, file_format = {"L": ("L", "PNG"), "R": ("RGBA", "PNG"), "P": ("P", "GIF")}.get(
        kind, ("CMYK", "TIFF")
    )
    noise = np.random.default_rng(width).integers(256, size=(height, width, 4), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(noise).convert("RGB").convert(mode).save(file, file_format)

    pixels = decode(file.getvalue(), size)

    assert pixels.shape == (size, size, 3)
    assert pixels.dtype == np.uint8


@given(st.binary(max_size=200), st.sampled_from([b"", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"BM"]))
def test_any_bytes_are_a_picture_or_a_sentence(data: bytes, start: bytes) -> None:
    with contextlib.suppress(UnreadableImageError):
        assert decode(start + data, 4).shape == (4, 4, 3)
