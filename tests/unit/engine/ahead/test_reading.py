"""An intact library is used; otherwise plans compute the results, and one line says why."""

from __future__ import annotations

import json
import logging
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pinnace.engine.ahead import calling, processors, reading, sources, table
from pinnace.engine.codegen import general

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAMES = ["descent"]


@pytest.fixture
def installed(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy, which may be damaged, as the library of this process, which has not searched yet."""
    folder = tmp_path / "library"
    shutil.copytree(small, folder)
    monkeypatch.setattr(general, "names", lambda: NAMES)
    monkeypatch.setattr(reading, "INSTALLED", folder)
    monkeypatch.setattr(reading, "_looked", None)
    return folder


def test_a_kernel_is_found_by_its_name(installed: Path) -> None:
    assert reading.notes() == []  # machine code has not been requested yet
    function = reading.functions()["descent"]
    numbers = np.ones(8, np.float32)
    function(0, 8, numbers, np.full(8, 0.5, np.float32), 0.5)
    assert numbers.tolist() == [0.75] * 8
    (note,) = reading.notes()
    assert "1 kernels for native" in note
    assert str(installed) in note
    library, reason = reading.installed()
    assert library is not None
    assert (library.processor, reason) == ("native", "")


def test_what_would_be_used_is_told_before_anybody_asks(installed: Path) -> None:
    library, reason = reading.installed()
    assert library is not None
    assert (library.processor, reason) == ("native", "")
    shutil.rmtree(installed)
    library, reason = reading.installed()
    assert library is None
    assert "there is no library" in reason
    assert reading.notes() == []


@pytest.mark.usefixtures("installed")
def test_all_kernels_are_there_or_none(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A library with other kernels than this version's is not used."""
    monkeypatch.setattr(general, "names", lambda: [*NAMES, "adam"])
    with caplog.at_level(logging.WARNING, "pinnace"):
        assert reading.functions() == {}
    (record,) = caplog.records
    assert "has other kernels than this version" in record.getMessage()
    assert "other kernels" in reading.installed()[1]


def test_what_cannot_stand_alone_says_why(installed: Path) -> None:
    libraries = table.read((installed / table.FILE).read_bytes(), sources.version())
    assert "of Numba" in libraries[0].refused["strange"]


def test_of_several_the_one_that_asks_for_most_is_taken(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    libraries = table.read((installed / table.FILE).read_bytes(), sources.version())
    assert [one.processor for one in libraries] == ["native", "x86-64"]
    assert reading.fitting(libraries[::-1]).processor == "native"
    monkeypatch.setattr(processors, "flags", frozenset)
    assert set(reading.functions()) == set(NAMES)
    library, _ = reading.installed()
    assert library is not None
    assert library.processor == "x86-64"


def told(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    content = json.loads((folder / table.FILE).read_bytes())
    change(content)
    (folder / table.FILE).write_text(json.dumps(content))


def changed(folder: Path) -> None:
    content = bytearray((folder / "native.so").read_bytes())
    content[len(content) // 2] ^= 1
    (folder / "native.so").write_bytes(content)


def no_library(folder: Path) -> None:
    (folder / "native.so").write_bytes(b"no library")
    digest = table.digest_of(b"no library")
    told(folder, lambda content: content["libraries"][0].update(sha256=digest))


def no_symbol(content: dict[str, Any]) -> None:
    kernels = content["libraries"][0]["kernels"]
    kernels.update(dict.fromkeys(kernels, "pinnace_of_no_kernel"))


SPOILT: list[tuple[Callable[[Path], object], str]] = [
    (shutil.rmtree, "there is no library; python -m pinnace.engine.ahead.installing makes one"),
    (changed, "native.so is damaged; python -m pinnace.engine.ahead.installing makes it again"),
    (no_library, "native.so"),
    (lambda folder: (folder / "native.so").unlink(), "No such file"),
    (lambda folder: (folder / table.FILE).write_bytes(b"{"), "kernels.json is damaged"),
    (
        lambda folder: told(folder, lambda one: one.update(kernels="0")),
        "by another version of pinnace",
    ),
    (
        lambda folder: told(folder, lambda one: one.update(format=1)),
        "by another version of pinnace",
    ),
    (lambda folder: told(folder, lambda one: one.pop("libraries")), "kernels.json is damaged"),
    (lambda folder: told(folder, lambda one: one.update(libraries=[{}])), "is damaged"),
    (lambda folder: told(folder, lambda one: one.update(libraries=[])), "there are none"),
    (lambda folder: told(folder, no_symbol), "has other kernels than this version"),
    (
        lambda folder: told(
            folder, lambda one: [lib.update(requires=["never"]) for lib in one["libraries"]]
        ),
        "none is for this processor: native needs never; x86-64 needs never",
    ),
    (
        lambda folder: told(
            folder, lambda one: [lib.update(machine="vax") for lib in one["libraries"]]
        ),
        "native needs vax",
    ),
]


@pytest.mark.parametrize(("spoil", "reason"), SPOILT)
def test_what_is_not_as_it_was_made_is_refused_and_told(
    installed: Path, caplog: pytest.LogCaptureFixture, spoil: Callable[[Path], object], reason: str
) -> None:
    spoil(installed)
    with caplog.at_level(logging.WARNING, "pinnace"):
        assert reading.functions() == {}
    (record,) = caplog.records
    line = record.getMessage()
    assert reason in line
    assert "\n" not in line
    assert reading.notes() == [line]
    library, why = reading.installed()
    assert library is None
    assert reason in why


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("what", ["system", "layout"])
def test_another_system_and_another_layout_of_arrays_are_refused(
    what: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    if what == "system":
        monkeypatch.setattr(reading.sys, "platform", "darwin")
    else:
        monkeypatch.setattr(calling, "can_call", lambda: False)
    with caplog.at_level(logging.WARNING, "pinnace"):
        assert reading.functions() == {}
    (record,) = caplog.records
    wanted = "this is darwin" if what == "system" else "another layout of arrays"
    assert wanted in record.getMessage()


@pytest.fixture
def alone(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same for a wheel, which has the library but not the kernels' sources."""
    monkeypatch.setattr(reading, "has_sources", lambda: False)
    monkeypatch.setattr(sources, "version", lambda: pytest.fail("there are no sources"))
    return installed


@pytest.mark.usefixtures("alone")
def test_a_library_is_used_where_no_sources_are() -> None:
    assert set(reading.functions()) == set(NAMES)


ALONE: list[tuple[Callable[[Path], object], str]] = [
    (shutil.rmtree, f"there is no library; {reading.COMPILE} makes one"),
    (changed, "native.so is damaged; pip install --force-reinstall --no-deps pinnace restores it"),
    (
        lambda folder: told(folder, lambda one: one.update(pinnace="0")),
        "by another version of pinnace (0);",
    ),
    (
        lambda folder: told(folder, lambda one: one.update(format=1)),
        "by another version of pinnace",
    ),
    (lambda folder: told(folder, no_symbol), "pinnace_of_no_kernel"),
    (
        lambda folder: told(
            folder, lambda one: [lib.update(requires=["never"]) for lib in one["libraries"]]
        ),
        f"x86-64 needs never; {reading.COMPILE} makes one",
    ),
]


@pytest.mark.parametrize(("spoil", "reason"), ALONE)
def test_without_sources_it_is_said_what_brings_a_library(
    alone: Path, caplog: pytest.LogCaptureFixture, spoil: Callable[[Path], object], reason: str
) -> None:
    spoil(alone)
    with caplog.at_level(logging.WARNING, "pinnace"):
        assert reading.functions() == {}
    (record,) = caplog.records
    assert reason in record.getMessage()
