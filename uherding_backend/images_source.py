"""Task data -> image bytes, from wherever Label Studio lets images be: never a token elsewhere."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import parse_qs, unquote_to_bytes, urlsplit

import requests

from uherding_backend.errors import ImageError, LabelStudioError, LabelStudioUnreachableError
from uherding_backend.labels import TaskId

MAX_IMAGE_BYTES = 64 * 1024 * 1024
PARALLEL_FETCHES = 8
FETCH_TIMEOUT = (5.0, 30.0)
CLOUD_SCHEMES = ("s3", "gs", "azure-blob", "azure_blob", "azure-spi")


class LabelStudioFiles(Protocol):
    """What is needed of the Label Studio client."""

    def get(self, path: str) -> requests.Response:
        """An authenticated GET on Label Studio."""
        ...

    def owns(self, url: str) -> bool:
        """Whether an address is Label Studio's own."""
        ...


@dataclass(frozen=True, slots=True)
class ImageSource:
    """Where a project's images come from.

    Attributes:
        local_files_root: Label Studio's local-files directory where it is also mounted here: much
            faster than asking Label Studio for each file.
    """

    label_studio: LabelStudioFiles
    local_files_root: Path | None = None

    def fetch(self, task: TaskId, image: str) -> bytes:
        """The bytes of a task's image, or an ImageError that says why there are none."""
        try:
            return self._fetch(task, image)
        except (ValueError, OSError) as error:  # malformed addresses, unreadable files
            raise ImageError(f"Cannot fetch {image[:80]!r}: {error}.") from error

    def _fetch(self, task: TaskId, image: str) -> bytes:
        scheme = urlsplit(image).scheme
        if not image:
            raise ImageError("The task's data has no image address under the label config's key.")
        if scheme == "data":
            return _decode_data_uri(image)
        if scheme in CLOUD_SCHEMES:
            encoded = base64.b64encode(image.encode()).decode()
            return self._from_label_studio(f"/tasks/{task}/presign/?fileuri={encoded}")
        if self.label_studio.owns(image):
            on_disk = self._on_disk(image)
            return on_disk.read_bytes() if on_disk else self._from_label_studio(image)
        if scheme in ("http", "https"):
            return _from_elsewhere(image)
        raise ImageError(f"Cannot fetch {image[:80]!r}: addresses of this kind are not supported.")

    def fetch_all(
        self, wanted: Sequence[tuple[TaskId, str]]
    ) -> Iterator[tuple[TaskId, bytes | ImageError]]:
        """Fetch several images at a time, in order; a failed one yields its error.

        Raises:
            LabelStudioUnreachableError: Label Studio itself is down: not the images' fault.
        """

        def one(request: tuple[TaskId, str]) -> tuple[TaskId, bytes | ImageError]:
            try:
                return request[0], self.fetch(*request)
            except ImageError as error:
                return request[0], error

        with ThreadPoolExecutor(PARALLEL_FETCHES) as pool:
            yield from pool.map(one, wanted)

    def _on_disk(self, image: str) -> Path | None:
        parts = urlsplit(image)
        named = parse_qs(parts.query).get("d")
        if self.local_files_root is None or parts.path != "/data/local-files/" or not named:
            return None
        root = self.local_files_root.resolve()
        path = (root / named[0]).resolve()
        return path if path.is_relative_to(root) and path.is_file() else None

    def _from_label_studio(self, path: str) -> bytes:
        try:
            return _read(self.label_studio.get(path))
        except LabelStudioError as error:
            if isinstance(error, LabelStudioUnreachableError) or error.status == 401:
                raise  # not the image's fault: no image can be had
            raise ImageError(str(error)) from error


def _from_elsewhere(url: str) -> bytes:
    try:
        with requests.get(url, timeout=FETCH_TIMEOUT, stream=True) as response:
            response.raise_for_status()
            return _read(response)
    except requests.RequestException as error:
        status = getattr(error.response, "status_code", None)
        problem = f"answered {status}" if status else type(error).__name__
        address = url.partition("?")[0][:80]  # what follows may be a signature
        raise ImageError(f"Cannot fetch {address}: {problem}.") from error


def _read(response: requests.Response) -> bytes:
    with response:
        chunks, size = [], 0
        for chunk in response.iter_content(1 << 16):
            chunks.append(chunk)
            size += len(chunk)
            if size > MAX_IMAGE_BYTES:
                raise ImageError(f"The image is larger than {MAX_IMAGE_BYTES >> 20} MB.")
    return b"".join(chunks)


def _decode_data_uri(uri: str) -> bytes:
    head, comma, body = uri.partition(",")
    if not comma:
        raise ImageError("The data URI has no comma, so no data.")
    try:
        raw = unquote_to_bytes(body)
        return base64.b64decode(raw, validate=True) if head.endswith(";base64") else raw
    except binascii.Error as error:
        raise ImageError(f"The data URI is not valid base64: {error}.") from error
