"""Scans: cumulative computations along an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from pinnace.framework import structure
from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.specs import TensorSpec
from pinnace.functions.control import branches, looping
from pinnace.keras.ops.operation import operation
from pinnace.ops.array import joining, permutations, reshaping, shapes
from pinnace.ops.composites.tensor_array import TensorArray

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Tensor

Parts: TypeAlias = list[Any]
Step: TypeAlias = "Callable[[Any, Any], tuple[Any, Any]]"


@operation("core", "Scan", "length", "reverse", "unroll")
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> tuple[Any, Any]:
    """A state carried from row to row by a function, and its outputs.

    Args:
        f: takes the state and a row of each tensor, gives the next state, of the same structure,
            and a structure of tensors, or None.
        init: the first state.
        xs: tensors [n, ...] in a structure; None hands over None, `length` times.
        length: n, where there are no `xs`.
        reverse: whether the last row comes first; each result stands in the place of its row.
        unroll: how many rounds are one, or whether all are: the results are the same.

    Returns:
        The last state, and the results, each tensor [n, ...].

    Raises:
        TypeError: `f` is no function.
        ValueError: neither `xs` nor `length`, or `unroll` is no positive number.
    """
    _require_function("scan", f)
    if not isinstance(unroll, bool) and (not isinstance(unroll, int) or unroll < 1):
        raise ValueError(f"keras.ops.scan: unroll must be a positive number, got {unroll!r}")
    if xs is None and length is None:
        raise ValueError("keras.ops.scan: xs or length must be given, got neither")
    rows = [] if xs is None else [convert_to_tensor(x) for x in structure.flatten(xs)]
    count: Any = length if length is not None else shapes.axis_sizes(rows[0])[0]
    carry = structure.map_structure(convert_to_tensor, init)

    def step(index: Any, carry: Any) -> tuple[Any, Any]:
        row = None if xs is None else structure.pack_sequence_as(xs, [x[index] for x in rows])
        return f(carry, row)

    run = _in_graph if state.tracer is not None else _one_by_one
    return run(step, carry, count, reverse)


def _one_by_one(step: Step, carry: Any, count: Any, reverse: bool) -> tuple[Any, Any]:
    numbers = range(int(count))
    made = []
    for index in reversed(numbers) if reverse else numbers:
        carry, result = step(index, carry)
        made.append(result)
    if not made or made[0] is None:
        return carry, None
    if reverse:
        made.reverse()
    columns = zip(*(structure.flatten(result) for result in made), strict=True)
    stacked = [joining.stack(list(column)) for column in columns]
    return carry, structure.pack_sequence_as(made[0], stacked)


def _in_graph(step: Step, carry: Any, count: Any, reverse: bool) -> tuple[Any, Any]:
    first = [TensorSpec((), "int32")]
    specs = [TensorSpec.of(x.shape, x.dtype) for x in structure.flatten(carry)]

    def probe(index: Any, *parts: Any) -> Any:
        return step(index, structure.pack_sequence_as(carry, list(parts)))[1]

    # The loop needs the structure of the outputs in advance: trace the function once.
    form = branches.trace_branch(probe, "scan_probe", [*first, *specs]).results
    kinds = [] if form is None else structure.flatten(form)
    arrays = [TensorArray(x.dtype, count, element_shape=x.shape) for x in kinds]

    def left(index: Any, carry: Any, made: Any) -> Any:
        del carry, made
        return index >= 0 if reverse else index < count

    def turn(index: Any, carry: Any, made: Any) -> tuple[Any, Any, Any]:
        carry, result = step(index, carry)
        parts = [] if form is None else structure.flatten(result)
        written = [array.write(index, x) for array, x in zip(made, parts, strict=True)]
        return index + (-1 if reverse else 1), carry, written

    start = convert_to_tensor(count - 1 if reverse else 0)
    _, carry, arrays = looping.while_loop(left, turn, (start, carry, arrays))
    stacked = [array.stack() for array in arrays]
    return carry, None if form is None else structure.pack_sequence_as(form, stacked)


@operation("core", "AssociativeScan", "reverse", "axis")
def associative_scan(
    f: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """The cumulative result of an associative function along an axis.

    Args:
        f: joins two structures of slices, all pairs at once: f(a, f(b, c)) = f(f(a, b), c).
        elems: tensors of one size along `axis`, in a structure.
        reverse: whether each is joined with all behind it.
        axis: the axis.

    Returns:
        Tensors of the shapes of `elems`, in their structure.

    Raises:
        TypeError: `f` is no function.
        ValueError: the sizes along the axis differ.
    """
    _require_function("associative_scan", f)
    tensors = [convert_to_tensor(x) for x in structure.flatten(elems)]
    known = {size for x in tensors if (size := x.shape[axis]) is not None}
    if len(known) > 1 or not tensors:
        raise ValueError(
            "keras.ops.associative_scan: all tensors must have one size along axis "
            f"{axis}, got shapes {', '.join(x.shape.text for x in tensors)}"
        )
    places = [axis % (x.shape.rank or 1) for x in tensors]

    def join(a: Parts, b: Parts) -> Parts:
        made = f(structure.pack_sequence_as(elems, a), structure.pack_sequence_as(elems, b))
        return [convert_to_tensor(x) for x in structure.flatten(made)]

    def part(parts: Parts, *limits: Any) -> Parts:
        cut = slice(*limits)
        return [x[(slice(None),) * place + (cut,)] for x, place in zip(parts, places, strict=True)]

    def scanned(parts: Parts, count: int) -> Parts:
        """The cumulative results of `count` elements: of pairs first, then of the rest."""
        if count < 2:
            return parts
        half = count // 2
        odd = scanned(join(part(parts, 0, 2 * half, 2), part(parts, 1, None, 2)), half)
        even = part(parts, 0, 1)
        if count > 2:
            rest = join(part(odd, 0, (count - 1) // 2), part(parts, 2, None, 2))
            even = [
                joining.concat([a, b], place)
                for a, b, place in zip(even, rest, places, strict=True)
            ]
        mixed = [
            _alternating(a, b, place)
            for a, b, place in zip(part(even, 0, half), odd, places, strict=True)
        ]
        if count == 2 * half:
            return mixed
        ends = part(even, half, None)
        return [
            joining.concat([a, b], place) for a, b, place in zip(mixed, ends, places, strict=True)
        ]

    def turned(parts: Parts) -> Parts:
        if not reverse:
            return parts
        return [permutations.reverse(x, [n]) for x, n in zip(parts, places, strict=True)]

    first = turned(tensors)
    found = scanned(first, known.pop()) if known else _doubled(join, part, first, places)
    return structure.pack_sequence_as(elems, turned(found))


def _doubled(
    join: Callable[[Parts, Parts], Parts],
    part: Callable[..., Parts],
    tensors: Parts,
    places: list[int],
) -> Parts:
    """The scan of a size that is not known: of 1, 2, 4, … elements up to each."""
    count = shapes.axis_sizes(tensors[0])[places[0]]

    def step(reach: Any, parts: Parts) -> tuple[Any, Parts]:
        rest = join(part(parts, 0, count - reach), part(parts, reach, None))
        made = [
            joining.concat([a, b], place)
            for a, b, place in zip(part(parts, 0, reach), rest, places, strict=True)
        ]
        for new, x in zip(made, tensors, strict=True):
            new.set_shape(x.shape)
        return 2 * reach, made

    start = (convert_to_tensor(1), tensors)
    found: Parts = looping.while_loop(lambda reach, _: reach < count, step, start)[1]
    return found


def _alternating(a: Tensor, b: Tensor, axis: int) -> Tensor:
    """The elements of both, interleaved."""
    sizes = shapes.axis_sizes(a)
    sizes[axis] = 2 * sizes[axis]
    return reshaping.reshape(joining.stack([a, b], axis + 1), sizes)


def _require_function(name: str, f: Any) -> None:
    if not callable(f):
        raise TypeError(f"keras.ops.{name}: f must be a function, got {type(f).__name__}")
