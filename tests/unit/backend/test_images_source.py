from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.builders import TOKEN, data_uri, picture
from tests.unit.backend.conftest import Answer, Request, Website
from uherding_backend import images_source
from uherding_backend.errors import ImageError, LabelStudioUnreachableError
from uherding_backend.images_source import ImageSource
from uherding_backend.labels import TaskId
from uherding_backend.labelstudio import LabelStudio

PNG = picture("disc", 1)
TASK = TaskId(7)


@pytest.fixture
def source(website: Website) -> ImageSource:
    """Images of a Label Studio at the website."""
    return ImageSource(LabelStudio(website.url, TOKEN))


def test_a_data_uri_holds_the_image_itself(source: ImageSource) -> None:
    assert source.fetch(TASK, data_uri(PNG)) == PNG


def test_a_data_uri_may_be_percent_encoded(source: ImageSource) -> None:
    assert source.fetch(TASK, "data:image/svg+xml,%3Csvg%2F%3E") == b"<svg/>"


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("", "no image address"),
        ("data:image/png;base64", "no comma"),
        ("data:image/png;base64,!!!!", "not valid base64"),
        ("ftp://example.com/a.png", "not supported"),
        ("http://[half", "Cannot fetch 'http://\\[half'"),
        ("http://127.0.0.1:1/a.png", "Cannot fetch"),
        ("http://127.0.0.1:99999/a.png", "Cannot fetch"),
    ],
)
def test_an_address_that_gives_no_image_is_an_image_error_with_the_reason(
    source: ImageSource, address: str, words: str
) -> None:
    with pytest.raises(ImageError, match=words):
        source.fetch(TASK, address)


def test_a_path_on_label_studio_is_fetched_with_the_token(
    source: ImageSource, website: Website
) -> None:
    website.says("/data/upload/1/a.png", PNG)

    found = source.fetch(TASK, "/data/upload/1/a.png")

    assert found == PNG
    assert website.asked[0].headers["Authorization"] == f"Token {TOKEN}"


def test_an_image_elsewhere_is_fetched_without_the_token(
    source: ImageSource, new_website: Callable[[], Website]
) -> None:
    elsewhere = new_website()
    elsewhere.says("/a.png", PNG)

    found = source.fetch(TASK, f"{elsewhere.url}/a.png")

    assert found == PNG
    assert "Authorization" not in elsewhere.asked[0].headers


def test_the_token_does_not_follow_a_redirect_to_another_server(
    source: ImageSource, website: Website, new_website: Callable[[], Website]
) -> None:
    elsewhere = new_website()
    elsewhere.says("/bucket/a.png", PNG)
    website.says("/data/upload/1/a.png", status=302, Location=f"{elsewhere.url}/bucket/a.png")

    found = source.fetch(TASK, "/data/upload/1/a.png")

    assert found == PNG
    assert "Authorization" not in elsewhere.asked[0].headers


@pytest.mark.parametrize("scheme", ["s3", "gs", "azure-blob"])
def test_cloud_storage_is_reached_through_label_studio(
    source: ImageSource, website: Website, scheme: str
) -> None:
    address = f"{scheme}://bucket/a.png"
    website.says("/tasks/7/presign/", PNG)

    found = source.fetch(TASK, address)

    assert found == PNG
    encoded = website.asked[0].path.partition("?fileuri=")[2]
    assert base64.b64decode(encoded).decode() == address


def test_an_image_that_label_studio_refuses_is_an_image_error(source: ImageSource) -> None:
    with pytest.raises(ImageError, match=r"refused GET /data/upload/gone\.png"):
        source.fetch(TASK, "/data/upload/gone.png")


def test_an_image_that_the_web_refuses_is_an_image_error(
    source: ImageSource, new_website: Callable[[], Website]
) -> None:
    with pytest.raises(ImageError, match="404"):
        source.fetch(TASK, f"{new_website().url}/gone.png")


@pytest.mark.parametrize("own", [True, False])
def test_an_answer_that_is_cut_short_is_an_image_error(
    source: ImageSource, website: Website, new_website: Callable[[], Website], own: bool
) -> None:
    site = website if own else new_website()
    site.says("/a.png", PNG, Content_Length=str(len(PNG) + 100))

    with pytest.raises(ImageError):
        source.fetch(TASK, f"{site.url}/a.png")


def test_an_image_that_is_too_large_is_not_read_to_its_end(
    source: ImageSource, website: Website, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images_source, "MAX_IMAGE_BYTES", 1 << 20)
    website.says("/big.png", b"x" * ((1 << 20) + 1))
    website.says("/just.png", b"x" * (1 << 20))

    with pytest.raises(ImageError, match="larger than 1 MB"):
        source.fetch(TASK, "/big.png")
    assert len(source.fetch(TASK, "/just.png")) == 1 << 20


def test_a_local_file_is_read_from_disk_where_the_directory_is_mounted(
    website: Website, tmp_path: Path
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a b.png").write_bytes(PNG)
    source = ImageSource(LabelStudio(website.url, TOKEN), tmp_path)

    found = source.fetch(TASK, "/data/local-files/?d=sub/a%20b.png")

    assert found == PNG
    assert website.asked == []


@pytest.mark.parametrize("named", ["../secret", "sub/../../secret", "%2e%2e/secret", "gone.png"])
def test_a_local_file_outside_the_directory_is_never_read_but_asked_of_label_studio(
    website: Website, tmp_path: Path, named: str
) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "images").mkdir()
    source = ImageSource(LabelStudio(website.url, TOKEN), tmp_path / "images")

    with pytest.raises(ImageError, match="refused"):
        source.fetch(TASK, f"/data/local-files/?d={named}")

    assert len(website.asked) == 1


def test_an_absolute_path_and_a_link_do_not_lead_out_of_the_directory(
    website: Website, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "link").symlink_to(tmp_path / "secret")
    source = ImageSource(LabelStudio(website.url, TOKEN), tmp_path / "images")

    for named in (tmp_path / "secret", "link"):
        with pytest.raises(ImageError, match="refused"):
            source.fetch(TASK, f"/data/local-files/?d={named}")


@pytest.mark.parametrize("named", ["a%00b", "a" * 300])
def test_a_file_name_that_no_disk_can_hold_is_an_image_error(
    website: Website, tmp_path: Path, named: str
) -> None:
    source = ImageSource(LabelStudio(website.url, TOKEN), tmp_path)

    with pytest.raises(ImageError):
        source.fetch(TASK, f"/data/local-files/?d={named}")


def test_without_the_mounted_directory_local_files_come_from_label_studio(
    source: ImageSource, website: Website
) -> None:
    website.says("/data/local-files/", PNG)

    assert source.fetch(TASK, "/data/local-files/?d=a.png") == PNG


def test_several_images_come_in_order_and_a_broken_one_does_not_stop_the_rest(
    source: ImageSource, website: Website
) -> None:
    def slowly(request: Request) -> Answer:
        import time

        time.sleep(0.05 if request.path == "/1.png" else 0.0)
        return 200, {}, request.path.encode()

    for number in (1, 3):
        website.answers[f"/{number}.png"] = slowly
    wanted = [(TaskId(number), f"/{number}.png") for number in (1, 2, 3)]

    found = list(source.fetch_all(wanted))

    assert [task for task, _ in found] == [1, 2, 3]
    assert found[0][1] == b"/1.png"
    assert isinstance(found[1][1], ImageError)
    assert found[2][1] == b"/3.png"


def test_label_studio_being_down_is_not_the_images_fault() -> None:
    source = ImageSource(LabelStudio("http://127.0.0.1:1", TOKEN))

    with pytest.raises(LabelStudioUnreachableError):
        list(source.fetch_all([(TASK, "/data/upload/1/a.png")]))
