"""The lines of `pinnace show` about the metadata of a .tflite file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.deploy.cli.terminal import size_text
from pinnace.saved_model.layout import EXTRA_ASSETS_FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pinnace.deploy.cli.terminal import Terminal
    from pinnace.deploy.lite.metadata.keeping import Kept

_FILE = "tflite_metadata.json"
_SIDES = (("in", "input_tensor_metadata"), ("out", "output_tensor_metadata"))
_SHOWN = 5  # entries of a list that are printed
_FILES = {
    "UNKNOWN": "more",
    "TENSOR_AXIS_LABELS": "labels",
    "TENSOR_VALUE_LABELS": "labels of values",
    "VOCABULARY": "vocabulary",
}


def metadata_in(folder: Path) -> Kept | None:
    """The metadata of the .tflite file from which a SavedModel was made; None if there is none."""
    if not (folder / EXTRA_ASSETS_FOLDER / _FILE).is_file():
        return None
    from pinnace.deploy.lite.metadata.keeping import kept_in

    return kept_in(folder)


def metadata_json(kept: Kept) -> dict[str, Any]:
    """The metadata as a dict for `--json`."""
    return {
        "document": kept.document,
        "files": {name: len(content) for name, content in kept.files.items()},
    }


def print_metadata(terminal: Terminal, kept: Kept | None) -> None:
    """Print the descriptions of inputs and outputs, if there are any."""
    if kept is None:
        return
    document = kept.document
    told = [str(document[name]) for name in ("version", "author") if document.get(name)]
    terminal.heading("metadata", ", ".join([str(document.get("name") or ""), *told]).strip(", "))
    for name in ("description", "license"):
        if document.get(name):
            terminal.line(f"  {name}: {document[name]}")
    rows = []
    for subgraph in document.get("subgraph_metadata") or ():
        for way, side in _SIDES:
            for tensor in subgraph.get(side) or ():
                meaning = "; ".join(_meanings(tensor))
                rows.append((way, str(tensor.get("name") or ""), meaning))
    terminal.table(("", "tensor", "meaning"), rows)
    if kept.files:
        terminal.line("associated files")
    for name, content in kept.files.items():
        terminal.line(f"  {name}: {size_text(len(content))}{_first_lines(content)}")
    terminal.line()


def _meanings(tensor: Mapping[str, Any]) -> Iterator[str]:
    if tensor.get("description"):
        yield str(tensor["description"])
    content = tensor.get("content") or {}
    kind = str(content.get("content_properties_type") or "")
    if kind == "ImageProperties":
        inner = content.get("content_properties") or {}
        yield f"a picture, {inner.get('color_space', 'UNKNOWN')}"
    elif kind and kind != "FeatureProperties":
        yield kind.removesuffix("Properties").lower()
    for unit in tensor.get("process_units") or ():
        options = unit.get("options") or {}
        if unit.get("options_type") == "NormalizationOptions":
            mean, std = (_numbers(options.get(name)) for name in ("mean", "std"))
            yield (
                "pixels from 0 to 255" if (mean, std) == ("0", "1") else f"(pixel - {mean}) / {std}"
            )
        else:
            yield str(unit.get("options_type"))
    for file in tensor.get("associated_files") or ():
        kind = str(file.get("type", "UNKNOWN"))
        yield f"{_FILES.get(kind, kind.lower())} in {file.get('name')}"


def _numbers(values: Any) -> str:
    found = [f"{value:g}" for value in values or ()]
    shown = ", ".join(found[:_SHOWN]) + (", …" if len(found) > _SHOWN else "")
    return shown if len(found) == 1 else f"[{shown}]"


def _first_lines(content: bytes) -> str:
    """The first lines of a text file."""
    if b"\0" in content:
        return ""
    lines = content[:200].decode("utf-8", "ignore").splitlines()
    return f": {', '.join(lines[:_SHOWN])}{', …' if len(lines) > _SHOWN else ''}" if lines else ""
