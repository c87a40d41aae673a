"""The fast path of eager calls: wraps a computed array and notifies the tapes."""

from typing import Any

from pinnace.framework.context import state
from pinnace.framework.tensor import Array, Tensor
from pinnace.ops.opdef import OpDef

_new = Tensor.__new__


def finish(op: OpDef, inputs: tuple[Any, ...], attrs: dict[str, Any], array: Array) -> Tensor:
    """The tensor around `array`, which `op` gives for these inputs.

    Args:
        op: an op with one output, not of an opaque dtype.
        inputs: the inputs that `execute` would record, one entry per argument of the signature.
        attrs: the attributes that were given.
        array: the kernel's result.
    """
    tensor = _new(Tensor)
    tensor._array = array
    for tape in state.tapes:
        tape.record(op, inputs, attrs, (tensor,))
    return tensor
