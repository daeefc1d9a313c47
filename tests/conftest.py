"""Flags and profiles. Plain `pytest` needs no server and no network."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

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
