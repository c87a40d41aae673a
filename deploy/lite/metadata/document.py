"""Metadata as a document: the fields of `proto/lite_metadata.fbs`, like FlatBuffers' own JSON.

Enumerations are given by name; the field `options_type` names the table of a union `options`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pinnace.deploy.lite.files.flatbuffer import Table, written
from pinnace.deploy.lite.files.parsing import Parsed, parsed
from pinnace.framework.errors import DataLossError, InvalidArgumentError
from pinnace.proto.lite_schema import METADATA

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pinnace.deploy.lite.files.parsing import Content

Document: TypeAlias = "dict[str, Any]"

# (table, field) -> the field's enumeration.
_ENUMS = {
    ("AssociatedFile", "type"): "AssociatedFileType",
    ("ImageProperties", "color_space"): "ColorSpaceType",
    ("BoundingBoxProperties", "type"): "BoundingBoxType",
    ("BoundingBoxProperties", "coordinate_type"): "CoordinateType",
    ("ScoreCalibrationOptions", "score_transformation"): "ScoreTransformationType",
}
# The schema version that introduced each table and field: older readers do not know it.
_SINCE_TABLE = {
    "BertTokenizerOptions": (1, 1, 0),
    "SentencePieceTokenizerOptions": (1, 1, 0),
    "TensorGroup": (1, 2, 0),
    "RegexTokenizerOptions": (1, 2, 1),
    "AudioProperties": (1, 3, 0),
    "CustomMetadata": (1, 5, 0),
}
_SINCE_FIELD = {
    ("SubGraphMetadata", "input_process_units"): (1, 1, 0),
    ("SubGraphMetadata", "output_process_units"): (1, 1, 0),
    ("AssociatedFile", "version"): (1, 4, 1),
}
_SINCE_TYPE = {"VOCABULARY": (1, 0, 1), "SCANN_INDEX_FILE": (1, 4, 0)}
_SLACK = 1024
_LARGEST = float(np.finfo(np.float32).max)


def encoded(document: Mapping[str, Any]) -> bytes:
    """Encode a document, with the least schema version that its reader needs.

    Raises:
        InvalidArgumentError: the document has unknown fields, or fields of wrong types.
    """
    told = dict(document)
    told["min_parser_version"] = ".".join(map(str, _least(METADATA.root, told)))
    return written(_table(METADATA.root, told, "metadata"), _SLACK, METADATA)


def decoded(data: Content, where: str) -> Document:
    """Decode a flatbuffer to a document.

    Raises:
        DataLossError: it is damaged.
    """
    try:
        return _document(parsed(data, f"the metadata of {where}", METADATA))
    except InvalidArgumentError as error:
        raise DataLossError(error.message) from None


def files_of(document: Mapping[str, Any]) -> Iterator[Document]:
    """Yield every associated file that a document names, at any level."""
    for name, value in document.items():
        if name in ("associated_files", "vocab_file", "sentencePiece_model"):
            yield from value
        elif isinstance(value, dict):
            yield from files_of(value)
        elif isinstance(value, list):
            for one in value:
                if isinstance(one, dict):
                    yield from files_of(one)


def _least(table: str, fields: Mapping[str, Any]) -> tuple[int, int, int]:
    found = [(1, 0, 0), _SINCE_TABLE.get(table, (1, 0, 0))]
    for name, value in fields.items():
        if value in (None, [], ""):
            continue
        found.append(_SINCE_FIELD.get((table, name), (1, 0, 0)))
        if table == "AssociatedFile" and name == "type":
            found.append(_SINCE_TYPE.get(str(value), (1, 0, 0)))
        field = METADATA.tables[table].get(name)
        if field is None:
            continue
        kind = field.kind.strip("[]")
        if kind in METADATA.unions:
            kind = str(fields.get(f"{name}_type", ""))
        if kind in METADATA.tables:
            inner = value if isinstance(value, list) else [value]
            found += [_least(kind, one) for one in inner if isinstance(one, dict)]
    return max(found)


def _table(name: str, fields: Any, where: str) -> Table:
    if not isinstance(fields, dict):
        raise InvalidArgumentError(f"export: {where} must be fields of a {name}, got {fields!r}")
    declared = METADATA.tables[name]
    unions = {f"{one}_type" for one, field in declared.items() if field.kind in METADATA.unions}
    others = [one for one in fields if one not in declared and one not in unions]
    if others:
        raise InvalidArgumentError(
            f"export: {where} has {', '.join(map(repr, others))}; a {name} has "
            f"{', '.join(declared) or 'no fields'}"
        )
    found: dict[str, Any] = {}
    for field, value in fields.items():
        if field in unions or value is None:
            continue
        place = f"{where}.{field}"
        kind = declared[field].kind
        if kind in METADATA.unions:
            chosen = fields.get(f"{field}_type")
            if chosen not in METADATA.unions[kind]:
                raise InvalidArgumentError(
                    f"export: {place}_type must be one of {', '.join(METADATA.unions[kind])}, got "
                    f"{chosen!r}"
                )
            found[field] = _table(str(chosen), value, place)
        elif (name, field) in _ENUMS:
            found[field] = _number(_ENUMS[name, field], value, place)
        else:
            found[field] = _value(kind, value, place)
    return Table(name, found)


def _number(enum: str, value: Any, where: str) -> int:
    known = METADATA.enums[enum]
    if isinstance(value, str) and value in known:
        return known[value]
    # The number may be of a newer schema and have no name here.
    limits = np.iinfo(np.int8)
    if isinstance(value, int) and not isinstance(value, bool) and limits.min <= value <= limits.max:
        return value
    raise InvalidArgumentError(f"export: {where} must be one of {', '.join(known)}, got {value!r}")


def _value(kind: str, value: Any, where: str) -> Any:
    if kind == "string":
        if not isinstance(value, str) or not _is_text(value):
            raise InvalidArgumentError(f"export: {where} must be a string, got {value!r}")
        return value
    if kind == "[uint8]":
        return bytes(value)
    if kind.startswith("["):
        if not isinstance(value, (list, tuple)):
            raise InvalidArgumentError(f"export: {where} must be a list, got {value!r}")
        inner = kind[1:-1]
        return [_value(inner, one, f"{where}[{index}]") for index, one in enumerate(value)]
    if kind in METADATA.tables:
        return _table(kind, value, where)
    return _real_or_whole(kind, value, where)


def _real_or_whole(kind: str, value: Any, where: str) -> float | int:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidArgumentError(f"export: {where} must be a number, got {value!r}")
    if kind == "float32":
        # Infinity and NaN are valid float32 values.
        if _LARGEST < abs(value) != math.inf:
            raise InvalidArgumentError(f"export: {where} must be a float32, got {value!r}")
        return float(value)
    limits = np.iinfo(kind)
    if not limits.min <= value <= limits.max or value != int(value):
        raise InvalidArgumentError(f"export: {where} must be a {kind}, got {value!r}")
    return int(value)


def _is_text(value: str) -> bool:
    """Whether a string has no unpaired surrogates, which JSON allows and UTF-8 does not."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _document(table: Parsed) -> Document:
    found: Document = {}
    for name, value in table.fields.items():
        enum = _ENUMS.get((table.name, name))
        if enum is not None:
            names = {number: text for text, number in METADATA.enums[enum].items()}
            found[name] = names.get(value, value)
        elif METADATA.tables[table.name][name].kind in METADATA.unions:
            found[f"{name}_type"] = value.name
            found[name] = _document(value)
        else:
            found[name] = _plain(value)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, Parsed):
        return _document(value)
    if isinstance(value, memoryview):
        return list(value)
    if isinstance(value, np.ndarray):
        # The shortest float32 representation, 127.5 instead of the digits of a float64.
        return [float(str(x)) if value.dtype.kind == "f" else int(x) for x in value]
    if isinstance(value, float):
        return float(str(np.float32(value)))
    return [_plain(one) for one in value] if isinstance(value, list) else value
