from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.live import (
    LiveBackend,
    LiveLabelStudio,
    LiveProject,
    make_backend,
    make_project,
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.labelstudio)


@pytest.fixture(scope="session")
def shared_backend(
    real_label_studio: LiveLabelStudio, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveBackend]:
    """One backend for all tests that leave it running: several projects at the same time."""
    running = make_backend(real_label_studio, tmp_path_factory.mktemp("shared"))
    running.start()
    yield running
    running.process.stop()


@pytest.fixture
def project(real_label_studio: LiveLabelStudio, shared_backend: LiveBackend) -> LiveProject:
    """A new project with 60 images, not connected yet."""
    return make_project(real_label_studio, shared_backend)


@pytest.fixture
def own_backend(
    real_label_studio: LiveLabelStudio, tmp_path: Path
) -> Iterator[Callable[..., LiveBackend]]:
    """Makes backends of the test's own, which it may kill; stops those that are left."""
    made: list[LiveBackend] = []

    def make(**environment: str) -> LiveBackend:
        made.append(make_backend(real_label_studio, tmp_path / f"own{len(made)}", environment))
        return made[-1]

    yield make
    for backend in made:
        backend.process.stop()


@pytest.fixture(scope="session")
def personal_token(real_label_studio: LiveLabelStudio) -> str:
    """The admin's personal access token; Label Studio gives out one only."""
    return real_label_studio.personal_access_token()
