"""The version is the installed distribution's."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING

import pytest

from pinnace.framework import versions

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("beside", "found"),
    [
        (["pinnace-1.2.3.dist-info", "pinnace_more-9.dist-info"], "1.2.3"),
        (["pinnace-1.2.3rc1+own.dist-info"], "1.2.3rc1+own"),
        ([], metadata.version("pinnace")),
        (["pinnace-1.2.3.dist-info", "pinnace-1.2.4.dist-info"], metadata.version("pinnace")),
    ],
)
def test_it_stands_beside_the_package(
    beside: list[str], found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in beside:
        (tmp_path / name).mkdir()
    monkeypatch.setattr(versions, "__file__", str(tmp_path / "pinnace/framework/versions.py"))
    assert versions._installed() == found
