"""One model for all engines. Each runs in an environment of its own."""

from pathlib import Path

import pytest

from support.scoring import save_rowwise


@pytest.fixture(scope="session")
def rowwise(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_rowwise(tmp_path_factory.mktemp("models") / "rowwise")
