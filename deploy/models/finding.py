"""Finds the model that a path means, and suggests similar names if there is none."""

from __future__ import annotations

import difflib
import os
from typing import TYPE_CHECKING

from pinnace.deploy.models.kinds import (
    FOREST,
    FROZEN,
    KERAS,
    LITE,
    ONNX,
    SAVED_MODEL,
    STABLEHLO,
    SUFFIXES,
    TFJS,
    inside,
    is_saved_model,
    kind_of,
)
from pinnace.framework.errors import InvalidArgumentError, MissingFileError, NotFoundError
from pinnace.framework.visible_text import visible_line
from pinnace.saved_model import layout

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

# Formats that are converted to a SavedModel for code that only reads SavedModels.
_REWRITTEN = (KERAS, STABLEHLO, FOREST, TFJS, LITE)
_OTHERS = {
    ".ckpt": "a checkpoint",
    ".index": "a checkpoint",
    ".pt": "PyTorch",
    ".pth": "PyTorch",
    ".safetensors": "weights alone",
}
_DEPTH, _MOST_LOOKED_AT, _MOST_TOLD = 3, 2_000, 3


def find_model(path: Path, kinds: Sequence[str] = (SAVED_MODEL,)) -> tuple[Path, str]:
    """The model at a path, and its kind.

    Args:
        path: a folder with saved_model.pb, one of numbered versions, of which the newest is
            taken, or a file.
        kinds: the kinds that the caller can read. If SavedModels are among them, a Keras file,
            a StableHLO program, a ydf folder, a TensorFlow.js model or a .tflite file is converted
            to a SavedModel that exists until the process ends.

    Raises:
        NotFoundError: there is no model; the message suggests similar names.
        InvalidArgumentError: the model is of another kind.
    """
    kind = kind_of(path)
    if path.is_file() and path.name in (layout.MODEL_FILE, layout.MODEL_TEXT_FILE):
        path, kind = path.parent, SAVED_MODEL
    if not path.exists():
        what = " or ".join(kinds) if len(kinds) < 3 else "model"
        raise NotFoundError(
            f"there is no {what} at {path}: there is no such file or folder{_advice(_nearby(path))}"
        )
    path = inside(path, kind)
    if kind in _REWRITTEN and kind not in kinds and SAVED_MODEL in kinds:
        from pinnace.deploy.models import rewritten

        return rewritten.saved_model_of(path, kind), SAVED_MODEL
    if kind not in kinds:
        what = kind or _OTHERS.get(path.suffix.lower(), "unknown")
        raise InvalidArgumentError(
            f"{path} is no {' or '.join(kinds)}: its kind is {what}{_advice(_instead(path, kind))}"
        )
    if kind == SAVED_MODEL and not is_saved_model(path):
        versions = sorted(
            (one for one in _folders(path) if one.name.isdecimal() and is_saved_model(one)),
            key=lambda one: int(one.name),
        )
        if not versions:
            raise MissingFileError(
                f"there is no SavedModel at {path}: {layout.MODEL_FILE} is missing"
                f"{_advice(_models_below(path))}"
            )
        return versions[-1], SAVED_MODEL
    return path, str(kind)


def unknown_name(what: str, name: str, known: Iterable[str], where: object) -> InvalidArgumentError:
    """The error for a name that a model does not have."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, 1, 0.5) or (names if len(names) == 1 else [])
    advice = f"\n  Try: {visible_line(near[0])}" if near else ""
    listed = ", ".join(map(visible_line, names)) or "none"
    return InvalidArgumentError(f"{where}: there is no {what} {name!r}; it has: {listed}{advice}")


def _instead(path: Path, kind: str | None) -> list[str]:
    if kind == FROZEN:
        return [f"pinnace {command} {path}" for command in ("run", "show", "export")]
    return [f"pinnace scan {path}"] if kind == ONNX else []


def _folders(path: Path) -> list[Path]:
    try:
        return sorted(one for one in path.iterdir() if one.is_dir())
    except OSError:
        return []


def _models_below(path: Path) -> list[str]:
    """SavedModels and files of models inside a folder."""
    found: list[str] = []
    waiting = [(path, 0)]
    looked_at = 0
    while waiting and len(found) < _MOST_TOLD and looked_at < _MOST_LOOKED_AT:
        folder, depth = waiting.pop(0)
        looked_at += 1
        if is_saved_model(folder):
            found.append(os.fspath(folder))
        elif depth < _DEPTH:
            waiting.extend((one, depth + 1) for one in _folders(folder))
    return found


def _nearby(path: Path) -> list[str]:
    """Similar names in the deepest folder of the path that exists."""
    folder = path.parent
    missing = path.name
    while not folder.is_dir() and folder != folder.parent:
        folder, missing = folder.parent, folder.name
    try:
        names = {one.name for one in folder.iterdir() if not one.name.startswith(".")}
    except OSError:
        return []
    if missing == path.name and path.suffix.lower() in SUFFIXES:
        # The path has a file's suffix, so folders with a similar name are not suggested.
        names = {name for name in names if (folder / name).suffix.lower() in SUFFIXES}
    close = difflib.get_close_matches(missing, sorted(names), _MOST_TOLD, 0.6)
    return [os.fspath(folder / name) for name in close] or _models_below(folder)


def _advice(tries: list[str]) -> str:
    return f"\n  Try: {' or '.join(tries)}" if tries else ""
