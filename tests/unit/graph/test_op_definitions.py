"""Every op of the registry is TensorFlow's op of that name: arguments, types, attributes, defaults.

Files are written from the registry's definitions, and read with its defaults for omitted
attributes; a difference here is a file that TensorFlow refuses or interprets differently.
"""

import gzip
from pathlib import Path
from typing import Any

import numpy as np

import pinnace  # noqa: F401 (registers every op)
from pinnace.graph.codec.opaque import opaque_op
from pinnace.ops import registry
from pinnace.ops.opdef import ArgDef, OpDef
from pinnace.proto.op_def_pb2 import OpList
from support.each import holds_for_each

FOLDER = Path(__file__).parents[2] / "golden" / "op_definitions"
THEIRS = {
    op.name: op
    for file in ("tensorflow.pb.gz", "tensorflow_text.pb.gz", "forests.pb.gz")
    for op in OpList.FromString(gzip.decompress((FOLDER / file).read_bytes())).op
}
# Attributes of recent releases, which older releases refuse; they are not written.
RECENT = {"debug_name", "grad_a", "grad_b", "grad_x", "grad_y"}


def argument(arg: ArgDef) -> Any:
    return arg.name, arg.dtype, arg.type_attr, arg.list_attr, arg.number_attr


def defaults(op: OpDef) -> dict[str, tuple[str, Any]]:
    """Attribute -> kind and default, None for none."""
    found: dict[str, tuple[str, Any]] = {
        name: ("type", allowed.default) for name, allowed in op.type_sets.items()
    }
    for name, attr in op.attrs.items():
        default = None if attr.required else attr.default
        if isinstance(default, float):
            default = float(np.float32(default))
        if attr.kind == "list(float)" and default is not None:
            default = tuple(float(np.float32(number)) for number in default)
        # Lists of types are determined by the inputs, and always written.
        found[name] = (attr.kind, None if name in op.list_types else default)
    return found


# Stateless in TensorFlow; here they have side effects, so that no pass folds them: they read files,
# or draw a seed if none is given.
READS_THE_WORLD = frozenset(
    {
        *("MatchingFiles", "ReadFile"),
        *("ShuffleDataset", "ShuffleAndRepeatDataset"),
    }
)


def test_every_op_is_tensorflows() -> None:
    holds_for_each(sorted(registry.registered()), an_op_is_tensorflows)


def an_op_is_tensorflows(name: str) -> None:
    assert name in THEIRS, "TensorFlow has no such op: it must never reach a file"
    ours, theirs = registry.lookup(name), opaque_op(THEIRS[name], name)
    assert list(map(argument, ours.inputs)) == list(map(argument, theirs.inputs))
    assert list(map(argument, ours.outputs)) == list(map(argument, theirs.outputs))
    assert ours.stateful == (THEIRS[name].is_stateful or name in READS_THE_WORLD)
    mine, wanted = defaults(ours), defaults(theirs)
    for attr in sorted(set(mine) | set(wanted)):
        if attr not in mine and (attr in RECENT or attr in theirs.list_types):
            continue
        if attr in ours.number_attrs:  # the definition above derives it from the arguments
            continue
        kind, default = mine.get(attr, ("missing", None))
        # A type may have a default here and none there, since types are always written.
        if kind == wanted.get(attr, ("", None))[0] == "type" and wanted[attr][1] is None:
            continue
        assert (kind, default) == wanted.get(attr), f"attribute {attr!r}"
