"""Writes ops.json beside it: TensorFlow's signatures of the ops in core/ops.

Run with a Python that has tensorflow-cpu 2.21: python tests/golden/signatures/make.py
"""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session as session
from tensorflow.python.framework import op_def_registry

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

from support.golden import record  # noqa: E402 - the path is set above

LIBRARY = HERE.parent.parent.parent / "core"
NAME = re.compile(r'"(_?[A-Z]\w+)"')
# Families are registered under composed names: f"SparseSegment{kind}".
PREFIX = re.compile(r'f"([A-Z]\w{5,})\{')


def names() -> list[str]:
    """Every quoted word of the library that could be the name of an op, or starts like one."""
    texts = [file.read_text() for file in LIBRARY.rglob("*.py")]
    starts = tuple({start for text in texts for start in PREFIX.findall(text)})
    known = op_def_pb2.OpList.FromString(session.TF_GetBuffer(session.TF_GetAllOpList())).op
    alike = {op.name for op in known if op.name.startswith(starts)}
    return sorted({name for text in texts for name in NAME.findall(text)} | alike)


def argument(arg: Any) -> list[str]:
    """[name, type]: `T`, `float32`, `N*T`, `(Tin)`."""
    kind = arg.type_attr or tf.dtypes.DType(arg.type).name if not arg.type_list_attr else ""
    if arg.type_list_attr:
        kind = f"({arg.type_list_attr})"
    if arg.number_attr:
        kind = f"{arg.number_attr}*{kind}"
    return [arg.name, kind]


def value(field: Any) -> Any:
    """An attribute's value for JSON."""
    which = field.WhichOneof("value")
    if which == "list":
        parts = field.list
        for name in ("i", "f", "b", "s", "type", "shape"):
            found = list(getattr(parts, name))
            if found:
                return [plain(name, part) for part in found]
        return []
    return plain(which, getattr(field, which))


def plain(which: str, found: Any) -> Any:
    if which == "s":
        return found.decode()
    if which == "type":
        return tf.dtypes.as_dtype(found).name
    if which == "shape":
        return None if found.unknown_rank else [dim.size for dim in found.dim]
    return found


def describe(op: Any) -> dict[str, Any]:
    attrs = {}
    for attr in op.attr:
        entry: dict[str, Any] = {"kind": attr.type}
        if attr.HasField("default_value"):
            entry["default"] = value(attr.default_value)
        if attr.HasField("allowed_values"):
            entry["allowed"] = value(attr.allowed_values)
        attrs[attr.name] = entry
    return {
        "inputs": [argument(arg) for arg in op.input_arg],
        "outputs": [argument(arg) for arg in op.output_arg],
        "attrs": attrs,
        "stateful": op.is_stateful,
    }


found = {name: op_def_registry.get(name) for name in names()}
lines = [f'"{name}": {json.dumps(describe(op))}' for name, op in found.items() if op is not None]
(HERE / "ops.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
record("signatures/ops.json", script="signatures/make.py", made_with=f"tensorflow {tf.__version__}")
