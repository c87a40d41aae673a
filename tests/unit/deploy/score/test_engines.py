"""Engines: messages of the command line if one is not installed."""

import sys
from pathlib import Path

import pytest

from support.command_line import pinnace
from support.scoring import rows_of, write_parquet


def test_ray_that_is_not_installed_is_one_error(
    rowwise: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "pinnace.integrations.ray", raising=False)
    data = write_parquet(tmp_path / "a.parquet", {"x": rows_of(3)})
    answer = pinnace("score", rowwise, "--input", data, "--output", tmp_path / "out", *RAY)
    assert answer.code == 1
    assert answer.err.startswith("pinnace score: --engine ray needs Ray: ")
    assert "ray]'" in answer.err.partition("\n  Try: ")[2]
    assert not (tmp_path / "out").exists()


RAY = ("--engine", "ray")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--engine", "spark"), "--engine must be local or ray, got 'spark'"),
        (("--ray-address", "auto"), "--ray-address is for --engine ray"),
        ((*RAY, "--workers", "0"), "--workers must be at least 1, got 0"),
    ],
)
def test_what_does_not_go_together_is_refused(
    flags: tuple[str, ...], said: str, rowwise: Path, tmp_path: Path
) -> None:
    data = write_parquet(tmp_path / "a.parquet", {"x": rows_of(3)})
    answer = pinnace("score", rowwise, "--input", data, "--output", tmp_path / "out", *flags)
    assert answer.code == 1
    assert said in answer.err
