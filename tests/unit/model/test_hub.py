import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub import constants

from model.errors import ModelError
from model.features import hub


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the model hub."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port where connections are accepted and nothing is ever said."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


class Hub(BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        known = self.path.endswith(
            "vit_small_patch14_reg4_dinov2.lvd142m/resolve/main/model.safetensors"
        )
        self.send_response(200 if known else 404)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def answering_port() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever, args=[0.01], daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()


def put_in_cache(cache: Path, model: str) -> Path:
    repository = cache / f"models--timm--{model}"
    weights = repository / "snapshots" / "0123abcd" / "model.safetensors"
    weights.parent.mkdir(parents=True)
    weights.write_bytes(b"weights")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("0123abcd")
    return weights


def at(port: int) -> str:
    return f"http://127.0.0.1:{port}"


def test_weights_in_the_cache_are_found_without_the_hub(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = put_in_cache(cache, hub.DEFAULT_MODEL)
    monkeypatch.setattr(constants, "ENDPOINT", at(1))

    assert hub.weights_are_cached(hub.DEFAULT_MODEL)
    assert hub.weights_file(hub.DEFAULT_MODEL) == weights
    assert not hub.weights_are_cached("resnet18.a1_in1k")


def test_a_model_without_its_tag_means_the_default_weights(cache: Path) -> None:
    put_in_cache(cache, "resnet18.a1_in1k")

    assert hub.weights_are_cached("resnet18")


def test_a_hub_that_has_the_weights_answers(
    answering_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", at(answering_port))

    assert hub.hub_answers(5.0)
    assert not hub.hub_answers(5.0, "resnet18")


def test_a_refused_connection_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    hub.repository_of(hub.DEFAULT_MODEL)  # the import of timm is not what is timed
    monkeypatch.setattr(constants, "ENDPOINT", at(1))
    started = time.monotonic()

    assert not hub.hub_answers(5.0)
    assert time.monotonic() - started < 5.0


def test_a_silent_hub_is_given_up_in_time(
    silent_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.repository_of(hub.DEFAULT_MODEL)
    monkeypatch.setattr(constants, "ENDPOINT", at(silent_port))
    started = time.monotonic()

    assert not hub.hub_answers(0.2)
    assert time.monotonic() - started < 2.0


def test_a_name_server_that_hangs_is_given_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    hub.repository_of(hub.DEFAULT_MODEL)
    released = threading.Event()

    def hang(*_: object) -> None:
        released.wait(10)

    monkeypatch.setattr(hub, "_ask", hang)
    started = time.monotonic()

    assert not hub.hub_answers(0.2)
    assert time.monotonic() - started < 2.0
    released.set()


def test_offline_mode_asks_nobody(answering_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", at(answering_port))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)

    assert not hub.hub_answers(5.0)


def test_without_cache_and_hub_the_error_says_what_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", at(1))

    with pytest.raises(ModelError, match=r"hf download timm/resnet18\.a1_in1k"):
        hub.weights_file("resnet18")


def test_a_failed_download_is_a_sentence(
    answering_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> str:
        raise OSError("no space left on device")

    monkeypatch.setattr(constants, "ENDPOINT", at(answering_port))
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", broken)

    with pytest.raises(ModelError, match=r"no space left on device.*hf download"):
        hub.weights_file(hub.DEFAULT_MODEL)


def test_a_model_that_is_not_on_the_hub_needs_a_file() -> None:
    with pytest.raises(ModelError, match=r"timm:gcvit_base@/path/to"):
        hub.weights_file("gcvit_base")
