"""The server without `pinnace.serving.fast`, which cannot be imported.

As a plugin of pytest, `-p unit.serving.plain_server`, it holds for the whole run.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = "pinnace.serving.fast"


@contextmanager
def without_fast_lanes() -> Iterator[None]:
    """A context in which the folder cannot be imported, not even if it was imported before."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [FOLDER, *sys.modules]:
            if name == FOLDER or name.startswith(f"{FOLDER}."):
                patch.setitem(sys.modules, name, None)
        yield


def pytest_configure() -> None:
    """Remove the folder before tests are imported."""
    sys.modules[FOLDER] = None  # type: ignore[assignment]
