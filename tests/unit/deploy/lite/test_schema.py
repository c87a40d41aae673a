"""The schema agrees with LiteRT's own classes, and written files can be parsed by it."""

import re
from pathlib import Path

import numpy as np
import pytest

from pinnace.deploy.lite.files.flatbuffer import Table, written
from pinnace.proto.lite_schema import LITE

schema = pytest.importorskip("ai_edge_litert.schema_py_generated")


def test_enums_are_those_of_litert() -> None:
    for name, values in LITE.enums.items():
        if hasattr(schema, name):
            theirs = {k: v for k, v in vars(getattr(schema, name)).items() if k[0] != "_"}
            assert theirs.items() <= values.items(), name


def test_unions_are_those_of_litert() -> None:
    for name, members in LITE.unions.items():
        theirs = vars(getattr(schema, name))
        for number, member in enumerate(members, 1):
            if member in theirs:
                assert theirs[member] == number


def test_every_field_stands_where_litert_writes_it() -> None:
    source = Path(str(schema.__file__)).read_text(encoding="utf-8")
    checked = 0
    for name, fields in LITE.tables.items():
        for field, (slot, _, _) in fields.items():
            camel = "".join(part.capitalize() for part in field.split("_"))
            found = re.search(
                rf"def {name}Add{camel}\(builder, \w+\):\s*\n?\s*builder\.Prepend\w+Slot\((\d+),",
                source,
            )
            if found is not None:
                assert int(found[1]) == slot, (name, field)
                checked += 1
    assert checked > 200


def test_what_is_written_reads_back() -> None:
    tensor = Table(
        "Tensor", {"shape": [1, 2], "type": 0, "buffer": 1, "name": "x", "has_rank": True}
    )
    graph = Table(
        "SubGraph",
        {
            "tensors": [tensor],
            "inputs": [0],
            "outputs": [0],
            "operators": [
                Table(
                    "Operator",
                    {
                        "opcode_index": 0,
                        "inputs": [0, -1],
                        "builtin_options": Table("SoftmaxOptions", {"beta": 1.5}),
                    },
                )
            ],
            "name": "main",
        },
    )
    numbers = np.arange(2, dtype=np.float32)
    model = Table(
        "Model",
        {
            "version": 3,
            "subgraphs": [graph],
            "buffers": [
                Table("Buffer", {}),
                Table("Buffer", {"data": numbers.view(np.uint8)}),
            ],
        },
    )
    content = written(model, 64)
    found = schema.ModelT.InitFromObj(schema.Model.GetRootAs(content, 0))
    assert content[4:8] == b"TFL3"
    assert found.version == 3
    (read,) = found.subgraphs
    assert read.name == b"main"
    assert read.tensors[0].name == b"x"
    assert read.tensors[0].hasRank
    assert read.operators[0].builtinOptions.beta == 1.5
    assert list(read.operators[0].inputs) == [0, -1]
    assert found.buffers[1].data.tobytes() == numbers.tobytes()
    assert content.find(numbers.tobytes()) % 16 == 0
