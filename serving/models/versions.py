"""Versions of a model: their folders, and their states."""

from __future__ import annotations

import enum
import os
from dataclasses import dataclass
from pathlib import Path

from pinnace.deploy.models.kinds import is_rewritten
from pinnace.framework.errors import CODE_NAMES, OK, InvalidArgumentError, NotFoundError

_MAX_VERSION = 2**63 - 1
_KERAS_FILES = (".keras", ".h5", ".hdf5")


class State(enum.IntEnum):
    """The state of a version; the numbers are those of `ModelVersionStatus.State`."""

    UNKNOWN = 0
    START = 10
    LOADING = 20
    AVAILABLE = 30
    UNLOADING = 40
    END = 50


@dataclass(frozen=True, slots=True)
class VersionStatus:
    """The status of a version.

    Attributes:
        version: its number.
        state: the state in its life cycle.
        code: the canonical code of its error; OK without one.
        message: the error's message.
    """

    version: int
    state: State
    code: int = OK
    message: str = ""

    @property
    def code_name(self) -> str:
        """The name of `code`, such as `OK` or `NOT_FOUND`."""
        return CODE_NAMES.get(self.code, "UNKNOWN")


def find_versions(base_path: str) -> dict[int, Path]:
    """Return the versions in a local folder, by number.

    Args:
        base_path: a folder of numbered folders; or a SavedModel, a model of TensorFlow.js, or an
            ONNX or .tflite file, which is its own version 1.

    Raises:
        NotFoundError: the folder does not exist.
        InvalidArgumentError: the path is invalid.
    """
    base = Path(base_path)
    if is_saved_model(base) or (base.suffix == ".onnx" and is_file(base)) or is_rewritten(base):
        return {1: base}
    try:
        names = sorted(entry.name for entry in os.scandir(base) if _is_folder(entry))
    except ValueError as error:
        raise InvalidArgumentError(f"{base_path!r} is no path: {error}") from None
    except OSError as error:
        if not is_file(base):
            raise NotFoundError(f"{base_path}: cannot be read: {error.strerror}") from None
        advice = ""
        if base.suffix in _KERAS_FILES:
            advice = f"\n  Try: pinnace edit {base} {base.with_suffix('') / '1'}"
        raise NotFoundError(
            f"{base_path}: is a file; a model that is served is a SavedModel, a folder of numbered "
            f"ones, a model of TensorFlow.js, or a .onnx or .tflite file{advice}"
        ) from None
    found: dict[int, Path] = {}
    for name in names:
        version = version_named(name)
        if version is not None:
            found.setdefault(version, base / name)
    return found


def is_saved_model(path: Path) -> bool:
    """Whether a folder is a SavedModel, in the binary or the text form."""
    return any(is_file(file) for file in _messages(path))


def is_file(path: Path) -> bool:
    """Whether a path leads to a file. `Path.is_file` raises for names that are too long."""
    return os.path.isfile(path)  # noqa: PTH113 - see above


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a cyclic link, or a link to a name that is too long
        return False


def _messages(path: Path) -> list[Path]:
    return [path / "saved_model.pb", path / "saved_model.pbtxt"]


def version_named(name: str) -> int | None:
    """The version number that is a folder's name; None if it is not a number."""
    is_number = name.isascii() and name.isdigit() and len(name) < 40
    return int(name) if is_number and int(name) <= _MAX_VERSION else None


def take_fingerprint(path: Path) -> tuple[object, ...]:
    """A fingerprint that changes with the version's files: their sizes and times."""
    prints: list[object] = []
    parts = [path] if is_file(path) else [*_messages(path), *_matching(path, "*.onnx")]
    parts += [] if is_file(path) else _matching(path, "*.tflite")
    if not is_file(path) and is_rewritten(path):
        parts += _matching(path, "*")
    for file in (*parts, *_matching(path / "variables", "*")):
        try:
            stat = file.stat()
        except OSError:
            prints.append(None)
        else:
            prints.append((file.name, stat.st_size, stat.st_mtime_ns))
    return tuple(prints)


def _matching(folder: Path, pattern: str) -> list[Path]:
    try:
        return sorted(folder.glob(pattern))
    except OSError:  # a link to a name that is too long
        return []
