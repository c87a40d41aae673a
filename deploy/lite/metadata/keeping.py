"""Storage of a file's metadata in `assets.extra` of the SavedModel that is made from it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pinnace.deploy.lite.metadata.document import encoded, files_of
from pinnace.framework.errors import DataLossError, InvalidArgumentError
from pinnace.saved_model.layout import EXTRA_ASSETS_FOLDER
from pinnace.storage.atomic import write_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.deploy.lite.metadata.document import Document
    from pinnace.deploy.lite.metadata.packing import Metadata
    from pinnace.deploy.program.sources import Program

FILE = "tflite_metadata.json"
_SIDES = ("input_tensor_metadata", "output_tensor_metadata")


@dataclass(frozen=True, slots=True)
class Kept:
    """The metadata of the file that a SavedModel was made from.

    Attributes:
        document: the metadata.
        files: associated files by name.
        names: inputs and outputs of the first signature, in the document's order.
    """

    document: Document
    files: Mapping[str, bytes]
    names: tuple[tuple[str, ...], tuple[str, ...]]

    def of(self, program: Program) -> tuple[Document, dict[str, bytes]]:
        """The document with tensors in the order of a program, and its files."""
        document: Document = json.loads(json.dumps(self.document))
        subgraphs = document.get("subgraph_metadata") or [{}]
        # Other subgraphs of the original file are not part of the SavedModel.
        document["subgraph_metadata"] = subgraphs[:1]
        wanted = (list(program.inputs), list(program.outputs))
        for side, before, after in zip(_SIDES, self.names, wanted, strict=True):
            told = subgraphs[0].get(side) or []
            if len(told) != len(before) or set(after) - set(before):
                subgraphs[0].pop(side, None)  # it describes another signature
            else:
                subgraphs[0][side] = [told[before.index(name)] for name in after]
        return document, dict(self.files)


def is_plain_name(name: str) -> bool:
    """Whether a file of this name lies in the folder itself."""
    bad = not name or name in {".", "..", FILE} or "\0" in name or len(name.encode()) > 255
    return not bad and Path(name).name == name and "\\" not in name


def keep(folder: Path, metadata: Metadata, inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """Write metadata into the folder of a SavedModel.

    Args:
        folder: the SavedModel.
        metadata: the metadata.
        inputs: names of the first signature's inputs, in the order of its subgraph.
        outputs: names of its outputs.
    """
    place = folder / EXTRA_ASSETS_FOLDER
    place.mkdir(exist_ok=True)
    for name, content in metadata.files.items():
        if is_plain_name(name):
            write_file(place / name, content)
    told = {"inputs": list(inputs), "outputs": list(outputs), "metadata": metadata.document}
    write_file(place / FILE, json.dumps(told, indent=1).encode())


def kept_in(model: object) -> Kept | None:
    """The metadata in the folder of a SavedModel, or None.

    Raises:
        DataLossError: the metadata is damaged.
    """
    if not isinstance(model, (str, Path)):
        return None
    place = Path(model) / EXTRA_ASSETS_FOLDER
    if not (place / FILE).is_file():
        return None
    try:
        told: Any = json.loads((place / FILE).read_text(encoding="utf-8"))
        document = told["metadata"]
        encoded(document)
        names = tuple(map(str, told["inputs"])), tuple(map(str, told["outputs"]))
    except (ValueError, KeyError, TypeError, InvalidArgumentError) as error:
        raise DataLossError(
            f"{place / FILE} is not the metadata of a .tflite file: {error}\n  Try: remove it"
        ) from None
    files = {
        name: (place / name).read_bytes()
        for name in dict.fromkeys(str(one.get("name") or "") for one in files_of(document))
        if is_plain_name(name) and (place / name).is_file()
    }
    return Kept(document, files, names)
