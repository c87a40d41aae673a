"""Inputs with channels first in the file, for models that take them last."""

from collections.abc import Sequence
from dataclasses import replace

from pinnace.deploy.program.sources import Program
from pinnace.framework import structure
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor
from pinnace.functions.tracing import trace
from pinnace.ops.array import permutations

# The batch, at least one spatial axis, and the channels.
_LEAST_RANK = 3


def with_channels_first(program: Program, names: Sequence[str]) -> Program:
    """The program with inputs [batch, channels, …] in place of [batch, …, channels].

    The inputs are transposed at the beginning; the rest of the program is unchanged.

    Args:
        program: the program.
        names: the inputs; if empty, the program is returned unchanged.

    Raises:
        InvalidArgumentError: an input does not exist, or has no spatial axes.
    """
    if not names:
        return program
    inputs = dict(program.inputs)
    for name in names:
        spec = inputs.get(name)
        if spec is None:
            raise InvalidArgumentError(
                f"export: channels_first has {name!r}, which is not an input; the inputs are: "
                f"{', '.join(inputs)}"
            )
        if spec.shape.rank is None or spec.shape.rank < _LEAST_RANK:
            raise InvalidArgumentError(
                f"export: channels_first has {name!r}, which is {spec.text}: it must have a batch, "
                "at least one spatial axis, and channels\n"
                f"  Try: shapes={{{name!r}: [None, 224, 224, 3]}} if its shape is unknown"
            )
        batch, *space, channels = spec.shape
        inputs[name] = TensorSpec(Shape([batch, channels, *space]), spec.dtype, name)
    order = list(inputs)
    concrete = program.concrete

    def turned(*given: Tensor) -> list[Tensor]:
        tensors = [
            permutations.transpose(x, [0, *range(2, len(inputs[name].shape)), 1])
            if name in names
            else x
            for name, x in zip(order, given, strict=True)
        ]
        return structure.flatten(concrete.call_flat(tensors), expand_composites=True)

    specs = tuple(inputs[name].with_name(name) for name in order)
    found, _ = trace(turned, specs, {}, concrete.name)
    return replace(program, concrete=found, inputs=inputs)
