"""Einstein sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import NUMBERS
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape, broadcast_shapes
from pinnace.framework.tensor import Array, Operands, Tensor, TensorLike
from pinnace.ops import flops
from pinnace.ops.array import broadcasting, reshaping, shapes
from pinnace.ops.batch_rules import BatchCall, BatchRule
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.kernels.contraction import ELLIPSIS, Equation, contract, parse_equation
from pinnace.ops.math import complexes, reduction
from pinnace.ops.opdef import InferCall, OpCall, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["einsum"]


def einsum(equation: str, *inputs: TensorLike, **options: Any) -> Tensor:
    """The Einstein sum `equation` of the inputs.

    Args:
        equation: as `ab,bc->ac`; without an arrow, the output has each label that occurs
            once, in alphabetical order. "..." stands for axes that broadcast.
        *inputs: one tensor per part of the equation, of one dtype.
        **options: `name`; `optimize` (the order of more than two inputs; "greedy" or "optimal").

    Returns:
        The axes that the right side names.

    Raises:
        ValueError: an equation that does not fit the inputs.

    Source:
        TensorFlow op `Einsum` (linalg_ops.cc); more than two inputs are contracted pair by pair.
    """
    name = options.pop("name", None)
    optimize = options.pop("optimize", "greedy")
    if options:
        raise TypeError(f"einsum: unknown options {sorted(options)}; it has name and optimize")
    parsed = _complete(equation)
    if len(parsed.inputs) != len(inputs):
        raise ValueError(f"einsum: {equation!r} has {len(parsed.inputs)} inputs, got {len(inputs)}")
    tensors = _alike(inputs)
    operands = list(zip(tensors, parsed.inputs, strict=True))
    for pair in _order(parsed, tensors, optimize):
        chosen = [operands[index] for index in pair]
        operands = [operand for index, operand in enumerate(operands) if index not in pair]
        left = {label for _, labels in operands for label in labels} | set(parsed.output)
        found = dict.fromkeys(label for _, labels in chosen for label in labels if label in left)
        joined = _execute(
            [x for x, _ in chosen], [labels for _, labels in chosen], tuple(found), None
        )
        operands.append((joined, tuple(found)))
    return _execute(
        [x for x, _ in operands], [labels for _, labels in operands], parsed.output, name
    )


def _alike(inputs: Sequence[TensorLike]) -> list[Tensor]:
    first = next((convert_to_tensor(x) for x in inputs if isinstance(x, Operands)), None)
    hint = None if first is None else first.dtype
    return [convert_to_tensor(x, dtype_hint=hint) for x in inputs]


def _complete(equation: str) -> Equation:
    """The equation with its arrow."""
    text = equation.replace(" ", "")
    if "->" in text:
        return parse_equation(text)
    inputs = parse_equation(text + "->").inputs
    every = [label for labels in inputs for label in labels]
    output = sorted(label for label in set(every) if label != ELLIPSIS and every.count(label) == 1)
    return Equation(inputs, (*([ELLIPSIS] if ELLIPSIS in every else []), *output))


def _order(equation: Equation, tensors: list[Tensor], optimize: Any) -> list[tuple[int, ...]]:
    """Pairs to contract until two operands remain, planned by NumPy from the known sizes."""
    count = len(tensors)
    if count <= 2:
        return []
    plain = [tuple(label for label in labels if label != ELLIPSIS) for labels in equation.inputs]
    fits = all(x.shape.rank is not None for x in tensors)
    if not fits or any(len(set(labels)) != len(labels) for labels in plain):
        return [(0, 1)] * (count - 2)
    sizes: dict[str, int] = {}
    for x, labels in zip(tensors, equation.inputs, strict=True):
        for label, size in _labelled(labels, x.shape):
            sizes[label] = max(size or 1, sizes.get(label, 1))
    dummies = [
        np.broadcast_to(np.float32(0), [sizes[label] for label in labels]) for labels in plain
    ]
    output = "".join(label for label in equation.output if label != ELLIPSIS)
    text = ",".join("".join(labels) for labels in plain) + "->" + "".join(dict.fromkeys(output))
    path = np.einsum_path(
        text, *dummies, optimize=optimize if optimize in {"greedy", "optimal"} else "greedy"
    )
    steps = [tuple(sorted(step)) for step in path[0][1:]]
    if any(len(step) != 2 for step in steps):
        return [(0, 1)] * (count - 2)
    return steps[:-1]


def _labelled(labels: tuple[str, ...], shape: Shape) -> list[tuple[str, int | None]]:
    """(label, size) of each axis outside of the ellipsis."""
    if ELLIPSIS not in labels:
        return list(zip(labels, shape, strict=False))
    cut = labels.index(ELLIPSIS)
    after = labels[cut + 1 :]
    sizes = shape.as_list()
    return [
        *zip(labels[:cut], sizes, strict=False),
        *zip(after, sizes[len(sizes) - len(after) :], strict=False),
    ]


def _execute(
    tensors: Sequence[Tensor],
    inputs: Sequence[tuple[str, ...]],
    output: tuple[str, ...],
    name: str | None = None,
) -> Tensor:
    text = ",".join("".join(labels) for labels in inputs) + "->" + "".join(output)
    return execute_one(EINSUM, tuple(tensors), equation=text, name=name)


def _einsum_kernel(inputs: tuple[Array, ...], *, equation: str, out: Array | None = None) -> Array:
    return contract(equation, inputs, out)


def _infer_einsum(call: InferCall) -> Shape:
    specs = call.specs(0)
    try:
        parsed = parse_equation(call.attrs["equation"])
    except ValueError as error:
        call.fail(str(error))
    if len(parsed.inputs) != len(specs) or len(specs) not in {1, 2}:
        text = call.attrs["equation"]
        call.fail(f"the equation {text!r} must have as many inputs as are given, one or two")
    sizes: dict[str, int | None] = {}
    hidden = Shape(())
    for spec, labels in zip(specs, parsed.inputs, strict=True):
        if spec.shape.rank is not None:
            _merge_sizes(call, sizes, _labelled(labels, spec.shape))
        if ELLIPSIS in labels or spec.shape.rank is not None:
            hidden = _merged_hidden(call, hidden, spec.shape, labels)
    if ELLIPSIS not in parsed.output and hidden.rank:
        call.fail("the output must have the ellipsis that an input has")
    shape = Shape(())
    for label in parsed.output:
        shape = shape.concatenate(hidden if label == ELLIPSIS else Shape([sizes.get(label)]))
    return shape


def _merged_hidden(call: InferCall, hidden: Shape, shape: Shape, labels: tuple[str, ...]) -> Shape:
    """`hidden`, the shape of the ellipsis, broadcast with that of another input."""
    if shape.rank is None:
        return Shape(None)
    rest = shape.rank - sum(label != ELLIPSIS for label in labels)
    if rest < 0 or (rest and ELLIPSIS not in labels):
        call.fail(f"{''.join(labels)!r} does not fit a shape of {shape.rank} axes")
    cut = labels.index(ELLIPSIS) if rest else 0
    try:
        return broadcast_shapes(hidden, shape[cut : cut + rest])
    except InvalidArgumentError:
        call.fail("axes under the ellipsis must broadcast")


def _merge_sizes(
    call: InferCall, sizes: dict[str, int | None], named: list[tuple[str, int | None]]
) -> None:
    for label, size in named:
        known = sizes.get(label)
        if known is not None and size is not None and known != size:
            call.fail(f"axes with the label {label!r} must have one size, got {known} and {size}")
        sizes[label] = size if known is None else known


def _einsum_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    """The gradient of each input: dy and the other input, contracted to its labels."""
    equation = parse_equation(call.attr("equation"))
    tensors = call.inputs[0]
    return ([_one_gradient(equation, tensors, index, dy) for index in range(len(tensors))],)


def _one_gradient(equation: Equation, tensors: Sequence[Tensor], index: int, dy: Tensor) -> Tensor:
    x, labels = tensors[index], equation.inputs[index]
    if ELLIPSIS not in equation.output:
        labels = tuple(label for label in labels if label != ELLIPSIS)  # it covers no axes
    elif ELLIPSIS not in labels:
        labels = (*labels, ELLIPSIS)  # no axes: those broadcast from others are summed below
    others = [(complexes.conj(y), found) for y, found in zip(tensors, equation.inputs, strict=True)]
    del others[index]
    told = {*equation.output, *(label for _, found in others for label in found)}
    unique = tuple(dict.fromkeys(labels))
    present = tuple(label for label in unique if label in told)
    dx = _execute(
        [dy, *(y for y, _ in others)], [equation.output, *(found for _, found in others)], present
    )
    if ELLIPSIS in present:
        dx = _narrowed(dx, present, x, labels)
    if present != unique:
        dx = _lengthened(dx, present, unique, x, labels)
    return dx if len(unique) == len(labels) else _execute([dx], [unique], labels)


def _hidden(x: Tensor, labels: tuple[str, ...]) -> int:
    """The number of axes of the ellipsis."""
    if x.shape.rank is None:
        raise InvalidArgumentError(
            "Einsum: the gradient under an ellipsis needs inputs of known rank"
        )
    return x.shape.rank - len(labels) + 1


def _narrowed(dx: Tensor, present: tuple[str, ...], x: Tensor, labels: tuple[str, ...]) -> Tensor:
    """`dx` summed over ellipsis axes along which x was broadcast."""
    mine, theirs = _hidden(x, labels), _hidden(dx, present)
    start, cut = labels.index(ELLIPSIS), present.index(ELLIPSIS)
    narrow, wide = x.shape[start : start + mine], dx.shape[cut : cut + theirs]
    if narrow.is_fully_defined() and wide.is_fully_defined():
        repeated = broadcasting.broadcast_axes(narrow.as_list(), wide.as_list())  # type: ignore[arg-type]  # known
        axes: Any = [cut + axis for axis in repeated]
        if not axes:
            return dx
    else:
        sizes = shapes.shape(x)[start : start + mine], shapes.shape(dx)[cut : cut + theirs]
        axes = execute(broadcasting.BROADCAST_GRADIENT_ARGS, *sizes)[0] + cut
    total = reduction.reduce_sum(dx, axes, keepdims=True)
    # The axes that x lacks are the first ones under the ellipsis.
    lacking = list(range(cut, cut + theirs - mine))
    return reshaping.squeeze(total, lacking) if lacking else total


def _lengthened(
    dx: Tensor,
    present: tuple[str, ...],
    unique: tuple[str, ...],
    x: Tensor,
    labels: tuple[str, ...],
) -> Tensor:
    """`dx` repeated along axes of x that were summed."""
    cut = unique.index(ELLIPSIS) if ELLIPSIS in unique else len(unique)
    hidden = _hidden(x, labels) if ELLIPSIS in labels else 0
    positions = [at if at < cut else at + hidden - 1 for at in range(len(unique))]
    for label, position in zip(unique, positions, strict=True):
        if label not in present:
            dx = reshaping.expand_dims(dx, position)
    start = labels.index(ELLIPSIS) if ELLIPSIS in labels else len(labels)
    source: list[int] = []
    for label in unique:
        at = labels.index(label)
        source += (
            range(at, at + hidden) if label == ELLIPSIS else [at if at < start else at + hidden - 1]
        )
    if x.shape.is_fully_defined():
        return broadcasting.broadcast_to(dx, [x.shape[axis] for axis in source])
    every = shapes.shape(x)
    return broadcasting.broadcast_to(dx, convert_to_tensor([every[axis] for axis in source]))


def _einsum_rows(call: BatchCall) -> Sequence[Tensor]:
    left, right = str(call.attrs["equation"]).split("->")
    letter = next(one for one in "zyxwvutsrqponmlkjihgfedcbaZ" if one not in left)
    terms = [
        letter + term if batched else term
        for term, batched in zip(left.split(","), call.batched, strict=True)
    ]
    return call.apply(call.tensors, equation=f"{','.join(terms)}->{letter}{right}")


EINSUM = define(
    name="Einsum",
    signature="inputs: N*T -> output: T",
    types={"T": NUMBERS},
    attrs={"equation": attr("string")},
    infer=_infer_einsum,
    kernel=_einsum_kernel,
    out=True,
    gradient=_einsum_gradient,
    product="einsum",
    packs=True,
    batch=BatchRule(_einsum_rows),
    flops=flops.einsum,
)
