import io
from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image

from model.errors import UnreadableImageError
from model.images import THUMBNAIL_SIDE, decode, decode_with_thumbnail, longer_side, thumbnail

RED, BLUE, WHITE = (255, 0, 0), (0, 0, 255), (255, 255, 255)


def encoded(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def plain(mode: str, colour: object, size: tuple[int, int] = (40, 40)) -> Image.Image:
    return Image.new(mode, size, colour)  # type: ignore[arg-type]


def test_gives_a_square_of_rgb_pixels() -> None:
    pixels = decode(encoded(plain("RGB", RED)), 32)

    assert pixels.shape == (32, 32, 3)
    assert pixels.dtype == np.uint8
    assert (pixels == RED).all()


@pytest.mark.parametrize(
    ("mode", "colour", "seen"),
    [
        ("L", 77, (77, 77, 77)),
        ("1", 1, WHITE),
        ("P", 0, (0, 0, 0)),
        ("RGBA", (255, 0, 0, 255), RED),
        ("RGBA", (0, 0, 0, 0), WHITE),
        ("LA", (0, 0), WHITE),
        ("I;16", 30_000, (0, 0, 0)),
    ],
)
def test_every_mode_becomes_rgb_over_white(
    mode: str, colour: object, seen: tuple[int, int, int]
) -> None:
    pixels = decode(encoded(plain(mode, colour)), 8)

    assert (pixels == seen).all()


def test_cmyk_jpegs_are_read() -> None:
    pixels = decode(encoded(plain("CMYK", (0, 0, 0, 0)), "JPEG"), 8)

    assert (pixels > 250).all()


def test_a_palette_with_transparency_lies_over_white() -> None:
    image = plain("P", 0)
    image.putpalette([0, 0, 0, 255, 0, 0])

    pixels = decode(encoded(image, transparency=0), 8)

    assert (pixels == WHITE).all()


def test_sixteen_bits_are_stretched_from_the_darkest_to_the_brightest() -> None:
    values = np.full((20, 20), 1_000, dtype=np.uint16)
    values[:, 10:] = 4_000

    pixels = decode(encoded(Image.fromarray(values)), 20)

    assert (pixels[:, :8] == 0).all()
    assert (pixels[:, 12:] == 255).all()


def test_the_camera_orientation_is_applied() -> None:
    image = plain("RGB", BLUE)
    image.paste(RED, (0, 0, 40, 20))  # red above blue
    exif = Image.Exif()
    exif[0x0112] = 3  # the camera was held upside down

    pixels = decode(encoded(image, exif=exif), 8)

    assert (pixels[0] == BLUE).all()
    assert (pixels[-1] == RED).all()


def test_a_wide_picture_is_kept_whole_on_a_ground_of_its_border_colour() -> None:
    image = plain("RGB", BLUE, (80, 40))
    image.paste(RED, (30, 15, 50, 25))

    pixels = decode(encoded(image), 32)

    assert (pixels[0] == BLUE).all()
    assert (pixels[-1] == BLUE).all()
    assert (pixels[16, 16] == RED).all()


def test_a_line_of_pixels_is_still_a_picture() -> None:
    assert (decode(encoded(plain("RGB", RED, (500, 1))), 16) == RED).all()


def test_small_pictures_are_enlarged() -> None:
    assert (decode(encoded(plain("RGB", RED, (1, 1))), 16) == RED).all()


def test_shrinking_averages_instead_of_skipping() -> None:
    stripes = np.tile(np.array([0, 255], dtype=np.uint8), (64, 32))

    pixels = decode(encoded(Image.fromarray(stripes)), 8)

    assert (abs(pixels.astype(int) - 127) < 20).all()


def test_of_an_animation_the_first_frame_counts() -> None:
    data = encoded(plain("RGB", RED), "GIF", save_all=True, append_images=[plain("RGB", BLUE)])

    assert (decode(data, 8) == RED).all()


@pytest.mark.parametrize("data", [b"", b"<html>404</html>", b"\x89PNG\r\n\x1a\n"])
def test_bytes_that_are_no_image_are_refused(data: bytes) -> None:
    with pytest.raises(UnreadableImageError, match="cannot be read as an image"):
        decode(data, 8)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "BMP", "TIFF"])
def test_files_that_are_cut_short_are_refused(kind: str) -> None:
    noise = np.random.default_rng(0).integers(256, size=(64, 64, 3), dtype=np.uint8)
    data = encoded(Image.fromarray(noise), kind)

    with pytest.raises(UnreadableImageError, match="cannot be read as an image"):
        decode(data[: len(data) // 2], 8)


def test_decompression_bombs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1_000)

    with pytest.raises(UnreadableImageError, match="more than 1000 pixels"):
        decode(encoded(plain("RGB", RED, (40, 40))), 8)
    with pytest.raises(UnreadableImageError, match="more than 1000 pixels"):
        decode(encoded(plain("RGB", RED, (80, 80))), 8)


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("read", [lambda data: decode(data, 8), thumbnail])
def test_bombs_are_refused_where_pillow_only_warns(
    read: Callable[[bytes], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = encoded(plain("RGB", RED, (40, 40)))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1_000)

    with pytest.raises(UnreadableImageError, match="more than 1000 pixels"):
        read(data)


def test_the_longer_side_is_read_without_decoding() -> None:
    assert longer_side(encoded(Image.new("RGB", (30, 20)))) == 30
    assert longer_side(b"no picture") == 0


def test_a_thumbnail_is_a_small_upright_jpeg() -> None:
    small = Image.open(io.BytesIO(thumbnail(encoded(Image.new("RGBA", (600, 300), (0, 0, 0, 0))))))

    assert small.format == "JPEG"
    assert small.size == (THUMBNAIL_SIDE, THUMBNAIL_SIDE // 2)
    assert small.getpixel((5, 5)) == (255, 255, 255)


def test_no_thumbnail_of_what_is_no_picture() -> None:
    with pytest.raises(UnreadableImageError, match="cannot be read as an image"):
        thumbnail(b"no picture")
    with pytest.raises(UnreadableImageError, match="cannot be read as an image"):
        decode_with_thumbnail(b"no picture", 32)


def gradient(width: int, height: int) -> Image.Image:
    """Dark at the left, bright at the right, redder towards the bottom."""
    across = np.tile(np.linspace(0, 255, width), (height, 1))
    down = np.tile(np.linspace(0, 255, height)[:, None], (1, width))
    return Image.fromarray(np.stack([down, across, across], axis=2).astype(np.uint8))


@pytest.mark.parametrize("size", [16, 224])
@pytest.mark.parametrize(
    ("width", "height", "mode", "kind"),
    [
        (28, 28, "L", "PNG"),
        (300, 200, "RGBA", "PNG"),
        (640, 480, "RGB", "JPEG"),
        (900, 1800, "CMYK", "JPEG"),
    ],
)
def test_a_thumbnail_on_the_side_changes_no_pixel(
    width: int, height: int, mode: str, kind: str, size: int
) -> None:
    data = encoded(gradient(width, height).convert(mode), kind)

    picture = decode_with_thumbnail(data, size)

    np.testing.assert_array_equal(picture.pixels, decode(data, size))
    alone, aside = (Image.open(io.BytesIO(jpeg)) for jpeg in (thumbnail(data), picture.thumbnail))
    assert aside.size == alone.size
    assert np.abs(np.asarray(aside, dtype=int) - np.asarray(alone, dtype=int)).mean() < 3.0


def test_a_camera_held_upright_gives_an_upright_thumbnail_on_the_side() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by a quarter

    picture = decode_with_thumbnail(encoded(gradient(600, 300), "JPEG", exif=exif), 224)

    small = Image.open(io.BytesIO(picture.thumbnail))
    assert small.size == (THUMBNAIL_SIDE // 2, THUMBNAIL_SIDE)
    assert not small.getexif()
