"""Other shapes for the same elements: Reshape, ExpandDims, Squeeze, Transpose, BroadcastTo."""

from typing import Any, NoReturn

import numpy as np

from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import ANY, ANY_VALUE, COMPLEX, INDEX, int32
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape, broadcast_shapes, unknown_shape
from pinnace.framework.tensor import Array, Tensor, TensorLike, wrap
from pinnace.ops.array import permutations, shapes
from pinnace.ops.array.axes import known_axis, normal_axis
from pinnace.ops.array.direct import finish

# `identities` needs no other family, so that names may be taken out of it: others look here.
from pinnace.ops.array.identities import identity as identity
from pinnace.ops.array.identities import identity_n as identity_n
from pinnace.ops.array.identities import prevent_gradient as prevent_gradient
from pinnace.ops.array.identities import stop_gradient as stop_gradient
from pinnace.ops.execute import execute
from pinnace.ops.math import broadcasting, complexes, division, ranges
from pinnace.ops.opdef import InferCall, OpCall, OpDef, attr, typed
from pinnace.ops.registry import register

__all__ = ["broadcast_to", "expand_dims", "reshape", "squeeze", "transpose"]

_NO_ATTRS: dict[str, Any] = {}


def reshape(tensor: TensorLike, shape: Any, name: str | None = None) -> Tensor:
    """The elements of `tensor`, in row-major order, in another shape.

    Args:
        tensor: [...], any dtype.
        shape: [rank], int32 or int64; one size may be -1 and is then whatever is left.
        name: name of the node while tracing.

    Returns:
        The shape `shape`, dtype of `tensor`.

    Raises:
        InvalidArgumentError: `shape` has another number of elements, or no size fits the -1.

    Source:
        TensorFlow op `Reshape` (array_ops.cc).
    """
    if type(tensor) is Tensor and type(shape) in {list, tuple} and state.tracer is None:
        try:
            array = tensor._array.reshape(shape)
        except (TypeError, ValueError):  # tensors among the sizes, or an error that `execute` words
            pass
        else:
            if array.shape == shape or min(shape, default=0) >= -1:
                if not state.tapes:
                    return wrap(array)
                sizes = wrap(np.array(shape, np.int32 if array.size < _INT32_MAX else np.int64))
                return finish(RESHAPE, (tensor, sizes), _NO_ATTRS, array)
    return execute(RESHAPE, tensor, _sizes(shape), name=name)  # type: ignore[no-any-return]


def _sizes(shape: Any) -> Any:
    """A shape as an op takes it: a known `Shape` as a list."""
    return shape.as_list() if isinstance(shape, Shape) else shape


_INT32_MAX = 2**31


def expand_dims(input: TensorLike, axis: Any, name: str | None = None) -> Tensor:
    """`input` with a new axis of size 1 before `axis`.

    Args:
        input: [...], any dtype.
        axis: from -rank - 1 to rank; negative ones count from the end of the result.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: there is no such axis.

    Source:
        TensorFlow op `ExpandDims` (array_ops.cc).
    """
    if type(input) is Tensor and type(axis) is int and state.tracer is None and not state.tapes:
        array = input._array
        rank = array.ndim + 1
        if -rank <= axis < rank and array.dtype != object:
            at = axis % rank
            return wrap(array.reshape((*array.shape[:at], 1, *array.shape[at:])))
    return execute(EXPAND_DIMS, input, axis, name=name)  # type: ignore[no-any-return]


def squeeze(input: TensorLike, axis: Any = None, name: str | None = None) -> Tensor:
    """`input` without axes of size 1.

    Args:
        input: [...], any dtype.
        axis: the axis or axes to drop; None is all of size 1.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: a named axis is not of size 1, or there is no such axis.

    Source:
        TensorFlow op `Squeeze` (array_ops.cc).
    """
    dims = () if axis is None else tuple(int(a) for a in np.asarray(axis).reshape(-1))
    return execute(SQUEEZE, input, squeeze_dims=dims, name=name)  # type: ignore[no-any-return]


def transpose(
    a: TensorLike, perm: Any = None, conjugate: bool = False, name: str | None = None
) -> Tensor:
    """`a` with its axes in another order: axis i of the result is axis perm[i] of `a`.

    Args:
        a: [...], any dtype.
        perm: every axis once, negative ones counted from the end; None reverses them.
        conjugate: also the complex conjugate of every element.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: `perm` is no permutation of the axes.

    Source:
        TensorFlow op `Transpose` (array_ops.cc).
    """
    if perm is None and type(a) is Tensor and not conjugate and state.tracer is None:
        array = a._array
        if not state.tapes:
            return wrap(array.T)
    x = convert_to_tensor(a)
    rank = x.shape.rank
    order = perm
    if order is None:
        order = (
            list(range(rank))[::-1]
            if rank is not None
            else ranges.range(shapes.rank(x) - 1, -1, -1)
        )
    elif rank is not None and type(order) in {list, tuple} and all(type(i) is int for i in order):
        order = [i + rank if -rank <= i < 0 else i for i in order]
    if conjugate:
        x = complexes.conj(x)
    if type(x) is Tensor and type(order) is list and state.tracer is None and not state.tapes:
        array = np.asarray(x._array)
        if sorted(order) == [*range(array.ndim)] and array.dtype != object:
            return wrap(array.transpose(order))
    return execute(TRANSPOSE, x, order, name=name)  # type: ignore[no-any-return]


def broadcast_to(
    input: TensorLike,
    shape: Any,
    name: str | None = None,
) -> Tensor:
    """`input` repeated along new leading axes and axes of size 1.

    Args:
        input: [...], any dtype.
        shape: [rank], int32 or int64.
        name: name of the node while tracing.

    Returns:
        The shape `shape`, dtype of `input`.

    Raises:
        InvalidArgumentError: `input` does not broadcast to that shape.

    Source:
        TensorFlow op `BroadcastTo` (array_ops.cc).
    """
    if type(input) is Tensor and type(shape) in {list, tuple} and state.tracer is None:
        try:
            array = np.broadcast_to(input._array, shape)
            sizes = wrap(np.array(shape, np.int32))
        except (TypeError, ValueError, OverflowError):  # as in `reshape`
            pass
        else:
            return finish(BROADCAST_TO, (input, sizes), _NO_ATTRS, array)
    return execute(BROADCAST_TO, input, _sizes(shape), name=name)  # type: ignore[no-any-return]


# Kernels and inference.


def _reshape_kernel(tensor: Array, shape: Array) -> Array:
    if shape.ndim != 1:
        message = f"Reshape: shape must be a vector of sizes, got rank {shape.ndim}"
        raise InvalidArgumentError(message)
    target = shape.tolist()
    if not target:
        if tensor.size != 1:
            _refuse_reshape(tensor.shape, target)
        return tensor.reshape(())
    if min(target) < -1:
        message = f"Reshape: a size must be at least -1, got {target}"
        raise InvalidArgumentError(message)
    try:
        return tensor.reshape(target)
    except ValueError:
        _refuse_reshape(tensor.shape, target)


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
        problem = f"tensor has {count} elements, but shape {target} has {product}"
    message = f"Reshape: {problem}\n  tensor: shape {list(shape)}"
    raise InvalidArgumentError(message)


def _infer_reshape(call: InferCall) -> Shape:
    shape = call.spec(0).shape
    if call.spec(1).shape.rank not in {None, 1}:
        call.fail("shape must be a vector of sizes")
    target = call.shape_constant(1)
    count = shape.num_elements()
    if target.rank is None or count is None:
        return target
    sizes: list[int | None] = list(target)
    known = int(np.prod([n for n in sizes if n is not None], dtype=np.int64))
    unknown = sizes.count(None)
    if unknown == 0:
        if known != count:
            call.fail(f"tensor has {count} elements, but shape {sizes} has {known}")
        return target
    if known and count % known:
        call.fail(
            f"the {count} elements of tensor are no multiple of {known}, the product of the sizes "
            f"known in {target.text}"
        )
    if unknown == 1 and known:
        sizes[sizes.index(None)] = count // known
    return Shape(sizes)


def _back_to_input(call: OpCall, dy: Tensor) -> tuple[Tensor, None]:
    return reshape(dy, shapes.sizes(call.inputs[0])), None


def _back_to_only_input(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (reshape(dy, shapes.sizes(call.inputs[0])),)


def _expand_dims_kernel(input: Array, dim: Array) -> Array:
    if dim.size != 1:
        message = f"ExpandDims: axis must be one number, got {dim.tolist()}"
        raise InvalidArgumentError(message)
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


def _squeeze_kernel(input: Array, *, squeeze_dims: tuple[int, ...]) -> Array:
    shape = input.shape
    if not squeeze_dims:
        return input.reshape([n for n in shape if n != 1])
    gone = {normal_axis("Squeeze", axis, len(shape)) for axis in squeeze_dims}
    for axis in gone:
        if shape[axis] != 1:
            message = (
                f"Squeeze: axis {axis} must be of size 1, got {shape[axis]}\n"
                f"  input: shape {list(shape)}"
            )
            raise InvalidArgumentError(message)
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


def _transpose_kernel(x: Array, perm: Array) -> Array:
    given = perm.tolist()
    order = _axes_of(given, x.ndim)
    if order is None:
        message = (
            f"Transpose: perm must hold every axis of x once, got {given}\n"
            f"  x: shape {list(x.shape)}"
        )
        raise InvalidArgumentError(message)
    return x.transpose(order)


def _axes_of(perm: list[int], rank: int) -> list[int] | None:
    """Axes from 0 on, of some that may count from the end; None if they are no permutation."""
    order = [axis + rank if axis < 0 else axis for axis in perm]
    return order if sorted(order) == [*range(rank)] else None


def _conjugate_transpose_kernel(x: Array, perm: Array) -> Array:
    return np.conj(_transpose_kernel(x, perm))


def _infer_transpose(call: InferCall) -> Shape:
    shape, perm = call.spec(0).shape, call.spec(1).shape
    if perm.rank not in {None, 1}:
        call.fail("perm must be a vector of axes")
    length = perm[0] if perm.rank == 1 else None
    if shape.rank is None:
        return unknown_shape(length)
    if length not in {None, shape.rank}:
        call.fail("perm must hold every axis of x once")
    order = call.constant(1)
    if order is None:
        return unknown_shape(shape.rank)
    axes = _axes_of(order.tolist(), shape.rank)
    if axes is None:
        call.fail(f"perm must hold every axis of x once, got {order.tolist()}")
    return Shape([shape[axis] for axis in axes])


def _back(perm: Tensor) -> Tensor:
    """The permutation that undoes `perm`."""
    known = broadcasting.known_value(perm)
    if known is None or (known < 0).any():
        perm = division.floormod(perm, shapes.size(perm, perm.dtype))
    return permutations.invert_permutation(perm)


def _transpose_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor, None]:
    return transpose(dy, _back(call.inputs[1])), None


def _conjugate_transpose_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor, None]:
    return transpose(complexes.conj(dy), _back(call.inputs[1])), None


def _broadcast_to_kernel(input: Array, shape: Array) -> Array:
    target = shape.tolist()
    try:
        return np.broadcast_to(input, target)
    except ValueError:
        message = (
            f"BroadcastTo: input must broadcast to shape {target}, got shape {list(input.shape)}"
        )
        raise InvalidArgumentError(message) from None


def _infer_broadcast_to(call: InferCall) -> Shape:
    if call.spec(1).shape.rank not in {None, 1}:
        call.fail("shape must be a vector of sizes")
    shape, target = call.spec(0).shape, call.shape_constant(1)
    if shape.rank is None or target.rank is None:
        return target
    try:
        wide = broadcast_shapes(shape, target)
    except ValueError:
        wide = None
    if shape.rank > target.rank or wide is None or not wide.is_compatible_with(target):
        call.fail(f"input must broadcast to shape {target.text}")
    return wide


def _broadcast_to_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor, None]:
    return broadcasting.reduced_to(dy, call.inputs[0], call.outputs[0]), None


RESHAPE = register(
    OpDef(
        name="Reshape",
        signature="tensor: T, shape: Tshape -> output: T",
        types={"T": ANY, "Tshape": typed(INDEX, default=int32)},
        infer=_infer_reshape,
        kernel=_reshape_kernel,
        gradient=_back_to_input,
    )
)
EXPAND_DIMS = register(
    OpDef(
        name="ExpandDims",
        signature="input: T, dim: Tdim -> output: T",
        types={"T": ANY, "Tdim": typed(INDEX, default=int32)},
        infer=_infer_expand_dims,
        kernel=_expand_dims_kernel,
        gradient=_back_to_input,
    )
)
SQUEEZE = register(
    OpDef(
        name="Squeeze",
        signature="input: T -> output: T",
        types={"T": ANY},
        attrs={"squeeze_dims": attr("list(int)", default=())},
        infer=_infer_squeeze,
        kernel=_squeeze_kernel,
        gradient=_back_to_only_input,
    )
)
TRANSPOSE = register(
    OpDef(
        name="Transpose",
        signature="x: T, perm: Tperm -> y: T",
        types={"T": ANY, "Tperm": typed(INDEX, default=int32)},
        infer=_infer_transpose,
        kernel=_transpose_kernel,
        gradient=_transpose_gradient,
    )
)
CONJUGATE_TRANSPOSE = register(
    OpDef(
        name="ConjugateTranspose",
        signature="x: T, perm: Tperm -> y: T",
        types={"T": COMPLEX, "Tperm": typed(INDEX, default=int32)},
        infer=_infer_transpose,
        kernel=_conjugate_transpose_kernel,
        gradient=_conjugate_transpose_gradient,
    )
)
BROADCAST_TO = register(
    OpDef(
        name="BroadcastTo",
        signature="input: T, shape: Tidx -> output: T",
        types={"T": ANY_VALUE, "Tidx": typed(INDEX, default=int32)},
        infer=_infer_broadcast_to,
        kernel=_broadcast_to_kernel,
        gradient=_broadcast_to_gradient,
    )
)
