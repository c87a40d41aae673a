"""Assertions: Assert, and the checks of `debugging`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.devices import get_log_device_placement as get_log_device_placement
from pinnace.framework.devices import set_log_device_placement as set_log_device_placement
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import SymbolicTensor, Tensor
from pinnace.framework.tracebacks import disable_traceback_filtering as disable_traceback_filtering
from pinnace.framework.tracebacks import enable_traceback_filtering as enable_traceback_filtering
from pinnace.framework.tracebacks import (
    is_traceback_filtering_enabled as is_traceback_filtering_enabled,
)
from pinnace.framework.variable import Variable
from pinnace.ops.array import shapes
from pinnace.ops.array.identities import check_numerics as check_numerics
from pinnace.ops.control.numerics import disable_check_numerics as disable_check_numerics
from pinnace.ops.control.numerics import enable_check_numerics as enable_check_numerics
from pinnace.ops.execute import execute
from pinnace.ops.math import comparison, reduction
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Array, TensorLike

__all__ = [
    "Assert",
    "assert_all_finite",
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_integer",
    "assert_less",
    "assert_less_equal",
    "assert_near",
    "assert_negative",
    "assert_non_negative",
    "assert_non_positive",
    "assert_none_equal",
    "assert_positive",
    "assert_proper_iterable",
    "assert_rank",
    "assert_rank_at_least",
    "assert_rank_in",
    "assert_same_float_dtype",
    "assert_scalar",
    "assert_shapes",
    "assert_type",
    "check_numerics",
    "disable_check_numerics",
    "enable_check_numerics",
    "is_numeric_tensor",
]


def Assert(  # noqa: N802 (TensorFlow's name)
    condition: TensorLike,
    data: Sequence[Any],
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raise unless `condition` is true; inside `function` when the graph runs.

    Args:
        condition: a bool scalar.
        data: tensors and texts that the error shows.
        summarize: how many elements of each tensor it shows; 3 if None.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: `condition` is false.
    """
    execute(
        ASSERT, condition, list(data), summarize=3 if summarize is None else summarize, name=name
    )


def shown(array: Array, summarize: int) -> str:
    """The first elements of an array, as text for errors and printing."""
    flat = array.reshape(-1)
    count = flat.size if summarize < 0 else min(summarize, flat.size)
    texts = [
        one.decode("utf-8", "replace") if isinstance(one, bytes) else str(one)
        for one in flat[:count].tolist()
    ]
    if array.ndim == 0:
        return texts[0] if texts else ""
    return f"[{' '.join(texts)}{'...' if count < flat.size else ''}]"


def _assert_kernel(condition: Array, data: tuple[Array, ...], *, summarize: int) -> None:
    if not condition:
        lines = " ".join(shown(np.asarray(one), summarize) for one in data)
        raise InvalidArgumentError(f"assertion failed: {lines}")


def _infer_assert(call: InferCall) -> tuple[Shape, ...]:
    if call.spec(0).shape.rank not in {None, 0}:
        call.fail("condition must be a scalar")
    return ()


ASSERT = define(
    name="Assert",
    signature="condition: bool, data: (T) ->",
    attrs={"T": attr("list(type)", default=()), "summarize": attr("int", default=3)},
    infer=_infer_assert,
    kernel=_assert_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="io",
    traceless=True,
)


def _is_known(*tensors: Tensor) -> bool:
    return not any(isinstance(tensor, SymbolicTensor) for tensor in tensors)


def _compared(
    check: Callable[[Tensor, Tensor], Tensor], symbol: str, claim: str
) -> Callable[..., None]:
    def compare(
        x: TensorLike,
        y: TensorLike,
        message: str | None = None,
        summarize: int | None = None,
        name: str | None = None,
    ) -> None:
        a, b = _pair(x, y)
        holds = reduction.reduce_all(check(a, b))
        prefix = f"{message}\n" if message else ""
        if _is_known(a, b, holds):
            if not bool(holds):
                count = 3 if summarize is None else summarize
                raise InvalidArgumentError(
                    f"{prefix}Condition x {symbol} y did not hold.\n"
                    f"  x: {a.dtype.name}{a.shape.text} {shown(np.asarray(a._array), count)}\n"
                    f"  y: {b.dtype.name}{b.shape.text} {shown(np.asarray(b._array), count)}"
                )
            return
        data = [f"{prefix}Condition x {symbol} y did not hold. x:", a, "y:", b]
        Assert(holds, data, summarize, name)

    compare.__doc__ = f"""Check that {claim}.

    Args:
        x: [...], any number type.
        y: [...], broadcasts with x.
        message: the beginning of the error.
        summarize: how many elements the error shows; 3 if None.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: the condition does not hold; inside `function`, raised when the graph
            runs.
    """
    return compare


def _pair(x: Any, y: Any) -> tuple[Tensor, Tensor]:
    if isinstance(x, (Tensor, Variable)):
        a = convert_to_tensor(x)
        return a, convert_to_tensor(y, dtype_hint=a.dtype)
    b = convert_to_tensor(y)
    return convert_to_tensor(x, dtype_hint=b.dtype), b


assert_equal = _compared(comparison.equal, "==", "x equals y, element by element")
_all_differ = _compared(comparison.not_equal, "!=", "no element of x equals that of y")
assert_less = _compared(comparison.less, "<", "every element of x is below that of y")
assert_less_equal = _compared(comparison.less_equal, "<=", "no element of x is above that of y")
assert_greater = _compared(comparison.greater, ">", "every element of x is above that of y")
assert_greater_equal = _compared(
    comparison.greater_equal, ">=", "no element of x is below that of y"
)
for _function, _name in (
    (assert_equal, "assert_equal"),
    (assert_less, "assert_less"),
    (assert_less_equal, "assert_less_equal"),
    (assert_greater, "assert_greater"),
    (assert_greater_equal, "assert_greater_equal"),
):
    _function.__name__ = _function.__qualname__ = _name


def assert_none_equal(
    x: TensorLike,
    y: TensorLike,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> None:
    """Check that no element of x equals that of y.

    Args:
        x: [...], any number type.
        y: [...], broadcasts with x.
        summarize: how many elements the error shows; 3 if None. TensorFlow has it before `message`
            here alone.
        message: the beginning of the error.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: some elements are equal; inside `function`, raised when the graph
            runs.
    """
    _all_differ(x, y, message, summarize, name)


def assert_positive(
    x: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Check that every element is above 0.

    Args:
        x: [...], a real number type.
        message: the beginning of the error.
        summarize: how many elements the error shows; 3 if None.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: an element is not; inside `function`, raised when the graph runs.
    """
    assert_greater(convert_to_tensor(x), 0, message or "x must be positive", summarize, name)


def assert_negative(
    x: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Check that every element is below 0.

    Args:
        x: [...], a real number type.
        message: the beginning of the error.
        summarize: how many elements the error shows; 3 if None.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: an element is not; inside `function`, raised when the graph runs.
    """
    assert_less(convert_to_tensor(x), 0, message or "x must be negative", summarize, name)


def assert_non_negative(
    x: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Check that every element is 0 or above.

    Args:
        x: [...], a real number type.
        message: the beginning of the error.
        summarize: how many elements the error shows; 3 if None.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: an element is not; inside `function`, raised when the graph runs.
    """
    assert_greater_equal(
        convert_to_tensor(x), 0, message or "x must not be negative", summarize, name
    )


def assert_non_positive(
    x: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Check that every element is 0 or below.

    Args:
        x: [...], a real number type.
        message: the beginning of the error.
        summarize: how many elements the error shows; 3 if None.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: an element is not; inside `function`, raised when the graph runs.
    """
    assert_less_equal(convert_to_tensor(x), 0, message or "x must not be positive", summarize, name)


def assert_near(
    x: TensorLike,
    y: TensorLike,
    rtol: Any = None,
    atol: Any = None,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raise unless |x - y| <= atol + rtol |y| everywhere.

    Args:
        x: [...], a float type.
        y: [...], broadcasts with x.
        rtol: ten times the resolution of the dtype if None.
        atol: as `rtol`.
        message: the beginning of the error.
        summarize: how many elements the error shows; 3 if None.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: the condition does not hold.
    """
    a, b = _pair(x, y)
    small = 10 * float(dtypes_resolution(a))
    bound = (small if atol is None else atol) + (small if rtol is None else rtol) * abs(b)
    holds = reduction.reduce_all(comparison.less_equal(abs(a - b), bound))
    prefix = f"{message}\n" if message else ""
    Assert(holds, [f"{prefix}x and y are not near. x:", a, "y:", b], summarize, name)


def dtypes_resolution(x: Tensor) -> float:
    """The distance from 1 to the next number of the dtype."""
    if not x.dtype.is_floating:
        return 0.0
    if x.dtype is dtypes.bfloat16:
        return 2.0**-7
    return float(np.finfo(x.dtype.numpy).eps)


def assert_all_finite(x: TensorLike, message: str, name: str | None = None) -> Tensor:
    """`x`, checked to contain neither NaN nor infinity; raises InvalidArgumentError.

    Args:
        x: [...], a float type.
        message: begins the error's text.
        name: name of the node while tracing.

    Returns:
        `x` itself, so that what is computed from it depends on the check.
    """
    return check_numerics(x, message, name)


def assert_rank(
    x: TensorLike, rank: Any, message: str | None = None, name: str | None = None
) -> None:
    """Raise unless `x` has `rank` axes.

    Args:
        x: the tensor to check.
        rank: number of axes, an int or a scalar tensor.
        message: begins the error's text.
        name: name of the node while tracing.

    Raises:
        ValueError: the rank differs; InvalidArgumentError when the graph runs, where the rank is
            not known before.
    """
    _check_rank(x, rank, lambda a, b: a == b, "rank", message, name)


def assert_rank_at_least(
    x: TensorLike, rank: Any, message: str | None = None, name: str | None = None
) -> None:
    """Raise unless `x` has at least `rank` axes; see `assert_rank`.

    Args:
        x: the tensor to check.
        rank: least number of axes, an int or a scalar tensor.
        message: begins the error's text.
        name: name of the node while tracing.
    """
    _check_rank(x, rank, lambda a, b: a >= b, "rank at least", message, name)


def _check_rank(
    x: TensorLike,
    rank: Any,
    holds: Callable[[Any, Any], Any],
    words: str,
    message: str | None,
    name: str | None,
) -> None:
    tensor = convert_to_tensor(x)
    prefix = f"{message}\n" if message else ""
    wanted = None if isinstance(rank, SymbolicTensor) else int(rank)
    if tensor.shape.rank is not None and wanted is not None:
        if not holds(tensor.shape.rank, wanted):
            raise ValueError(f"{prefix}x must have {words} {wanted}, got shape {tensor.shape.text}")
        return
    found = holds(shapes.rank(tensor), convert_to_tensor(rank))
    Assert(
        found, [f"{prefix}x must have {words}", rank, "got shape", shapes.shape(tensor)], None, name
    )


def assert_rank_in(
    x: TensorLike, ranks: Sequence[int], message: str | None = None, name: str | None = None
) -> None:
    """Raise unless the rank of `x` is among `ranks`; see `assert_rank`.

    Args:
        x: the tensor to check.
        ranks: allowed numbers of axes.
        message: begins the error's text.
        name: name of the node while tracing.
    """
    tensor = convert_to_tensor(x)
    prefix = f"{message}\n" if message else ""
    wanted = [int(rank) for rank in ranks]
    if tensor.shape.rank is not None:
        if tensor.shape.rank not in wanted:
            raise ValueError(
                f"{prefix}x must have a rank in {wanted}, got shape {tensor.shape.text}"
            )
        return
    found = reduction.reduce_any(comparison.equal(shapes.rank(tensor), convert_to_tensor(wanted)))
    Assert(
        found,
        [f"{prefix}x must have a rank in {wanted}, got shape", shapes.shape(tensor)],
        None,
        name,
    )


def assert_scalar(
    tensor: TensorLike, message: str | None = None, name: str | None = None
) -> Tensor:
    """`tensor`, checked to be a scalar; raises ValueError.

    Args:
        tensor: the tensor to check.
        message: begins the error's text.
        name: name of the node while tracing.
    """
    made = convert_to_tensor(tensor)
    assert_rank(made, 0, message, name)
    return made


def assert_type(
    tensor: TensorLike, tf_type: Any, message: str | None = None, name: str | None = None
) -> None:
    """Raise TypeError unless the dtype is `tf_type`.

    Args:
        tensor: the tensor to check.
        tf_type: a dtype or its name.
        message: begins the error's text; "assert_type" if None.
        name: name of the node while tracing.
    """
    del name
    made = convert_to_tensor(tensor)
    wanted = dtypes.as_dtype(tf_type)
    if made.dtype is not wanted:
        raise TypeError(f"{message or 'assert_type'}: must be {wanted.name}, got {made.dtype.name}")


def assert_integer(x: TensorLike, message: str | None = None, name: str | None = None) -> None:
    """Raise TypeError unless the dtype is an integer type.

    Args:
        x: the tensor to check.
        message: begins the error's text; "assert_integer" if None.
        name: name of the node while tracing.
    """
    del name
    made = convert_to_tensor(x)
    if not made.dtype.is_integer:
        raise TypeError(
            f"{message or 'assert_integer'}: must be an integer type, got {made.dtype.name}"
        )


def assert_same_float_dtype(
    tensors: Sequence[TensorLike] | None = None, dtype: Any = None
) -> dtypes.DType:
    """The common float dtype of the tensors; raises ValueError if there is none.

    Args:
        tensors: tensors of any shapes.
        dtype: dtype that they must have; if None, any that they share.

    Returns:
        The dtype; float32 without tensors and `dtype`.
    """
    kinds = {convert_to_tensor(tensor).dtype for tensor in tensors or ()}
    if dtype is not None:
        kinds.add(dtypes.as_dtype(dtype))
    if len(kinds) > 1:
        raise ValueError(f"assert_same_float_dtype: got {sorted(kind.name for kind in kinds)}")
    kind = kinds.pop() if kinds else dtypes.float32
    if not kind.is_floating:
        raise ValueError(f"assert_same_float_dtype: must be a float type, got {kind.name}")
    return kind


def assert_proper_iterable(values: Any) -> None:
    """Raise TypeError unless `values` is a sequence that is neither a string nor a tensor."""
    if isinstance(values, (Tensor, Variable, np.ndarray, bytes, str)) or not hasattr(
        values, "__iter__"
    ):
        raise TypeError(
            f"assert_proper_iterable: expected a list or tuple, got {type(values).__name__}"
        )


def is_numeric_tensor(tensor: Any) -> bool:
    """Whether it is a tensor of numbers."""
    return isinstance(tensor, (Tensor, Variable)) and tensor.dtype.is_numeric


def assert_shapes(
    shapes: Any,
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> None:
    """Raise unless every tensor has its shape, where each letter is one size.

    Args:
        shapes: (tensor, shape) pairs or a dict; a shape holds ints, letters, None or "." for any
            size, and may
            begin or end with "..." or "*".
        data: more to show in the error.
        summarize: how many elements the error shows.
        message: the beginning of the error.
        name: name of the node while tracing.

    Raises:
        ValueError: a shape that is known does not fit.
        InvalidArgumentError: one does not fit when the graph runs.
    """
    pairs = list(shapes.items()) if isinstance(shapes, dict) else list(shapes)
    sizes: dict[str, Any] = {}
    prefix = f"{message}\n" if message else ""
    for item, wanted in pairs:
        target = item.deref() if hasattr(item, "deref") else item
        tensor = convert_to_tensor(target)
        symbols = list(wanted) if isinstance(wanted, (list, tuple, str, Shape)) else [wanted]
        _check_shape(tensor, symbols, sizes, prefix, list(data or ()), summarize, name)


def _check_shape(
    tensor: Tensor,
    symbols: list[Any],
    sizes: dict[str, Any],
    prefix: str,
    data: list[Any],
    summarize: int | None,
    name: str | None,
) -> None:
    open_left = bool(symbols) and symbols[0] in {"...", "*", Ellipsis}
    open_right = not open_left and bool(symbols) and symbols[-1] in {"...", "*", Ellipsis}
    if open_left:
        symbols = symbols[1:]
    elif open_right:
        symbols = symbols[:-1]
    if open_left or open_right:
        assert_rank_at_least(tensor, len(symbols), prefix or None)
    else:
        assert_rank(tensor, len(symbols), prefix or None)
    dynamic = None
    for position, symbol in enumerate(symbols):
        axis = position - len(symbols) if open_left else position
        if symbol is None or symbol == ".":
            continue
        size: Any = tensor.shape[axis] if tensor.shape.rank is not None else None
        if size is None:
            dynamic = shapes.shape(tensor) if dynamic is None else dynamic
            size = dynamic[axis]
        wanted = sizes.setdefault(symbol, size) if isinstance(symbol, str) else symbol
        if isinstance(size, int) and isinstance(wanted, int):
            if size != wanted:
                raise ValueError(
                    f"{prefix}axis {axis} of shape {tensor.shape.text} must have size {wanted}"
                    f"{f' ({symbol!r})' if isinstance(symbol, str) else ''}, got {size}"
                )
        elif size is not wanted:
            holds = comparison.equal(convert_to_tensor(size), convert_to_tensor(wanted))
            Assert(
                holds,
                [f"{prefix}axis {axis} must have size", wanted, "got", size, *data],
                summarize,
                name,
            )
