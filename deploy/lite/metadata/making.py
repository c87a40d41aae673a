"""Metadata from a model and from the user."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pinnace.deploy.lite.metadata.document import encoded, files_of
from pinnace.deploy.lite.metadata.keeping import is_plain_name
from pinnace.deploy.lite.metadata.packing import Metadata
from pinnace.deploy.program.pixels import is_picture
from pinnace.framework.errors import InvalidArgumentError, NotFoundError
from pinnace.storage.system_errors import explained

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pinnace.deploy.lite.metadata.document import Document
    from pinnace.deploy.lite.metadata.keeping import Kept
    from pinnace.deploy.program.labels import StrPath
    from pinnace.deploy.program.pixels import Scaling
    from pinnace.deploy.program.sources import Program
    from pinnace.framework.specs import TensorSpec

# A document, or the path of a JSON file with one.
Given: TypeAlias = "StrPath | Mapping[str, Any]"
# A file, or a file for each input name.
Vocabulary: TypeAlias = "StrPath | Mapping[str, StrPath]"

_SIDES = ("input_tensor_metadata", "output_tensor_metadata")
_COLOURS = {1: "GRAYSCALE", 3: "RGB"}


@dataclass(frozen=True, slots=True)
class Known:
    """Facts about a model beside its signatures.

    Attributes:
        labels: output of the first signature -> names of its entries.
        pixels: input of the first signature -> its scaling of pixels.
        is_found: whether the labels, and the pixels, were derived instead of given by the user: the
            metadata of a file that was read then take precedence.
        vocabularies: input of the first signature -> name and bytes of its vocabulary.
        given: the user's metadata.
        kept: the metadata of the file that the model was read from.
    """

    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    pixels: Mapping[str, Scaling] = field(default_factory=dict)
    is_found: tuple[bool, bool] = (False, False)
    vocabularies: Mapping[str, tuple[str, bytes]] = field(default_factory=dict)
    given: Metadata | None = None
    kept: Kept | None = None


def read_given(given: Given) -> Metadata:
    """Read the user's document, and the associated files beside it.

    Raises:
        NotFoundError: an associated file does not exist.
        InvalidArgumentError: the document is not valid.
    """
    folder = Path()
    if isinstance(given, Mapping):
        document = dict(given)
    else:
        with explained("read", given):
            text = Path(given).read_text(encoding="utf-8")
        try:
            document = json.loads(text)
        except ValueError as error:
            raise InvalidArgumentError(
                f"export: the metadata in {os.fspath(given)!r} must be JSON: {error}"
            ) from None
        folder = Path(given).parent
    encoded(document)  # checks the fields
    files = {}
    for one in files_of(document):
        place = folder / str(one.get("name") or "")
        if not place.is_file():
            raise NotFoundError(f"export: the metadata name {str(place)!r}, which does not exist")
        one["name"] = place.name
        files[place.name] = place.read_bytes()
    return Metadata(document, files)


def vocabularies_of(given: Vocabulary | None, program: Program) -> dict[str, tuple[str, bytes]]:
    """Input -> name and content of its vocabulary file.

    Raises:
        InvalidArgumentError: there is no such input, or it is ambiguous.
        NotFoundError: a file does not exist.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        names = [name for name, spec in program.inputs.items() if _takes_words(spec)]
        if len(names) != 1:
            told = ", ".join(f"{name} {spec.text}" for name, spec in program.inputs.items())
            raise InvalidArgumentError(
                f"export: a vocabulary needs exactly one input of integers or strings; there are "
                f"{told}\n  Try: vocabulary={{NAME: FILE}}"
            )
        given = {names[0]: given}
    found = {}
    for name, path in given.items():
        if name not in program.inputs:
            raise InvalidArgumentError(
                f"export: a vocabulary names the input {name!r}; there are "
                f"{', '.join(program.inputs)}"
            )
        with explained("read", path):
            found[name] = (Path(path).name, Path(path).read_bytes())
    return found


def _takes_words(spec: TensorSpec) -> bool:
    return spec.dtype.is_integer or spec.dtype.name == "string"


def metadata_of(programs: Sequence[Program], known: Known) -> Metadata | None:
    """The metadata of a file; None if nothing is known beyond its signatures.

    Args:
        programs: the program of each signature.
        known: facts about the model.

    Raises:
        InvalidArgumentError: two files have one name, or the user's metadata contradict the model.
    """
    is_known = known.labels or known.pixels or known.vocabularies
    if not is_known and known.given is None and known.kept is None:
        return None
    first = programs[0]
    before: Mapping[str, bytes] = {}
    if known.kept is not None:
        document, before = known.kept.of(first)
    else:
        subgraph: Document = {"name": first.signature}
        document = {"name": first.source, "subgraph_metadata": [subgraph]}
    subgraph = document["subgraph_metadata"][0]
    for side, specs in zip(_SIDES, (first.inputs, first.outputs), strict=True):
        if len(subgraph.get(side) or ()) != len(specs):
            subgraph[side] = [{"name": name} for name in specs]
    files = _Files()
    for (name, spec), tensor in zip(first.inputs.items(), subgraph[_SIDES[0]], strict=True):
        if not (known.is_found[1] and _normalization(tensor)):
            _describe_input(tensor, spec, known.pixels.get(name))
        if name in known.vocabularies:
            files.add(*known.vocabularies[name])
            file = known.vocabularies[name][0]
            _replace_file(tensor, file, "VOCABULARY", "The words, one a line, in order.")
    _add_labels(subgraph[_SIDES[1]], list(first.outputs), known, files)
    if known.given is not None:
        for file, content in known.given.files.items():
            files.add(file, content)
        _merge(document, known.given.document, first)
    named = {one.get("name") for one in files_of(document)}
    whole = {**before, **files.found}
    return Metadata(document, {name: data for name, data in whole.items() if name in named})


def _add_labels(
    tensors: Sequence[Document], names: Sequence[str], known: Known, files: _Files
) -> None:
    for index, (name, tensor) in enumerate(zip(names, tensors, strict=True)):
        if name not in known.labels or (known.is_found[0] and _label_file(tensor)):
            continue
        file = "labels.txt" if len(known.labels) == 1 or not index else f"labels_{name}.txt"
        files.add(file, "".join(f"{line}\n" for line in known.labels[name]).encode())
        tensor.setdefault("content", _features())
        _replace_file(tensor, file, "TENSOR_AXIS_LABELS", "What the entries stand for.")


class _Files:
    """New associated files by name."""

    def __init__(self) -> None:
        self.found: dict[str, bytes] = {}

    def add(self, name: str, content: bytes) -> None:
        """Add a file.

        Raises:
            InvalidArgumentError: the name is not valid, or already taken.
        """
        if not is_plain_name(name):
            raise InvalidArgumentError(f"export: {name!r} is no valid name for an associated file")
        if self.found.get(name, content) != content:
            raise InvalidArgumentError(
                f"export: two associated files have the name {name!r}; give one of them another"
            )
        self.found[name] = content


def _describe_input(tensor: Document, spec: TensorSpec, pixels: Scaling | None) -> None:
    if pixels is None or not is_picture(spec):
        tensor.setdefault("content", _features())
        return
    tensor["content"] = {
        "content_properties_type": "ImageProperties",
        "content_properties": {"color_space": _COLOURS.get(spec.shape[3] or 0, "UNKNOWN")},
    }
    # As many means as standard deviations, which MediaPipe requires; one if all channels are equal.
    channels = list(dict.fromkeys(_each(*pixels)))
    if len(channels) > 1:
        channels = list(_each(*pixels))
    mean, std = (list(one) for one in zip(*channels, strict=True))
    tensor["process_units"] = [
        {"options_type": "NormalizationOptions", "options": {"mean": mean, "std": std}},
        *(
            one
            for one in tensor.get("process_units") or ()
            if one.get("options_type") != "NormalizationOptions"
        ),
    ]
    tensor["stats"] = {
        "max": [max((pixel - m) / s for pixel in (0, 255)) for m, s in channels],
        "min": [min((pixel - m) / s for pixel in (0, 255)) for m, s in channels],
    }


def told_by(
    metadata: Metadata, program: Program
) -> tuple[dict[str, tuple[str, ...]], dict[str, Scaling]]:
    """The labels of outputs and the scaling of image inputs in a document."""
    subgraph = metadata.document["subgraph_metadata"][0]
    pixels = {}
    for name, tensor in zip(program.inputs, subgraph[_SIDES[0]], strict=True):
        found = _normalization(tensor)
        if found is not None and is_picture(program.inputs[name]):
            pixels[name] = found
    labels = {}
    for name, tensor in zip(program.outputs, subgraph[_SIDES[1]], strict=True):
        content = metadata.files.get(_label_file(tensor) or "", b"")
        lines = tuple(content.decode("utf-8", "replace").splitlines())
        shape = program.outputs[name].shape
        if lines and shape.rank and shape[-1] == len(lines):
            labels[name] = lines
    return labels, pixels


def _normalization(tensor: Mapping[str, Any]) -> Scaling | None:
    for unit in tensor.get("process_units") or ():
        options = unit.get("options") or {}
        if unit.get("options_type") == "NormalizationOptions":
            mean, std = tuple(options.get("mean") or ()), tuple(options.get("std") or ())
            usable = mean and std and 0 not in std and all(map(math.isfinite, (*mean, *std)))
            return (mean, std) if usable else None
    return None


def _label_file(tensor: Mapping[str, Any]) -> str | None:
    for one in tensor.get("associated_files") or ():
        if one.get("type") == "TENSOR_AXIS_LABELS":
            return str(one.get("name") or "")
    return None


def _each(mean: Sequence[float], std: Sequence[float]) -> Iterator[tuple[float, float]]:
    for index in range(max(len(mean), len(std))):
        yield mean[min(index, len(mean) - 1)], std[min(index, len(std) - 1)]


def _features() -> Document:
    return {"content_properties_type": "FeatureProperties", "content_properties": {}}


def _replace_file(tensor: Document, name: str, kind: str, description: str) -> None:
    others = [one for one in tensor.get("associated_files") or () if one.get("type") != kind]
    told = {"name": name, "description": description, "type": kind}
    tensor["associated_files"] = [*others, told]


def _merge(document: Document, given: Mapping[str, Any], program: Program) -> None:
    """Overwrite entries of a document by the user's, with tensors matched by name."""
    for name, value in given.items():
        if name != "subgraph_metadata":
            document[name] = value
    for own, told in zip(
        document["subgraph_metadata"], given.get("subgraph_metadata") or (), strict=False
    ):
        for name, value in told.items():
            if name not in _SIDES:
                own[name] = value
        sides = (program.inputs, program.outputs)
        for side, specs in zip(_SIDES, sides, strict=True):
            _merge_tensors(own[side], told.get(side) or (), list(specs), side)


def _merge_tensors(
    own: list[Document], told: Sequence[Mapping[str, Any]], names: list[str], side: str
) -> None:
    if len(told) > len(own):
        raise InvalidArgumentError(
            f"export: {side} describes {len(told)} tensors; there are {', '.join(names)}"
        )
    for index, one in enumerate(told):
        name = one.get("name")
        # By name if all are names of the signature, else by position.
        place = names.index(name) if name in names else index
        own[place].update(one)
