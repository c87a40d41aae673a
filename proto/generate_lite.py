"""Write lite_schema.py and lite_metadata_schema.py: what a .tflite file is made of, as data.

Run it as `python proto/generate_lite.py [--out FOLDER]`. FlatBuffers' own compiler writes a class
for each table, some 20,000 lines; `pinnace.deploy.lite` needs the places of the fields alone, and
a test holds them equal to LiteRT's own classes.
"""

import argparse
import re
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SCALARS = {
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
FIELD = '''"""The tables of a .tflite file, from lite.fbs. Written by proto/generate_lite.py."""

from typing import Final, NamedTuple


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


'''
METADATA = '''"""The tables of metadata, of lite_metadata.fbs. Written by generate_lite.py."""

from typing import Final

from pinnace.proto.lite_schema import Field

'''


def parse(text: str) -> tuple[dict[str, dict[str, int]], dict[str, list[str]], dict[str, Any]]:
    """Enums, unions and tables of a schema.

    Args:
        text: of the .fbs file.

    Raises:
        ValueError: there is a declaration that this does not know.
    """
    text = re.sub(r"//.*", "", text)
    enums: dict[str, dict[str, int]] = {}
    types: dict[str, str] = {}
    unions: dict[str, list[str]] = {}
    found = re.findall(r"(enum|union|table)\s+(\w+)\s*(?::\s*(\w+))?\s*\{([^}]*)\}", text)
    for kind, name, base, body in found:
        entries = [part.strip() for part in body.split(",") if part.strip()]
        if kind == "enum":
            types[name] = SCALARS[base]
            values: dict[str, int] = {}
            for entry in entries:
                label, _, number = (part.strip() for part in entry.partition("="))
                last = max(values.values(), default=-1)
                values[label] = int(number) if number else last + 1
            enums[name] = values
        elif kind == "union":
            unions[name] = entries
    tables = {
        name: _fields(body, enums, types, unions)
        for kind, name, _, body in found
        if kind == "table"
    }
    return enums, unions, tables


def _fields(
    body: str,
    enums: dict[str, dict[str, int]],
    types: dict[str, str],
    unions: dict[str, list[str]],
) -> dict[str, tuple[int, str, float]]:
    fields: dict[str, tuple[int, str, float]] = {}
    slot = 0
    for entry in (part.strip() for part in body.split(";")):
        if not entry:
            continue
        match = re.fullmatch(r"(\w+)\s*:\s*(\[?\w+\]?)(?:\s*=\s*(\S+))?\s*(\([^)]*\))?", entry)
        if match is None:
            raise ValueError(f"{entry!r} is no field")
        name, kind, default, note = match.groups()
        bare = kind.strip("[]")
        if bare in unions:
            slot += 1  # its type stands before it
        scalar = types.get(bare) or SCALARS.get(bare)
        value: float = 0
        if default is not None:
            numbers = {"true": 1, "false": 0, **enums.get(bare, {})}
            value = numbers[default] if default in numbers else float(default)
        written = bare if scalar is None else scalar
        if "deprecated" not in (note or ""):
            value = int(value) if value == int(value) else value
            fields[name] = (slot, f"[{written}]" if kind != bare else written, value)
        slot += 1
    return fields


def module(text: str, head: str = FIELD) -> str:
    """The source of the module.

    Args:
        text: of the .fbs file.
        head: its first lines.
    """
    enums, unions, tables = parse(text)
    (identifier,) = re.findall(r'file_identifier\s+"(\w+)"', text)
    (root,) = re.findall(r"root_type\s+(\w+)", text)
    told = f'IDENTIFIER: Final = b"{identifier}"\nROOT: Final = "{root}"\n\n'
    lines = [head, told, "ENUMS: Final[dict[str, dict[str, int]]] = {\n"]
    for name, values in enums.items():
        lines.append(f'    "{name}": {{\n')
        lines += [f'        "{label}": {number},\n' for label, number in values.items()]
        lines.append("    },\n")
    lines.append(
        "}\n\n# The first has the number 1.\nUNIONS: Final[dict[str, tuple[str, ...]]] = {\n"
    )
    for name, members in unions.items():
        lines.append(f'    "{name}": (\n')
        lines += [f'        "{member}",\n' for member in members]
        lines.append("    ),\n")
    lines.append("}\n\nTABLES: Final[dict[str, dict[str, Field]]] = {\n")
    for name, fields in tables.items():
        if not fields:
            lines.append(f'    "{name}": {{}},\n')
            continue
        lines.append(f'    "{name}": {{\n')
        for field, (slot, kind, default) in fields.items():
            last = f", {default}" if default else ""
            lines.append(f'        "{field}": Field({slot}, "{kind}"{last}),\n')
        lines.append("    },\n")
    lines.append("}\n")
    return "".join(lines)


def main() -> None:
    """Write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=HERE)
    out = parser.parse_args().out
    for name, head in (("lite", FIELD), ("lite_metadata", METADATA)):
        source = module((HERE / f"{name}.fbs").read_text(encoding="utf-8"), head)
        (out / f"{name}_schema.py").write_text(source, encoding="utf-8")


if __name__ == "__main__":
    main()
