"""Base paths and versions that cannot be read: one clear error each, and no other effect."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pinnace.framework.errors import InvalidArgumentError, OpError, UnavailableError, UnknownError
from pinnace.serving.config.model_config import All, ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.models.repository import Repository
from pinnace.serving.models.tables import Which
from pinnace.serving.models.version_files import base_of, links_within, list_files
from unit.serving.numpy_models import read_version, write_version

_TOO_LONG = "n" * 300


def _circle(path: Path) -> str:
    path.symlink_to("other")
    path.with_name("other").symlink_to(path.name)
    return str(path)


# Base paths that a client may name -> their errors.
PATHS: dict[str, tuple[Callable[[Path], str], str]] = {
    "a null": (lambda at: str(at / "a\0b"), "is no path"),
    "a null in an ONNX file": (lambda at: str(at / "a\0b.onnx"), "is no path"),
    "a null in a folder": (lambda at: f"{at}/\0/m", "is no path"),
    "no UTF-8": (lambda at: str(at / "\ud800"), "is no path"),
    "a name too long": (lambda at: str(at / _TOO_LONG), "cannot be read: File name too long"),
    "an ONNX file's too long": (lambda at: f"{at}/{_TOO_LONG}.onnx", "cannot be read: File name"),
    "too many folders": (lambda at: f"{at}/" + "a/" * 3000, "cannot be read: File name too long"),
    "a circle": (lambda at: _circle(at / "c"), "cannot be read: Too many levels"),
    "an ONNX file's circle": (lambda at: _circle(at / "c.onnx"), "cannot be read: Too many levels"),
}


@pytest.mark.parametrize("kind", PATHS)
def test_a_base_path_that_is_none_is_one_error_and_the_others_answer(
    kind: str, tmp_path: Path
) -> None:
    write_version(tmp_path / "m", 1, 2)
    make, told = PATHS[kind]
    good, bad = ModelConfig("m", str(tmp_path / "m")), ModelConfig("bad", make(tmp_path))
    models = Repository(Settings(models=(good,), file_system_poll_s=0.0), read_version)
    models.start()
    try:
        with pytest.raises(UnknownError, match=told):
            models.replace_models([good, bad])
        assert models.names() == ["m"]
        models.get(Which("m")).run_now("serving_default", {"x": np.float32([0])})
    finally:
        models.close()
    with pytest.raises(OpError, match=told):
        Repository(Settings(models=(bad,)), read_version).start()


@pytest.mark.parametrize("target", ["itself", _TOO_LONG])
@pytest.mark.parametrize("part", ["", "saved_model.pb", "variables", "m.onnx"])
def test_a_version_of_links_to_nothing_leaves_the_others_alone(
    part: str, target: str, tmp_path: Path
) -> None:
    write_version(tmp_path / "m", 1, 2)
    config = ModelConfig("m", str(tmp_path / "m"), All())
    models = Repository(Settings(models=(config,), file_system_poll_s=0.0), read_version)
    models.start()
    link = tmp_path / "m" / "2" / part if part else tmp_path / "m" / "2"
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(link.name if target == "itself" else target)
    write_version(tmp_path / "m", 3, 4)
    try:
        models.refresh()
        assert models.get(Which("m")).version == 3
        assert models.get(Which("m", version=1)).version == 1
    finally:
        models.close()


@pytest.mark.parametrize("path", [Path("a\0b"), Path("\0/m.onnx")])
def test_files_of_what_is_no_path_are_not_listed(path: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="is no path"):
        list_files(tmp_path / path)
    with pytest.raises(InvalidArgumentError, match="is no path"), links_within(tmp_path / path):
        base_of(tmp_path)


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ELOOP, errno.ENOENT, errno.EIO])
@pytest.mark.parametrize("name", ["m.onnx", "folder"])
def test_a_link_that_is_exchanged_while_it_is_followed_is_a_version_that_changes(
    name: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error of `readlink` for a path that is no longer a link."""
    path = tmp_path / name
    if name == "folder":
        path.mkdir()
    else:
        path.write_bytes(b"")
    real = os.path.realpath

    def failing(one: Path) -> str:
        if Path(one) in (path, path.parent):
            raise OSError(number, os.strerror(number), str(one))
        return real(one)

    monkeypatch.setattr(os.path, "realpath", failing)
    said = (
        "cannot be looked at: Input/output" if number == errno.EIO else "changes while it is read"
    )
    with pytest.raises(UnavailableError, match=f"{tmp_path}.*{said}"):
        list_files(path)
