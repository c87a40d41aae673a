"""Libraries beside a model are used where all is as it was made, and refused elsewhere."""

from __future__ import annotations

import json
import logging
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from pinnace.engine.ahead import processors, reading, table, trust
from pinnace.engine.codegen import compiler, descents
from pinnace.framework import config
from unit.engine.ahead.conftest import STRANGE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TEXT = compiler.full_text(descents.TEXTS["descent"])


@pytest.fixture(autouse=True)
def _own(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is loaded and vouched for here is this test's alone."""
    shutil.rmtree(small.parent / "copied", ignore_errors=True)
    shutil.copytree(small.parent / "cache", small.parent / "copied")
    monkeypatch.setattr(config.settings, "caches", {"PINNACE_CACHE": str(small.parent / "copied")})
    monkeypatch.setattr(reading, "_has_looked", True)  # nor is the installation's library
    for name, empty in (("_libraries", []), ("_refused", {}), ("_made", {})):
        monkeypatch.setattr(reading, name, empty)


@pytest.fixture
def model(small: Path, tmp_path: Path) -> Path:
    """A copy, that may be spoilt."""
    shutil.copytree(small, tmp_path / "model")
    return tmp_path / "model"


def test_a_kernel_is_found_by_its_text(model: Path) -> None:
    assert reading.find(TEXT) is None
    assert reading.load(model)
    function = reading.find(TEXT)
    assert function is not None
    assert function is reading.find(TEXT)
    assert reading.find(TEXT + "\n") is None
    assert not reading.load(model)  # once is enough
    (note,) = reading.notes()
    assert "for native" in note


def test_a_model_without_is_silent(tmp_path: Path) -> None:
    assert not reading.load(tmp_path)
    assert reading.notes() == []


def test_what_cannot_stand_alone_says_why(model: Path) -> None:
    libraries = table.read((model / table.FOLDER / table.FILE).read_bytes())
    digest = table.digest_of_text(compiler.full_text(STRANGE))
    assert "of Numba" in libraries[0].refused[digest]


def test_of_several_the_one_that_asks_for_most_is_taken(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processors, "flags", frozenset)
    assert reading.load(model)
    assert reading._libraries[0].entries.processor == "x86-64"


def told(model: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the table, and vouch for what it is then."""
    file = model / table.FOLDER / table.FILE
    content = json.loads(file.read_bytes())
    change(content)
    file.write_text(json.dumps(content))
    trust.vouch(trust.digest_of(file.read_bytes()))


def unvouched(model: Path) -> None:
    file = model / table.FOLDER / table.FILE
    file.write_bytes(file.read_bytes() + b"\n")


def changed(model: Path) -> None:
    file = model / table.FOLDER / "native.so"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)


def no_library(model: Path) -> None:
    (model / table.FOLDER / "native.so").write_bytes(b"no library")
    digest = trust.digest_of(b"no library")
    told(model, lambda content: content["libraries"][0].update(sha256=digest))


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (unvouched, "nobody vouches for them"),
        (changed, "native.so does not match the table"),
        (no_library, "they cannot be loaded"),
        (lambda model: (model / table.FOLDER / "native.so").unlink(), "cannot be read"),
        (lambda model: (model / table.FOLDER / "native.so").chmod(0o666), "nobody else may"),
        (lambda model: (model / table.FOLDER / table.FILE).chmod(0o666), "nobody else may"),
        (lambda model: (model / table.FOLDER).chmod(0o777), "nobody else may"),
        (lambda model: model.chmod(0o777), "nobody else may"),
        (lambda model: told(model, lambda one: one.update(kernels="0")), "by another pinnace"),
        (lambda model: told(model, lambda one: one.pop("libraries")), "is damaged"),
        (lambda model: told(model, lambda one: one.update(libraries=[{}])), "is damaged"),
        (lambda model: told(model, lambda one: one.update(libraries=[])), "there are none"),
        (
            lambda model: told(
                model, lambda one: [lib.update(requires=["never"]) for lib in one["libraries"]]
            ),
            "native needs never; x86-64 needs never",
        ),
        (
            lambda model: told(
                model, lambda one: [lib.update(machine="vax") for lib in one["libraries"]]
            ),
            "native needs vax",
        ),
        (
            lambda model: told(
                model, lambda one: one["libraries"][0].update(file="../../../native.so")
            ),
            "is not in the table's folder",
        ),
    ],
)
def test_what_is_not_as_it_was_made_is_refused_and_told_once(
    model: Path, caplog: pytest.LogCaptureFixture, spoil: Callable[[Path], object], reason: str
) -> None:
    spoil(model)
    with caplog.at_level(logging.WARNING, "pinnace"):
        assert not reading.load(model)
        assert not reading.load(model)
    (record,) = caplog.records
    assert reason in record.getMessage()
    assert reading.notes() == [record.getMessage()]
    assert reading.find(TEXT) is None


def test_folders_of_another_user_are_refused(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.getuid() == 0:
        os.chown(model / table.FOLDER, 12345, -1)
    else:
        monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert not reading.load(model)
    (note,) = reading.notes()
    assert "must belong to the user or the superuser" in note


def test_the_environment_vouches(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = trust.digest_of((model / table.FOLDER / table.FILE).read_bytes())
    monkeypatch.setattr(config.settings, "caches", {"PINNACE_CACHE": ""})
    assert not reading.load(model)
    settings = config.settings_from({"PINNACE_KERNELS": f"{'0' * 64}, {digest}"})
    monkeypatch.setattr(config.settings, "trusted_kernels", settings.trusted_kernels)
    assert reading.load(model)


def test_notes_in_a_folder_of_others_vouch_for_nothing(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config.settings, "caches", {"PINNACE_CACHE": str(tmp_path)})
    digest = trust.digest_of((model / table.FOLDER / table.FILE).read_bytes())
    trust.vouch(digest)
    (tmp_path / "vouched").chmod(0o777)
    assert not reading.load(model)
    (tmp_path / "vouched").chmod(0o755)
    assert reading.load(model)
