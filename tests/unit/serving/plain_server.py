"""The server without its fast lanes: `pinnace.serving.fast` cannot be imported.

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
    """Nothing of the folder can be imported in this context, what was imported before included."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [FOLDER, *sys.modules]:
            if name == FOLDER or name.startswith(f"{FOLDER}."):
                patch.setitem(sys.modules, name, None)
        yield


def pytest_configure() -> None:
    """Take the folder away before tests are imported."""
    sys.modules[FOLDER] = None  # type: ignore[assignment]
