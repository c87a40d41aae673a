"""Names of an output's classes, from the user or from a file in the model's folder."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.specs import TensorSpec
from pinnace.saved_model.layout import ASSETS_FOLDER, EXTRA_ASSETS_FOLDER
from pinnace.storage.system_errors import explained

StrPath: TypeAlias = str | os.PathLike[str]
# A file with one label per line, the labels themselves, or either for each output by name.
Labels: TypeAlias = StrPath | Sequence[str] | Mapping[str, StrPath | Sequence[str]]

# The file names that TensorFlow's own programs and tools for mobile models use.
_NAMES = ("labels.txt", "label.txt", "labelmap.txt", "label_map.txt", "class_names.txt")
_SHOWN = 3
_LARGEST = 1 << 24  # bytes of a label file


def labels_of(
    given: Labels | None, model: object, outputs: Mapping[str, TensorSpec]
) -> dict[str, tuple[str, ...]]:
    """Output -> the names of the entries of its last axis.

    Args:
        given: the user's labels; None looks for a file in the model's folder: `labels.txt` or
            similar, among its assets, in `assets.extra`, or beside them.
        model: the exported model.
        outputs: name -> spec.

    Raises:
        InvalidArgumentError: the number of labels differs from that of the entries.
        NotFoundError: a file does not exist.
    """
    if given is None:
        found = _of_folder(model)
        fitting = [] if found is None else _fitting(found, outputs)
        # A file found in the folder may describe something else, so a mismatch is no error.
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
        f"export: there are {len(lines)} labels ({shown}), but no output whose "
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
            raise InvalidArgumentError(f"export: labels must be strings, got {given!r:.200}")
        return lines
    with explained("read", given):
        content = Path(given).read_bytes()
    try:
        return _split(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(
            f"export: the labels in {os.fspath(given)!r} must be UTF-8, one per line ({error})"
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
