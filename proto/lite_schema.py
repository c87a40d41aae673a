"""What .tflite files and their metadata are made of, as lite.fbs and lite_metadata.fbs declare it.

FlatBuffers' own compiler writes a class for each table, some 20,000 lines; `pinnace.deploy.lite`
needs the places of the fields alone, and a test compares them with LiteRT's own classes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

_SCALARS: Final = {
    "bool": "bool",
    "byte": "int8",
    "ubyte": "uint8",
    "short": "int16",
    "ushort": "uint16",
    "int": "int32",
    "int32": "int32",
    "uint": "uint32",
    "long": "int64",
    "ulong": "uint64",
    "float": "float32",
}


class Field(NamedTuple):
    """A field of a table.

    Attributes:
        slot: its place in the table's list of offsets.
        kind: a scalar type, "string", the name of a table or of a union; "[...]" for a vector.
        default: of a scalar.
    """

    slot: int
    kind: str
    default: float = 0


@dataclass(frozen=True)
class Schema:
    """The declarations of a .fbs file.

    Attributes:
        identifier: bytes 4 to 8 of the files.
        root: the root table.
        enums: enum -> label -> number.
        unions: union -> its tables; the first one has the number 1.
        tables: table -> its fields, without deprecated ones.
    """

    identifier: bytes
    root: str
    enums: dict[str, dict[str, int]]
    unions: dict[str, tuple[str, ...]]
    tables: dict[str, dict[str, Field]]


def _read(name: str) -> Schema:
    text = re.sub(r"//.*", "", (Path(__file__).parent / name).read_text(encoding="utf-8"))
    (identifier,) = re.findall(r'file_identifier\s+"(\w+)"', text)
    (root,) = re.findall(r"root_type\s+(\w+)", text)
    schema = Schema(identifier.encode(), root, {}, {}, {})
    scalars = dict(_SCALARS)
    found = re.findall(r"(enum|union|table)\s+(\w+)\s*(?::\s*(\w+))?\s*\{([^}]*)\}", text)
    for kind, declared, base, body in found:
        entries = [part.strip() for part in body.split(",") if part.strip()]
        if kind == "enum":
            scalars[declared] = _SCALARS[base]
            values: dict[str, int] = {}
            schema.enums[declared] = values
            for entry in entries:
                label, _, number = (part.strip() for part in entry.partition("="))
                values[label] = int(number) if number else max(values.values(), default=-1) + 1
        elif kind == "union":
            schema.unions[declared] = tuple(entries)
    for kind, declared, _, body in found:
        if kind == "table":
            schema.tables[declared] = _fields(body, schema, scalars)
    return schema


def _fields(body: str, schema: Schema, scalars: dict[str, str]) -> dict[str, Field]:
    fields = {}
    slot = 0
    for entry in re.findall(r"[^;\s][^;]*", body):
        match = re.fullmatch(r"(\w+)\s*:\s*(\[?)(\w+)\]?(?:\s*=\s*(\S+))?\s*(\(.*\))?\s*", entry)
        if match is None:
            raise ValueError(f"{entry!r} is no field")
        name, vector, bare, default, note = match.groups()
        slot += bare in schema.unions  # the number of its table has a slot before it
        if "deprecated" not in (note or ""):
            kind = scalars.get(bare, bare)
            numbers = {"true": 1, "false": 0, **schema.enums.get(bare, {})}
            value = numbers[default] if default in numbers else float(default or 0)
            number = int(value) if value == int(value) else value
            fields[name] = Field(slot, f"[{kind}]" if vector else kind, number)
        slot += 1
    return fields


LITE: Final = _read("lite.fbs")
METADATA: Final = _read("lite_metadata.fbs")
