"""Which ops have a gradient, which return None and which raise: TensorFlow's registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from oracle.test_models import ask
from pinnace.autodiff.tape import carries_gradient
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, NOT_DIFFERENTIABLE
from pinnace.ops.registry import registered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.peer import Peer
    from pinnace.ops.opdef import ArgDef, OpDef

# Both sides differentiate the functions that these run, whatever the op's entry is.
RUN_FUNCTIONS = {"BatchFunction", "PartitionedCall", "StatefulPartitionedCall"}
# TensorFlow's functions for these return None for every input.
GIVE_NONE = {"ArgMax", "ArgMin", "Ceil", "Floor", "FloorDiv", "Rint", "Round", "TruncateDiv"}
# Values of version 1's graphs, and optional values in a graph: there is no gradient here yet.
MISSING = {
    "OptionalFromValue",
    "OptionalGetValue",
    "TensorArrayConcatV3",
    "TensorArrayGatherV3",
    "TensorArrayReadV3",
    "TensorArrayScatterV3",
    "TensorArraySplitV3",
    "TensorArrayWriteV3",
}
# Linear in their values: here they have true gradients, where TensorFlow returns None.
BEYOND = {"ResizeBilinearGrad", "SparseConcat"}


def _carries(op: OpDef, args: Sequence[ArgDef]) -> bool:
    """Whether one of the arguments can have a dtype with gradients."""
    for arg in args:
        if arg.list_attr:
            return True
        kinds = [arg.dtype] if arg.dtype else op.type_sets[arg.type_attr].allowed
        if any(kind is not None and carries_gradient(kind) for kind in kinds):
            return True
    return False


def test_every_op_is_of_the_class_that_tensorflow_registers(peer: Peer) -> None:
    ops = {name: op for name, op in registered().items() if name not in RUN_FUNCTIONS}
    names = sorted(ops)
    (told,) = ask(peer, ["registry", "classes"], [np.array([n.encode() for n in names], object)])
    classes = dict(zip(names, (one.decode() for one in told), strict=True))
    assert len([one for one in classes.values() if one != "?"]) > 0.9 * len(names)
    wrong = {}
    for name, theirs in classes.items():
        op = ops[name]
        nothing = op.gradient is NOT_DIFFERENTIABLE
        if theirs == "g" and not op.differentiable and name not in GIVE_NONE | MISSING:
            wrong[name] = "TensorFlow has a gradient"
        if theirs == "n" and not nothing and name not in BEYOND:
            wrong[name] = "TensorFlow gives None"
        if theirs == "u" and nothing and _carries(op, op.inputs) and _carries(op, op.outputs):
            wrong[name] = "TensorFlow raises"
        if op.gradient is NO_GRADIENT_DEFINED and theirs not in {"u", "?"}:
            wrong[name] = f"raises here; TensorFlow's class is {theirs!r}"
    assert not wrong


def test_the_exceptions_are_still_needed() -> None:
    ops = registered()
    for name in MISSING | GIVE_NONE:
        assert ops[name].gradient is NOT_DIFFERENTIABLE, name
    for name in BEYOND:
        assert ops[name].differentiable, name
