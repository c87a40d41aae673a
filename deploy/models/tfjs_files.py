"""Models of TensorFlow.js where a command wants a SavedModel: written as one while it runs."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from pinnace.framework.visible_text import visible

# Removed when the process ends; a folder that is let go of earlier would be gone before its use.
_FOLDERS: dict[Path, tempfile.TemporaryDirectory[str]] = {}


def saved_model_of_tfjs(path: Path) -> Path:
    """The folder of a SavedModel with what a `model.json` and its weights hold.

    Raises:
        OpError: the files are damaged, or are no model of TensorFlow.js.
    """
    place = path.parent if path.parent.name else path.resolve().parent
    name = place.name or "model"
    if path not in _FOLDERS:
        from pinnace.deploy.tfjs.reading import LAYERS, kind_of, read_content, write_saved_model

        _, content = read_content(path)
        kept = tempfile.TemporaryDirectory(prefix="pinnace-")
        if kind_of(content) == LAYERS:
            from pinnace.deploy.tfjs.layers.reading import load_layers

            load_layers(path).export(Path(kept.name) / name, verbose=False)
        else:
            write_saved_model(path, Path(kept.name) / name)
        _FOLDERS[path] = kept
        sys.stderr.write(visible(f"{path}: a model of TensorFlow.js, read as a SavedModel\n"))
    return Path(_FOLDERS[path].name) / name
