"""The server of most tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from unit.serving.memory_server import Server, running
from unit.serving.numpy_models import every_kind, write_version

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server with a model `m`, version 7, and a signature for each purpose."""
    write_version(tmp_path / "m", 7)
    settings = Settings(
        models=(ModelConfig("m", str(tmp_path / "m")),),
        file_system_poll_s=0,
        max_body_bytes=10**6,
        model_control=True,
    )
    with running(settings, lambda _: every_kind()) as server:
        yield server
