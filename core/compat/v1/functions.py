"""Functions of version 1 that version 2 changed or dropped."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from pinnace.framework import context, dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.no_effect import no_effect
from pinnace.functions.control import conditional, looping
from pinnace.ops.array import casting, constants, selecting, space_depth
from pinnace.ops.array import shapes as shape_ops
from pinnace.ops.control.printing import PRINT
from pinnace.ops.execute import execute_one
from pinnace.ops.math import division
from pinnace.ops.sparse.density import SPARSE_TO_DENSE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pinnace.framework.tensor import Tensor
    from pinnace.framework.variable import Variable


__all__ = [
    "Print",
    "assign",
    "assign_add",
    "assign_sub",
    "batch_to_space",
    "colocate_with",
    "cond",
    "constant",
    "div",
    "name_scope",
    "placeholder_with_default",
    "space_to_batch",
    "sparse_to_dense",
    "to_bfloat16",
    "to_complex64",
    "to_complex128",
    "to_double",
    "to_float",
    "to_int32",
    "to_int64",
    "where",
    "while_loop",
]


def to_float(x: Any, name: str | None = "ToFloat") -> Any:
    """`x` as float32; see `tf.cast`."""
    return casting.cast(x, dtypes.float32, name=name)


def to_double(x: Any, name: str | None = "ToDouble") -> Any:
    """`x` as float64; see `tf.cast`."""
    return casting.cast(x, dtypes.float64, name=name)


def to_int32(x: Any, name: str | None = "ToInt32") -> Any:
    """`x` as int32; see `tf.cast`."""
    return casting.cast(x, dtypes.int32, name=name)


def to_int64(x: Any, name: str | None = "ToInt64") -> Any:
    """`x` as int64; see `tf.cast`."""
    return casting.cast(x, dtypes.int64, name=name)


def to_bfloat16(x: Any, name: str | None = "ToBFloat16") -> Any:
    """`x` as bfloat16; see `tf.cast`."""
    return casting.cast(x, dtypes.bfloat16, name=name)


def to_complex64(x: Any, name: str | None = "ToComplex64") -> Any:
    """`x` as complex64; see `tf.cast`."""
    return casting.cast(x, dtypes.complex64, name=name)


def to_complex128(x: Any, name: str | None = "ToComplex128") -> Any:
    """`x` as complex128; see `tf.cast`."""
    return casting.cast(x, dtypes.complex128, name=name)


def constant(
    value: Any,
    dtype: Any = None,
    shape: Any = None,
    name: str = "Const",
    verify_shape: bool = False,
) -> Tensor:
    """A tensor of a value; see `tf.constant`.

    Args:
        value: a number, a text, nested lists of them, or an array.
        dtype: dtype of the tensor; None: that of the value.
        shape: shape of the tensor; a single value fills it.
        name: name of the node while tracing.
        verify_shape: whether a value of another shape is an error.

    Raises:
        TypeError: with `verify_shape`, the value has another shape.
    """
    if verify_shape and shape is not None:
        given = convert_to_tensor(value, dtype)
        if list(given.shape) != list(shape):
            raise TypeError(
                f"constant: with verify_shape the value must have the shape {list(shape)}, "
                f"got {list(given.shape)}"
            )
    return constants.constant(value, dtype, shape, name)


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """`x` where `condition` is true, else `y`; without both, the positions where it is true.

    Args:
        condition: the shape of `x`; or [rows], which chooses whole rows; or a scalar.
        x: [...], any dtype.
        y: the shape and dtype of `x`; version 1 does not broadcast.
        name: name of the node while tracing.

    Raises:
        ValueError: only one of `x` and `y` is given.
        InvalidArgumentError: shapes or dtypes differ.
    """
    if x is None and y is None:
        return selecting.where(condition, name=name)
    if x is None or y is None:
        raise ValueError("where: x and y must be given both or neither")
    return execute_one(selecting.SELECT, condition, x, y, name=name)


def div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y, rounded down for integers, like division in Python 2."""
    first = convert_to_tensor(x)
    if first.dtype.is_integer:
        return division.floordiv(first, y, name=name)
    return division.truediv(first, y, name=name)


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """The result of one of two functions.

    Args:
        pred: a scalar, bool.
        true_fn: called if it is true.
        false_fn: called if it is not.
        strict: whether a list or tuple of one value is kept; else the value itself is returned.
        name: name of the node while tracing.
        fn1: synonym of `true_fn`.
        fn2: synonym of `false_fn`.

    Raises:
        TypeError: a function is missing, or given under both names.
    """
    chosen = []
    for new, old, words in ((true_fn, fn1, "true_fn"), (false_fn, fn2, "false_fn")):
        if (new is None) == (old is None):
            raise TypeError(f"cond: {words} must be given exactly once")
        chosen.append(new if new is not None else old)
    result = conditional.cond(pred, chosen[0], chosen[1], name=name)
    single = not strict and type(result) in (list, tuple) and len(result) == 1
    return result[0] if single else result


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """Repeat `body` while `cond` holds; see `tf.while_loop`.

    Args:
        cond: maps the loop's values to a scalar bool.
        body: maps the loop's values to the next ones.
        loop_vars: the initial values.
        shape_invariants: see `tf.while_loop`.
        parallel_iterations: see `tf.while_loop`.
        back_prop: see `tf.while_loop`.
        swap_memory: see `tf.while_loop`.
        name: name of the node while tracing.
        maximum_iterations: upper bound of the number of iterations.
        return_same_structure: whether a single value is returned in a list as it was given; else it
            is bare if `body` returns it bare.
    """
    bare = False

    def watched(*values: Any) -> Any:
        nonlocal bare
        given = body(*values)
        bare = not isinstance(given, (list, tuple))
        return given

    result = looping.while_loop(
        cond,
        watched,
        loop_vars,
        shape_invariants=shape_invariants,
        parallel_iterations=parallel_iterations,
        back_prop=back_prop,
        swap_memory=swap_memory,
        maximum_iterations=maximum_iterations,
        name=name,
    )
    single = len(loop_vars) == 1 and bare and not return_same_structure
    return result[0] if single else result


def space_to_batch(
    input: Any, paddings: Any, block_size: int | None = None, name: str | None = None,
    block_shape: Any = None,
) -> Tensor:  # fmt: skip
    """Move blocks of height and width to the batch axis; see `tf.space_to_batch`.

    Args:
        input: [batch, height, width, channels].
        paddings: [2, 2], int32 or int64: before and behind each of the two axes.
        block_size: size of a block in both axes; see block_shape.
        name: name of the node while tracing.
        block_shape: sizes of the blocks, in place of block_size.
    """
    shape = [block_size, block_size] if block_shape is None else block_shape
    return space_depth.space_to_batch(input, shape, paddings, name=name)


def batch_to_space(
    input: Any, crops: Any, block_size: int | None, name: str | None = None, block_shape: Any = None
) -> Tensor:
    """Move the batch axis to blocks of height and width, the inverse of `space_to_batch`.

    Args:
        input: [batch, height, width, channels].
        crops: [2, 2], int32 or int64: the sizes cut off before and behind each of the two axes.
        block_size: size of a block in both axes; see block_shape.
        name: name of the node while tracing.
        block_shape: sizes of the blocks, in place of block_size.
    """
    shape = [block_size, block_size] if block_shape is None else block_shape
    return space_depth.batch_to_space(input, shape, crops, name=name)


def assign(
    ref: Variable, value: Any, validate_shape: bool | None = None, use_locking: bool | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Give a variable a value; see `Variable.assign`.

    Args:
        ref: the variable.
        value: a value of its shape and dtype.
        validate_shape: without effect here: a known shape is always checked.
        use_locking: without effect here.
        name: name of the node while tracing.

    Returns:
        The variable.
    """
    del validate_shape, use_locking
    return ref.assign(value, name=name)


def assign_add(
    ref: Variable, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Any:
    """Add to a variable; see `Variable.assign_add`."""
    del use_locking
    return ref.assign_add(value, name=name)


def assign_sub(
    ref: Variable, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Any:
    """Subtract from a variable; see `Variable.assign_sub`."""
    del use_locking
    return ref.assign_sub(value, name=name)


@contextlib.contextmanager
def colocate_with(op: Any, ignore_existing: bool = False) -> Iterator[None]:
    """A block whose ops share the device of another op; without effect: there is one device.

    Args:
        op: the other op.
        ignore_existing: without effect.
    """
    del op, ignore_existing
    yield


@contextlib.contextmanager
def name_scope(
    name: str | None, default_name: str | None = None, values: Any = None
) -> Iterator[str]:
    """A scope of names of nodes.

    Args:
        name: name of the scope; None: default_name.
        default_name: see name.
        values: without effect here: version 1 took the graph from them.

    Raises:
        TypeError: both are None.
    """
    del values
    chosen = default_name if name is None else name
    if chosen is None:
        raise TypeError("name_scope: one of name and default_name must be a text, got None twice")
    with context.name_scope(chosen) as scope:
        yield scope


def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """The default value, since nothing can be fed without sessions.

    Args:
        input: the value.
        shape: a shape that it could have, compatible with that of `input`.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: the value has another shape.
    """
    return shape_ops.ensure_shape(convert_to_tensor(input), shape, name=name)


def Print(  # noqa: N802 (TensorFlow's name)
    input_: Any,
    data: Any,
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Return `input_`, after printing other tensors to standard error.

    Args:
        input_: any tensor.
        data: list of tensors to print.
        message: beginning of the line.
        first_n: without effect, which a warning says: each call prints.
        summarize: how many elements of each tensor; 3 if None, all if negative.
        name: name of the node while tracing.

    Source:
        TensorFlow op `Print` (logging_ops.cc).
    """
    if first_n is not None and first_n >= 0:
        no_effect("Print", "first_n", "each call prints")
    return execute_one(
        PRINT,
        input_,
        [convert_to_tensor(one) for one in data],
        message=message or "",
        first_n=-1 if first_n is None else first_n,
        summarize=3 if summarize is None else summarize,
        name=name,
    )


def sparse_to_dense(
    sparse_indices: Any,
    output_shape: Any,
    sparse_values: Any,
    default_value: Any = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """A tensor with some values at indices, and one value everywhere else.

    Args:
        sparse_indices: [n, rank], [n] for a vector, or [] for one element of it; int32 or int64.
        output_shape: [rank], the dtype of `sparse_indices`.
        sparse_values: [n], or [] for all indices.
        default_value: [], the dtype of `sparse_values`.
        validate_indices: whether indices must be sorted and not repeat.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: an index is outside, or under `validate_indices` out of order.

    Source:
        TensorFlow op `SparseToDense` (sparse_ops.cc).
    """
    values = convert_to_tensor(sparse_values)
    indices = convert_to_tensor(sparse_indices)
    return execute_one(
        SPARSE_TO_DENSE,
        indices,
        convert_to_tensor(output_shape, indices.dtype),
        values,
        convert_to_tensor(default_value, values.dtype),
        validate_indices=bool(validate_indices),
        name=name,
    )
