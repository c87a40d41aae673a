"""Reshape, ExpandDims, Squeeze."""

import math
from collections.abc import Sequence
from operator import index
from typing import Any, NoReturn

import numpy as np

from pinnace.framework.context import state
from pinnace.framework.dtypes import ANY, INDEX, int32
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape, unknown_shape
from pinnace.framework.tensor import Array, Tensor, TensorLike, wrap
from pinnace.ops.array import shapes
from pinnace.ops.array.axes import known_axis, normal_axis
from pinnace.ops.array.direct import finish

# Defined in `identities`, which imports no other family; re-exported for callers that expect it
# here.
from pinnace.ops.array.identities import identity as identity
from pinnace.ops.array.identities import identity_n as identity_n
from pinnace.ops.array.identities import prevent_gradient as prevent_gradient
from pinnace.ops.array.identities import stop_gradient as stop_gradient
from pinnace.ops.batch_rules import BatchCall, BatchRule
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute_one
from pinnace.ops.opdef import InferCall, OpCall, attr, typed
from pinnace.ops.registry import define

__all__ = ["expand_dims", "reshape", "squeeze"]

_NO_ATTRS: dict[str, Any] = {}


def as_sizes(shape: Any) -> Any:
    """A shape as an argument of an op; a known `Shape` becomes a list."""
    return shape.as_list() if isinstance(shape, Shape) else shape


def sizes_or_one(given: Any) -> Any:
    """A shape as an argument of an op; a scalar is the size of a single axis."""
    if isinstance(given, Tensor):
        is_one = given.shape.rank == 0
    else:
        is_one = isinstance(given, (int, np.ndarray, np.generic)) and np.ndim(given) == 0
    return [given] if is_one else as_sizes(given)


def _back_to_input(call: OpCall, dy: Tensor) -> tuple[Tensor, None]:
    return reshape(dy, shapes.sizes(call.inputs[0])), None


def reshape(tensor: TensorLike, shape: Any, name: str | None = None) -> Tensor:
    """The elements of `tensor`, in row-major order, in another shape.

    Args:
        tensor: [...], any dtype.
        shape: [rank], int32 or int64; one size may be -1 and is then whatever is left. A scalar is
            the size of the one axis.
        name: name of the node while tracing.

    Returns:
        The shape `shape`, dtype of `tensor`.

    Raises:
        InvalidArgumentError: `shape` has another number of elements, or no size fits the -1.
    """
    if type(tensor) is Tensor and type(shape) in {list, tuple} and state.tracer is None:
        try:
            array = tensor._array.reshape(shape)
        except (TypeError, ValueError):  # tensors among the sizes, or an error that `execute` words
            pass
        else:
            if array.shape == shape or min(map(index, shape), default=0) >= -1:
                if not state.tapes:
                    return wrap(array)
                sizes = wrap(np.array(shape, np.int32 if array.size < _INT32_MAX else np.int64))
                return finish(RESHAPE, (tensor, sizes), _NO_ATTRS, array)
    return execute_one(RESHAPE, tensor, sizes_or_one(shape), name=name)


_INT32_MAX = 2**31
# TensorFlow's words, which programs look for.
_VALUES = "Input to reshape is a tensor with {} values, but the requested shape has {}"


def _reshape_kernel(tensor: Array, shape: Array) -> Array:
    if shape.ndim != 1:
        raise InvalidArgumentError(
            f"Reshape: shape must be a vector of sizes, got rank {shape.ndim}"
        )
    target = shape.tolist()
    if not target:
        if tensor.size != 1:
            _refuse_reshape(tensor.shape, target)
        return tensor.reshape(())
    if problem := _below_minus_one(target):
        raise InvalidArgumentError(f"Reshape: {problem}")
    try:
        return tensor.reshape(_inferred(tensor.shape, target))
    except ValueError:
        _refuse_reshape(tensor.shape, target)


def _below_minus_one(target: list[int]) -> str:
    """The error text for a size below -1; empty if there is none."""
    place = next((i for i, size in enumerate(target) if size < -1), None)
    if place is None:
        return ""
    return (
        f"size {place} must be non-negative, not {target[place]}, or -1 for what is left, got "
        f"{target}"
    )


def _inferred(shape: tuple[int, ...], target: list[int]) -> list[int]:
    """The sizes; with a size of 0, the -1 follows from the other sizes, as in TensorFlow."""
    if 0 not in target or target.count(-1) != 1 or 0 not in shape:
        return target
    have = math.prod(n for n in shape if n)
    rest = math.prod(n for n in target if n > 0)
    return [have // rest if n == -1 else n for n in target]


def _refuse_reshape(shape: tuple[int, ...], target: list[int]) -> NoReturn:
    count = int(np.prod(shape, dtype=np.int64))
    if target.count(-1) > 1:
        problem = f"only one size of shape may be -1, got {target}"
    elif -1 in target:
        rest = [n for n in target if n != -1]
        product = int(np.prod(rest, dtype=np.int64))
        problem = (
            f"the -1 in {target} has no value if another size is 0"
            if product == 0
            else f"the {count} elements of tensor are no multiple of {product}, "
            f"the product of {rest}"
        )
    else:
        product = int(np.prod(target, dtype=np.int64))
        problem = f"{_VALUES.format(count, product)}: {target}"
    raise InvalidArgumentError(f"Reshape: {problem}\n  tensor: shape {list(shape)}")


def _infer_reshape(call: InferCall) -> Shape:
    shape = call.spec(0).shape
    if call.spec(1).shape.rank not in {None, 1}:
        call.fail("shape must be a vector of sizes")
    given = call.constant(1)
    if given is not None and (problem := _below_minus_one(given.tolist())):
        call.fail(problem)
    target = call.shape_constant(1)
    if target.rank is None or shape.rank is None:
        return target
    sizes: list[int | None] = list(target)
    count, wanted = _elements(shape), _elements(target)
    known, missing = _product_of_known(target), sizes.count(None)
    if count is None:
        _check_one_missing(call, shape, wanted)
    elif wanted is not None:
        if wanted != count:
            call.fail(f"{_VALUES.format(count, wanted)}: {_with_minus_one(target)}")
    elif count % known:
        call.fail(
            f"the {count} elements of tensor are no multiple of {known}, the product of the sizes "
            f"known in {target.text}"
        )
    elif missing == 1:
        sizes[sizes.index(None)] = count // known
    return Shape(sizes)


def _elements(shape: Shape) -> int | None:
    """The number of elements; 0 if any size is 0, even if others are unknown."""
    return 0 if 0 in shape else shape.num_elements()


def _product_of_known(shape: Shape) -> int:
    return math.prod(n for n in shape if n is not None)


def _with_minus_one(target: Shape) -> list[int]:
    return [-1 if n is None else n for n in target]


def _check_one_missing(call: InferCall, shape: Shape, wanted: int | None) -> None:
    """Check that some value of a single unknown size gives the wanted number of elements."""
    known = _product_of_known(shape)
    if wanted is not None and list(shape).count(None) == 1 and wanted % known:
        call.fail(f"the {wanted} elements wanted are no multiple of {known}, which tensor has")


def _reshape_rows(call: BatchCall) -> Sequence[Tensor]:
    if call.batched[1]:
        call.refuse("has another shape in every row")
    x, sizes = call.tensors
    row = call.outputs[0].shape
    if row.is_fully_defined() and 0 not in row:
        return call.apply([x, call.extended(np.array(row.as_list(), np.int32), -1)])
    return call.apply([x, call.extended(sizes, call.count())])


RESHAPE = define(
    name="Reshape",
    signature="tensor: T, shape: Tshape -> output: T",
    types={"T": ANY, "Tshape": typed(INDEX, default=int32)},
    infer=_infer_reshape,
    kernel=_reshape_kernel,
    gradient=_back_to_input,
    view="reshaped",
    static=True,
    batch=BatchRule(_reshape_rows, exact=True),
)


@takes_composites(ragged="shaping:expand_dims")
def expand_dims(input: TensorLike, axis: Any, name: str | None = None) -> Tensor:
    """`input` with a new axis of size 1 before `axis`.

    Args:
        input: [...], any dtype.
        axis: from -rank - 1 to rank; negative ones count from the end of the result.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: there is no such axis.
    """
    if type(input) is Tensor and type(axis) is int and state.tracer is None and not state.tapes:
        array = input._array
        rank = array.ndim + 1
        if -rank <= axis < rank and array.dtype != object:
            at = axis % rank
            return wrap(array.reshape((*array.shape[:at], 1, *array.shape[at:])))
    return execute_one(EXPAND_DIMS, input, axis, name=name)


def _expand_dims_kernel(input: Array, dim: Array) -> Array:
    if dim.size != 1:
        raise InvalidArgumentError(f"ExpandDims: axis must be one number, got {dim.tolist()}")
    at = normal_axis("ExpandDims", int(dim.reshape(-1)[0]), input.ndim + 1)
    return input.reshape((*input.shape[:at], 1, *input.shape[at:]))


def _infer_expand_dims(call: InferCall) -> Shape:
    shape = call.spec(0).shape
    if shape.rank is None:
        return Shape(None)
    axis = known_axis(call, 1, shape.rank + 1)
    if axis is None:
        return unknown_shape(shape.rank + 1)
    sizes = list(shape)
    return Shape([*sizes[:axis], 1, *sizes[axis:]])


def _expand_dims_rows(call: BatchCall) -> Sequence[Tensor]:
    return call.apply([call.tensors[0], call.stacked_axes(1)])


EXPAND_DIMS = define(
    name="ExpandDims",
    signature="input: T, dim: Tdim -> output: T",
    types={"T": ANY, "Tdim": typed(INDEX, default=int32)},
    infer=_infer_expand_dims,
    kernel=_expand_dims_kernel,
    gradient=_back_to_input,
    view="reshaped",
    static=True,
    batch=BatchRule(_expand_dims_rows, exact=True),
)


@takes_composites(ragged="shaping:squeeze")
def squeeze(input: TensorLike, axis: Any = None, name: str | None = None) -> Tensor:
    """`input` without axes of size 1.

    Args:
        input: [...], any dtype.
        axis: the axis or axes to drop; None is all of size 1.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: a named axis is not of size 1, or there is no such axis.
    """
    dims = () if axis is None else tuple(int(a) for a in np.asarray(axis).reshape(-1))
    return execute_one(SQUEEZE, input, squeeze_dims=dims, name=name)


def _back_to_only_input(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (reshape(dy, shapes.sizes(call.inputs[0])),)


def _squeeze_kernel(input: Array, *, squeeze_dims: tuple[int, ...]) -> Array:
    shape = input.shape
    if not squeeze_dims:
        return input.reshape([n for n in shape if n != 1])
    gone = {normal_axis("Squeeze", axis, len(shape)) for axis in squeeze_dims}
    for axis in gone:
        if shape[axis] != 1:
            raise InvalidArgumentError(
                f"Squeeze: axis {axis} must be of size 1, got {shape[axis]}\n"
                f"  input: shape {list(shape)}"
            )
    return input.reshape([n for axis, n in enumerate(shape) if axis not in gone])


def _infer_squeeze(call: InferCall) -> Shape:
    shape = call.spec(0).shape
    dims = call.attrs["squeeze_dims"]
    if shape.rank is None:
        return Shape(None)
    if not dims:
        return Shape([n for n in shape if n != 1]) if shape.is_fully_defined() else Shape(None)
    gone = set()
    for axis in dims:
        if not -shape.rank <= axis < shape.rank:
            call.fail(f"axis must be in [{-shape.rank}, {shape.rank}), got {axis}")
        if shape[axis] not in {None, 1}:
            call.fail(f"axis {axis} must be of size 1, got {shape[axis]}")
        gone.add(axis % shape.rank)
    return Shape([n for axis, n in enumerate(shape) if axis not in gone])


def _squeeze_rows(call: BatchCall) -> Sequence[Tensor]:
    row = call.inputs[0].shape
    axes = call.attrs.get("squeeze_dims") or ()
    if not axes:
        if not row.is_fully_defined():
            call.refuse("does not say which axes")
        axes = tuple(axis for axis, size in enumerate(row) if size == 1)
    moved = tuple(int(axis) + (axis >= 0) for axis in axes)
    return call.apply(call.tensors, squeeze_dims=moved) if moved else call.tensors


SQUEEZE = define(
    name="Squeeze",
    signature="input: T -> output: T",
    types={"T": ANY},
    attrs={"squeeze_dims": attr("list(int)", default=())},
    infer=_infer_squeeze,
    kernel=_squeeze_kernel,
    gradient=_back_to_only_input,
    view="reshaped",
    static=True,
    batch=BatchRule(_squeeze_rows),
)
