"""One model for all tests of this folder."""

from pathlib import Path

import pytest

from support.scoring import save_rank, save_rowwise

pytest.importorskip("pyarrow")


@pytest.fixture(scope="session")
def rowwise(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_rowwise(tmp_path_factory.mktemp("models") / "rowwise")


@pytest.fixture(scope="session")
def any_length(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_rank(tmp_path_factory.mktemp("models") / "any_length")
