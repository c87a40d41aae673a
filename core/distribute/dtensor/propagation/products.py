"""Rules of products: matrices, batches of them, einsum, convolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.distribute.dtensor.layout import UNSHARDED
from pinnace.distribute.dtensor.propagation.calls import distinct, merged, rule_of, whole

if TYPE_CHECKING:
    from pinnace.distribute.dtensor.propagation.calls import Call, Specs


@rule_of("MatMul")
def matmul(call: Call) -> Specs:
    """Rows like the first matrix, columns like the second; what is contracted is gone."""
    a, b = (one.specs for one in call.inputs)
    row = a[1] if call.attr("transpose_a") else a[0]
    column = b[0] if call.attr("transpose_b") else b[1]
    return distinct((row, column))


@rule_of("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
def batch_matmul(call: Call) -> Specs:
    """As a product of matrices; the axes before are broadcast to each other."""
    a, b = (one.specs for one in call.inputs)
    row = a[-1] if call.attr("adj_x") else a[-2]
    column = b[-2] if call.attr("adj_y") else b[-1]
    batch = merged(len(call.sizes[0]) - 2, [a[:-2], b[:-2]])
    row, column = distinct((row, column))
    used = {row, column}
    return (*(UNSHARDED if spec in used else spec for spec in batch), row, column)


@rule_of("Einsum")
def einsum(call: Call) -> Specs:
    """Each letter is divided as in the first operand that divides it."""
    equation = call.attr("equation")
    text = equation.decode() if isinstance(equation, bytes) else str(equation)
    left, _, right = text.replace(" ", "").partition("->")
    if "." in text:
        return whole(len(call.sizes[0]))
    found: dict[str, str] = {}
    for letters, operand in zip(left.split(","), call.inputs, strict=True):
        for letter, spec in zip(letters, operand.specs, strict=True):
            if spec != UNSHARDED:
                found.setdefault(letter, spec)
    # A dimension of the mesh that divides two letters of the result divides neither.
    return distinct([found.get(letter, UNSHARDED) for letter in right])


@rule_of("Conv2D", "Conv3D", "DepthwiseConv2dNative", "FusedBatchNormV3")
@rule_of("MaxPool", "AvgPool", "MaxPool3D", "AvgPool3D", "MaxPoolGrad", "AvgPoolGrad")
def batch_parallel(call: Call) -> list[Specs]:
    """The examples of a batch may be divided, and nothing else."""
    first = next((one for one in call.inputs if one.rank == len(call.sizes[0])), call.inputs[0])
    rank = len(call.sizes[0])
    batch = (*first.specs[:1], *whole(rank - 1))[:rank]
    return [batch, *(whole(len(sizes)) for sizes in call.sizes[1:])]


@rule_of("Conv2DBackpropInput", "Conv3DBackpropInputV2")
def input_gradient(call: Call) -> Specs:
    """The gradient of the images is divided as that of the outputs is."""
    return (*call.inputs[2].specs[:1], *whole(len(call.sizes[0]) - 1))
