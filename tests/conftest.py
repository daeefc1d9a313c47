"""Flags and profiles. Plain `pytest` needs no server and no network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support.live import LiveLabelStudio, make_label_studio

settings.register_profile("dev", max_examples=50, deadline=None)
settings.register_profile("ci", max_examples=500, deadline=None, derandomize=True)
settings.load_profile("dev")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--labelstudio",
        type=Path,
        metavar="PROGRAM",
        help="also run the tests against a real Label Studio, started with this program",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--labelstudio"):
        return
    skip = pytest.mark.skip(reason="needs --labelstudio=PROGRAM (`make test` gives it)")
    for item in items:
        if "labelstudio" in item.keywords:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def real_label_studio(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveLabelStudio]:
    """A running Label Studio for the whole session."""
    program = request.config.getoption("--labelstudio")
    studio = make_label_studio(program, tmp_path_factory.mktemp("label-studio"))
    studio.start()
    yield studio
    studio.process.stop()
