"""Keras files where a command wants a SavedModel: written as one for as long as it runs."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from pinnace.framework.errors import InvalidArgumentError, OpError
from pinnace.framework.visible_text import visible

# Removed when the process ends; a folder that is let go of earlier would be gone before its use.
_FOLDERS: dict[Path, tempfile.TemporaryDirectory[str]] = {}


def saved_model_of(path: Path) -> Path:
    """The folder of a SavedModel with what a .keras or .h5 file holds.

    Code in the file is not run, whatever the file asks for. The line about it goes to stderr, so
    that what a command prints stays readable by programs.

    Raises:
        InvalidArgumentError: the file cannot be read, or needs code that is not in it.
    """
    if path not in _FOLDERS:
        from pinnace.keras.saving import load_model

        try:
            model = load_model(path, compile=False)
        except (OpError, ValueError, TypeError, NotImplementedError) as error:
            raise InvalidArgumentError(f"{path}: {error}\n  Try: pinnace scan {path}") from error
        kept = tempfile.TemporaryDirectory(prefix="pinnace-")
        model.export(Path(kept.name) / path.stem, verbose=False)
        _FOLDERS[path] = kept
        sys.stderr.write(visible(f"{path}: read as the SavedModel that its export() writes\n"))
    return Path(_FOLDERS[path].name) / path.stem
