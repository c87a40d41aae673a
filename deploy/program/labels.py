"""The names of what an output tells apart: given, or a file that the model brings along."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.specs import TensorSpec
from pinnace.saved_model.layout import ASSETS_FOLDER, EXTRA_ASSETS_FOLDER
from pinnace.storage.system_errors import explained

StrPath: TypeAlias = str | os.PathLike[str]
# A file with a line for each, the lines themselves, or one of these for each output by name.
Labels: TypeAlias = StrPath | Sequence[str] | Mapping[str, StrPath | Sequence[str]]

# As TensorFlow's own programs name them, and those that make models for phones.
_NAMES = ("labels.txt", "label.txt", "labelmap.txt", "label_map.txt", "class_names.txt")
_SHOWN = 3
_LARGEST = 1 << 24  # bytes of a file that may be one


def labels_of(
    given: Labels | None, model: object, outputs: Mapping[str, TensorSpec]
) -> dict[str, tuple[str, ...]]:
    """Output -> the names of its last axis' entries.

    Args:
        given: what the user says; None looks for a file in the model's folder: `labels.txt` and the
            like, among its assets, in `assets.extra`, or beside them.
        model: what is exported.
        outputs: name -> spec.

    Raises:
        InvalidArgumentError: there are other numbers of labels and of entries.
        NotFoundError: a file is not there.
    """
    if given is None:
        found = _of_folder(model)
        fitting = [] if found is None else _fitting(found, outputs)
        # A file of a folder may be about something else.
        return {name: found for name in fitting if found is not None}
    if isinstance(given, Mapping):
        told = {}
        for name, one in given.items():
            if name not in outputs:
                raise InvalidArgumentError(
                    f"export: labels are given for the output {name!r}; there are "
                    f"{', '.join(outputs)}"
                )
            told[name] = _lines(one)
            if name not in _fitting(told[name], outputs):
                _refuse(told[name], {name: outputs[name]})
        return told
    lines = _lines(given)
    names = _fitting(lines, outputs)
    if not names:
        _refuse(lines, outputs)
    return dict.fromkeys(names, lines)


def _refuse(lines: Sequence[str], outputs: Mapping[str, TensorSpec]) -> None:
    told = ", ".join(f"{name} {spec.text}" for name, spec in outputs.items())
    shown = ", ".join(lines[:_SHOWN]) + (", …" if len(lines) > _SHOWN else "")
    raise InvalidArgumentError(
        f"export: there are {len(lines)} labels ({shown}), and no output whose "
        f"last axis has as many entries: {told}"
    )


def _fitting(lines: Sequence[str], outputs: Mapping[str, TensorSpec]) -> list[str]:
    return [
        name
        for name, spec in outputs.items()
        if spec.shape.rank and spec.shape[-1] == len(lines) and spec.dtype.name != "string"
    ]


def _lines(given: StrPath | Sequence[str]) -> tuple[str, ...]:
    if not isinstance(given, (str, os.PathLike)):
        lines = tuple(given)
        if not lines or not all(isinstance(one, str) for one in lines):
            raise InvalidArgumentError(f"export: labels must be texts, got {given!r:.200}")
        return lines
    with explained("read", given):
        content = Path(given).read_bytes()
    try:
        return _split(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(
            f"export: the labels in {os.fspath(given)!r} must be UTF-8, a line each ({error})"
        ) from None


def _split(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.rstrip().splitlines())


def _of_folder(model: object) -> tuple[str, ...] | None:
    """The labels in a model's folder; None if there is no such file."""
    if not isinstance(model, (str, os.PathLike)) or not Path(model).is_dir():
        return None
    for folder in (Path(model) / EXTRA_ASSETS_FOLDER, Path(model) / ASSETS_FOLDER, Path(model)):
        for name in _NAMES:
            place = folder / name
            if place.is_file() and place.stat().st_size <= _LARGEST:
                try:
                    return _split(place.read_bytes().decode("utf-8-sig")) or None
                except UnicodeDecodeError:
                    continue
    return None
