"""One model for all engines, each of which runs in a separate environment."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.ray_cluster import FILES, running_cluster, write_rows
from support.scoring import save_rowwise


@pytest.fixture(scope="session")
def rowwise(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_rowwise(tmp_path_factory.mktemp("models") / "rowwise")


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    """The address of a Ray cluster."""
    with running_cluster() as address:
        yield address


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of two formats; each JSON file has one bad row."""
    folder = tmp_path_factory.mktemp("data")
    for number in range(FILES):
        write_rows(folder, number)
    return folder
