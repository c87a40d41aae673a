"""Joining and splitting: ConcatV2, Pack, Unpack, Split, SplitV, Tile, repeat."""

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor, holds_tensor
from pinnace.framework.dtypes import ANY, INDEX, int8, int32, int64
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape, unknown_shape
from pinnace.framework.tensor import Array, Operands, Tensor, TensorLike, wrap
from pinnace.ops import flops
from pinnace.ops.array import casting, constants, identities, reshaping, shapes
from pinnace.ops.array.axes import known_axis, normal_axis, require_rank
from pinnace.ops.array.direct import finish
from pinnace.ops.batch_rules import BatchCall, BatchRule
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.math import division
from pinnace.ops.opdef import InferCall, OpCall, attr, typed
from pinnace.ops.registry import define

__all__ = ["concat", "split", "stack", "unstack"]


def _alike(values: Sequence[Any]) -> list[Array] | None:
    """The arrays of eager tensors of one dtype; None for anything else."""
    arrays = []
    for x in values:
        if type(x) is not Tensor:
            return None
        arrays.append(x._array)
    kind = arrays[0].dtype
    return arrays if all([a.dtype is kind for a in arrays]) else None  # noqa: C419 (hot)


def _joined(call: InferCall, values: int, axis: int) -> Shape:
    found = [spec.shape for spec in call.specs(values)]
    ranks = {shape.rank for shape in found if shape.rank is not None}
    if not ranks:
        return Shape(None)
    if len(ranks) > 1:
        call.fail("all values must have one rank")
    rank = ranks.pop()
    if rank == 0:
        call.fail("values must have at least one axis: scalars are joined with stack")
    known = [shape for shape in found if shape.rank is not None]
    at = known_axis(call, axis, rank)
    if at is None:
        return unknown_shape(rank)
    merged = Shape([None] * rank)
    for shape in known:
        others = Shape([None if i == at else n for i, n in enumerate(shape)])
        if not merged.is_compatible_with(others):
            call.fail(f"sizes of values must be equal except along axis {at}")
        merged = merged.merge_with(others)
    parts = [None if shape.rank is None else shape[at] for shape in found]
    total = None if None in parts else sum(int(n) for n in parts if n is not None)
    return Shape([total if i == at else n for i, n in enumerate(merged)])


def _cut(values: Sequence[Tensor], axis: Tensor, dy: Tensor) -> list[Tensor]:
    """`dy` split into parts with the sizes of `values` along `axis`."""
    if len(values) == 1:
        return [dy]
    axis = casting.cast(reshaping.reshape(axis, []), int32)
    if type(axis) is Tensor and all(value.shape.is_fully_defined() for value in values):
        at = int(axis)
        return split(dy, [int(value.shape[at]) for value in values], axis)  # type: ignore[arg-type]
    rank = values[0].shape.rank
    place = division.floormod(
        axis, constants.constant(rank, int32) if rank else shapes.rank(values[0])
    )
    sizes = [shapes.shape(value)[place] for value in values]
    return split(dy, stack(sizes), axis)


@takes_composites(ragged="shaping:concat")
def concat(values: Any, axis: Any, name: str | None = "concat") -> Tensor:
    """The tensors of `values` concatenated along `axis`.

    Args:
        values: tensors of one dtype whose shapes differ along `axis` at most.
        axis: an integer scalar; negative ones count from the end.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: dtypes differ, or sizes of another axis, or there is no such axis.
    """
    if isinstance(values, Operands) or not isinstance(values, (list, tuple)):
        values = [values]
    if len(values) == 1:
        return identities.identity(values[0], name)
    if type(axis) is int and state.tracer is None:
        arrays = _alike(values)
        if arrays is not None:
            try:
                array = np.concatenate(arrays, axis)
            except ValueError:  # `execute` raises an error that explains it
                pass
            else:
                place = wrap(np.array(axis, np.int32)) if state.tapes else axis
                return finish(CONCAT_V2, (tuple(values), place), {"N": len(values)}, array)
    return execute_one(CONCAT_V2, values, axis, name=name)


def _concat_kernel(values: tuple[Array, ...], axis: Array) -> Array:
    if axis.size != 1:
        raise InvalidArgumentError(f"ConcatV2: axis must be one number, got {axis.tolist()}")
    at = normal_axis("ConcatV2", int(axis.reshape(-1)[0]), values[0].ndim)
    try:
        return np.concatenate(values, at)
    except ValueError:
        _refuse_concat("ConcatV2", [x.shape for x in values], at)


def _refuse_concat(op: str, shapes_: Sequence[Any], axis: int) -> NoReturn:
    first = shapes_[0]
    for i, shape in enumerate(shapes_):
        ranks = len(shape) != len(first)
        if ranks or any(
            a != b for at, (a, b) in enumerate(zip(first, shape, strict=True)) if at != axis
        ):
            what = (
                "ranks must be equal" if ranks else f"sizes must be equal except along axis {axis}"
            )
            raise InvalidArgumentError(
                f"{op}: {what}, got shapes {list(first)} for values[0] and {list(shape)} for "
                f"values[{i}]"
            )
    raise InvalidArgumentError(
        f"{op}: values cannot be joined along axis {axis}: {[list(shape) for shape in shapes_]}"
    )


def _infer_concat(call: InferCall) -> Shape:
    return _joined(call, 0, 1)


def _concat_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    values, axis = call.inputs
    return _cut(values, axis, dy), None


def _concat_rows(call: BatchCall) -> Sequence[Tensor]:
    last = len(call.tensors) - 1
    return call.apply([*map(call.tiled, range(last)), call.stacked_axes(last)])


CONCAT_V2 = define(
    name="ConcatV2",
    signature="values: N*T, axis: Tidx -> output: T",
    types={"T": ANY, "Tidx": typed(INDEX, default=int32)},
    infer=_infer_concat,
    kernel=_concat_kernel,
    gradient=_concat_gradient,
    static=True,
    batch=BatchRule(_concat_rows),
    flops=flops.none,
    moves="concatenate",
)


@takes_composites(ragged="shaping:stack")
def stack(values: Any, axis: int = 0, name: str | None = "stack") -> Tensor:
    """The tensors of `values` stacked along a new axis.

    Args:
        values: tensors of one dtype and shape, at least one.
        axis: position of the new axis in the result; negative ones count from its end.
        name: name of the node while tracing.

    Raises:
        ValueError: `values` is empty.
        InvalidArgumentError: dtypes or shapes differ, or there is no such axis.
    """
    if isinstance(values, Tensor) and axis == 0:
        return values
    parts = list(values)
    if not parts:
        raise ValueError("stack: values must hold at least one tensor, got none")
    if axis == 0 and not holds_tensor(parts):
        try:  # numbers and arrays are one constant, whose dtype `convert_to_tensor` infers
            return convert_to_tensor(parts, name=name)
        except (TypeError, ValueError):
            pass  # `execute` converts each to the dtype of the first, or explains
    if state.tracer is None:
        arrays = _alike(parts)
        if arrays is not None and -arrays[0].ndim - 1 <= axis <= arrays[0].ndim:
            try:
                array = np.stack(arrays, axis)
            except ValueError:  # `execute` raises an error that explains it
                pass
            else:
                return finish(PACK, (tuple(parts),), {"N": len(parts), "axis": axis}, array)
    return execute_one(PACK, parts, axis=int(axis), name=name)


def _pack_kernel(values: tuple[Array, ...], *, axis: int) -> Array:
    first = values[0]
    shape = first.shape
    if [x.shape for x in values].count(shape) != len(values):
        i, other = next((i, x.shape) for i, x in enumerate(values) if x.shape != shape)
        raise InvalidArgumentError(
            f"Pack: shapes of values must be equal, got {list(shape)} for values[0] and "
            f"{list(other)} for values[{i}]"
        )
    at = normal_axis("Pack", axis, first.ndim + 1)
    if first.size == 1 and first.ndim:
        # One row of a table: np.stack makes a view of each number first.
        line = np.concatenate(values, axis=None)
        return line.reshape(*shape[:at], len(values), *shape[at:])
    if at == 0:
        # np.array of scalar arrays of objects would hold the arrays instead of the objects.
        plain = first.ndim == 0 and first.dtype != object
        return np.array(values, first.dtype) if plain else np.stack(values)
    return np.stack(values, at)


def _infer_pack(call: InferCall) -> Shape:
    merged = Shape(None)
    for spec in call.specs(0):
        if not merged.is_compatible_with(spec.shape):
            call.fail("all values must have one shape")
        merged = merged.merge_with(spec.shape)
    if merged.rank is None:
        return merged
    axis, rank = call.attrs["axis"], merged.rank + 1
    if not -rank <= axis < rank:
        call.fail(
            f"axis must be in [{-rank}, {rank}), got {axis}: "
            f"axis = {axis} not in [{-rank}, {rank}), it is out of range"
        )
    at = axis % rank
    sizes = list(merged)
    return Shape([*sizes[:at], len(call.specs(0)), *sizes[at:]])


def _pack_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    return (unstack(dy, len(call.inputs[0]), call.attr("axis")),)


def _pack_rows(call: BatchCall) -> Sequence[Tensor]:
    axis = call.attrs["axis"]
    parts = [call.tiled(index) for index in range(len(call.tensors))]
    return call.apply(parts, axis=axis + (axis >= 0))


PACK = define(
    name="Pack",
    signature="values: N*T -> output: T",
    types={"T": ANY},
    attrs={"axis": attr("int", default=0)},
    infer=_infer_pack,
    kernel=_pack_kernel,
    gradient=_pack_gradient,
    static=True,
    batch=BatchRule(_pack_rows),
    flops=flops.none,
    moves="stack",
)


def _without_gaps(call: OpCall, dys: Sequence[Tensor | None]) -> list[Tensor]:
    """`dys` with zeros in place of None."""
    return [
        constants.zeros_like(y) if dy is None else dy
        for dy, y in zip(dys, call.outputs, strict=True)
    ]


def unstack(
    value: TensorLike, num: int | None = None, axis: int = 0, name: str | None = "unstack"
) -> list[Tensor]:
    """The slices of `value` along `axis`, without that axis.

    Args:
        value: [...], any dtype, rank at least 1.
        num: the size of `axis`; needed where that is unknown.
        axis: the axis; negative ones count from the end.
        name: name of the node while tracing.

    Raises:
        ValueError: the size of `axis` is unknown and `num` is not given.
        InvalidArgumentError: `num` is not that size, or there is no such axis.
    """
    x = convert_to_tensor(value)
    if num is None:
        rank = x.shape.rank
        if rank is not None:
            at = normal_axis("Unpack", axis, rank)
            num = x.shape[at]
        if num is None:
            raise ValueError(
                f"unstack: num must be given where the size of axis {axis} is unknown, got shape "
                f"{x.shape.text}"
            )
    return list(execute(UNPACK, x, num=int(num), axis=int(axis), name=name))


def _unpack_kernel(value: Array, *, num: int, axis: int) -> tuple[Array, ...]:
    at = normal_axis("Unpack", axis, value.ndim)
    if value.shape[at] != num:
        raise InvalidArgumentError(
            f"Unpack: num must be the size of axis {at}, got {num} and {value.shape[at]}\n"
            f"  value: shape {list(value.shape)}"
        )
    first = value if at == 0 else np.moveaxis(value, at, 0)
    # The Ellipsis keeps parts of a vector of strings arrays.
    return tuple([first[i, ...] for i in range(num)])


def _infer_unpack(call: InferCall) -> tuple[Shape, ...]:
    shape, axis = call.spec(0).shape, call.attrs["axis"]
    num: int = call.attrs["num"]
    if shape.rank is None:
        return (shape,) * num
    if not -shape.rank <= axis < shape.rank:
        call.fail(
            f"axis must be in [{-shape.rank}, {shape.rank}), got {axis}: "
            f"axis = {axis} not in [{-shape.rank}, {shape.rank}), it is out of range"
        )
    at = axis % shape.rank
    if shape[at] not in {None, num}:
        call.fail(f"num must be the size of axis {at}, got {num} and {shape[at]}")
    sizes = list(shape)
    return (Shape([*sizes[:at], *sizes[at + 1 :]]),) * num


def _unpack_gradient(call: OpCall, *dys: Tensor | None) -> tuple[Any, ...]:
    if not dys:
        return (constants.zeros_like(call.inputs[0]),)
    return (stack(_without_gaps(call, dys), call.attr("axis")),)


def _unpack_rows(call: BatchCall) -> Sequence[Tensor]:
    axis = call.attrs["axis"]
    return call.apply(call.tensors, axis=axis + (axis >= 0))


UNPACK = define(
    name="Unpack",
    signature="value: T -> output: num*T",
    types={"T": ANY},
    attrs={"axis": attr("int", default=0)},
    infer=_infer_unpack,
    kernel=_unpack_kernel,
    gradient=_unpack_gradient,
    moves="unstack",
    batch=BatchRule(_unpack_rows),
    flops=flops.none,
)


def _parts(value: Array, lengths: Sequence[int], axis: int) -> tuple[Array, ...]:
    lead = (slice(None),) * axis
    found = []
    start = 0
    for length in lengths:
        found.append(value[(*lead, slice(start, start + length))])
        start += length
    return tuple(found)


@takes_composites(ragged="shaping:split")
def split(
    value: TensorLike,
    num_or_size_splits: Any,
    axis: Any = 0,
    num: int | None = None,
    name: str | None = "split",
) -> list[Tensor]:
    """`value` split along `axis`.

    Args:
        value: [...], any dtype.
        num_or_size_splits: how many equal parts, or the size of each part; one size may be -1.
        axis: the axis; negative ones count from the end.
        num: how many parts, where the sizes are a tensor of unknown length.
        name: name of the node while tracing.

    Raises:
        ValueError: the number of parts is unknown.
        InvalidArgumentError: the parts do not add up to the axis.

    Source:
        TensorFlow ops `Split`, `SplitV` (array_ops.cc).
    """
    if isinstance(num_or_size_splits, (int, np.integer)):
        count = int(num_or_size_splits)
        return list(execute(SPLIT, axis, value, num_split=count, name=name))
    sizes = convert_to_tensor(num_or_size_splits)
    if sizes.shape.rank == 0:
        raise ValueError(
            "split: the number of parts must be a Python integer; a tensor must be a vector of "
            "sizes"
        )
    if num is None:
        num = sizes.shape[0] if sizes.shape.rank == 1 else None
        if num is None:
            raise ValueError(
                f"split: num must be given where the number of sizes is unknown, got {sizes!r}"
            )
    return list(execute(SPLIT_V, value, sizes, axis, num_split=int(num), name=name))


def _split_kernel(split_dim: Array, value: Array, *, num_split: int) -> tuple[Array, ...]:
    at = normal_axis("Split", split_dim.item(), value.ndim)
    size = value.shape[at]
    if num_split < 1 or size % num_split:
        raise InvalidArgumentError(
            f"Split: axis {at} must be a multiple of num_split, got {size} and {num_split}\n"
            f"  value: shape {list(value.shape)}"
        )
    return _parts(value, [size // num_split] * num_split, at)


def _infer_split(call: InferCall) -> tuple[Shape, ...]:
    shape = call.spec(1).shape
    count: int = call.attrs["num_split"]
    require_rank(call, 0, 0, "split_dim must be a scalar")
    if count < 1:
        call.fail(f"num_split must be at least 1, got {count}")
    if shape.rank is None:
        return (shape,) * count
    if shape.rank == 0:
        call.fail("value must have at least one axis")
    at = known_axis(call, 0, shape.rank)
    if at is None:
        return (unknown_shape(shape.rank),) * count
    size = shape[at]
    if size is not None and size % count:
        call.fail(f"axis {at} must be a multiple of num_split, got {size} and {count}")
    part = None if size is None else size // count
    return (Shape([part if i == at else n for i, n in enumerate(shape)]),) * count


def _split_gradient(call: OpCall, *dys: Tensor | None) -> tuple[Any, ...]:
    return None, concat(_without_gaps(call, dys), call.inputs[0])


SPLIT = define(
    name="Split",
    signature="split_dim: int32, value: T -> output: num_split*T",
    types={"T": ANY},
    infer=_infer_split,
    kernel=_split_kernel,
    gradient=_split_gradient,
    flops=flops.none,
    moves="split",
)


def _concat_v1_kernel(concat_dim: Array, values: tuple[Array, ...]) -> Array:
    return _concat_kernel(values, concat_dim)


def _infer_concat_v1(call: InferCall) -> Shape:
    return _joined(call, 1, 0)


def _concat_v1_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    axis, values = call.inputs
    return None, _cut(values, axis, dy)


CONCAT = define(
    name="Concat",
    signature="concat_dim: int32, values: N*T -> output: T",
    types={"T": ANY},
    infer=_infer_concat_v1,
    kernel=_concat_v1_kernel,
    gradient=_concat_v1_gradient,
)


def _split_v_kernel(
    value: Array, size_splits: Array, split_dim: Array, *, num_split: int
) -> tuple[Array, ...]:
    at = normal_axis("SplitV", int(split_dim.reshape(-1)[0]), value.ndim)
    given = [int(n) for n in size_splits.reshape(-1)]
    lengths = _completed(given, value.shape[at])
    if len(lengths) != num_split or min(lengths, default=0) < 0 or sum(lengths) != value.shape[at]:
        raise InvalidArgumentError(
            f"SplitV: size_splits must be {num_split} sizes that add up to axis {at}, got {given} "
            f"and {value.shape[at]}\n"
            f"  value: shape {list(value.shape)}"
        )
    return _parts(value, lengths, at)


def _completed(lengths: list[int], total: int) -> list[int]:
    """`lengths` with one -1 replaced by the remainder."""
    if lengths.count(-1) != 1:
        return lengths
    rest = total - sum(lengths) - 1
    return [rest if n == -1 else n for n in lengths]


def _infer_split_v(call: InferCall) -> tuple[Shape, ...]:
    shape, count = call.spec(0).shape, int(call.attrs["num_split"])
    given = call.spec(1).shape
    if given.rank not in {None, 1} or (given.rank == 1 and given[0] not in {None, count}):
        call.fail(f"size_splits must be a vector of num_split = {count} sizes")
    if shape.rank is None:
        return (shape,) * count
    if shape.rank == 0:
        call.fail("value must have at least one axis")
    at = known_axis(call, 2, shape.rank)
    if at is None:
        return (unknown_shape(shape.rank),) * count
    sizes: list[int | None] = [None] * count
    value = call.constant(1)
    if value is not None:
        lengths = [int(n) for n in value.reshape(-1)]
        size = shape[at]
        if size is not None:
            lengths = _completed(lengths, size)
            if min(lengths, default=0) < 0 or sum(lengths) != size:
                call.fail(f"size_splits must add up to axis {at}, got {lengths} and {size}")
        sizes = [None if n < 0 else n for n in lengths]
    return tuple(Shape([part if i == at else n for i, n in enumerate(shape)]) for part in sizes)


def _split_v_gradient(call: OpCall, *dys: Tensor | None) -> tuple[Any, ...]:
    return concat(_without_gaps(call, dys), call.inputs[2]), None, None


SPLIT_V = define(
    name="SplitV",
    signature="value: T, size_splits: Tlen, split_dim: int32 -> output: num_split*T",
    types={"T": ANY, "Tlen": typed({int8, int32, int64}, default=int64)},
    infer=_infer_split_v,
    kernel=_split_v_kernel,
    gradient=_split_v_gradient,
    flops=flops.none,
    moves="split",
)
