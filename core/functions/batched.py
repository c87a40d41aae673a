"""nondifferentiable_batch_function: calls that a server may batch."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.framework.context import name_scope, state, tapes_hidden
from pinnace.framework.errors import FailedPreconditionError, InvalidArgumentError
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor
from pinnace.functions.function import function
from pinnace.graph.graph import FunctionRef
from pinnace.ops.execute import execute
from pinnace.ops.functional.calls import BATCH_FUNCTION

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.functions.function import Function
    from pinnace.graph.graph import Value


def nondifferentiable_batch_function(
    num_batch_threads: int,
    max_batch_size: int,
    batch_timeout_micros: int,
    allowed_batch_sizes: Sequence[int] | None = None,
    max_enqueued_batches: int = 10,
    autograph: bool = True,
    enable_large_batch_splitting: bool = True,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: calls of the function may be joined along their first axis and run as one.

    TensorFlow and its server batch the calls of several threads; here each call runs by itself, at
    once, with the same results, and `pinnace serve` batches requests before a model runs.
    SavedModels contain the function as the op `BatchFunction`, so that TensorFlow's server batches
    them.

    Args:
        num_batch_threads: how many batches TensorFlow runs at a time.
        max_batch_size: how many rows a batch has at most.
        batch_timeout_micros: how many microseconds a batch waits for more calls.
        allowed_batch_sizes: rising sizes to which batches are filled, the last `max_batch_size`.
        max_enqueued_batches: how many batches may wait.
        autograph: whether Python's conditions and loops in the function become the graph's.
        enable_large_batch_splitting: whether a call of more than `max_batch_size` rows is run in
            parts; an error otherwise.

    Returns:
        A decorator. The decorated function takes tensors with the batch as first axis, and has no
        gradient.

    Raises:
        ValueError: when called, with an argument that is no tensor.
        InvalidArgumentError: numbers that are out of range, when the function is called.
        FailedPreconditionError: a result that has not the batch as its first axis.
    """
    attrs = {
        "num_batch_threads": num_batch_threads,
        "max_batch_size": max_batch_size,
        "batch_timeout_micros": batch_timeout_micros,
        "allowed_batch_sizes": tuple(allowed_batch_sizes or ()),
        "max_enqueued_batches": max_enqueued_batches,
        "enable_large_batch_splitting": enable_large_batch_splitting,
    }

    def decorate(fn: Callable[..., Any]) -> Callable[..., Any]:
        computation = function(lambda *given: fn(*given), autograph=autograph)

        def decorated(*args: Any) -> Any:
            return _called(computation, args, attrs)

        return decorated

    return decorate


def _called(computation: Function[..., Any], args: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    for arg in args:
        if not isinstance(arg, Tensor):
            raise ValueError(  # noqa: TRY004 (TensorFlow's class)
                f"nondifferentiable_batch_function: arguments must be tensors, got {arg!r}"
            )
    _check(args, attrs)
    specs = [TensorSpec(x.shape, x.dtype, f"batch_{i}") for i, x in enumerate(args)]
    concrete = computation.get_concrete_function(*specs)
    _check_results(args, concrete.graph.outputs)
    if state.tracer is None:
        # The plan of the function itself: an op would look it up and run the same.
        with tapes_hidden():
            return concrete.call_flat(list(args))
    graph = concrete.graph
    with name_scope("batch") as scope:
        outputs = execute(
            BATCH_FUNCTION,
            list(args),
            list(concrete.captured_inputs),
            f=FunctionRef(graph.name, graph),
            Tout=tuple(value.spec.dtype for value in graph.outputs),
            shared_name=scope,
            **attrs,
        )
    return structure.pack_sequence_as(
        concrete.structured_outputs, list(outputs), expand_composites=True
    )


def _check(args: tuple[Tensor, ...], attrs: dict[str, Any]) -> None:
    """The checks of TensorFlow's op before it batches calls."""
    for name in ("max_batch_size", "max_enqueued_batches"):
        if attrs[name] < 1:
            _fail(f"{name} must be at least 1, got {attrs[name]}")
    if attrs["batch_timeout_micros"] < 0:
        _fail(f"batch_timeout_micros must not be negative, got {attrs['batch_timeout_micros']}")
    sizes, most = attrs["allowed_batch_sizes"], attrs["max_batch_size"]
    rising = all(low < high for low, high in itertools.pairwise(sizes))
    ends_right = attrs["enable_large_batch_splitting"] or sizes[-1:] == (most,)
    if sizes and not (rising and ends_right):
        _fail(
            f"allowed_batch_sizes must rise, and end with max_batch_size, {most}, got {list(sizes)}"
        )
    rows: int | None = None
    for x in args:
        if x.shape.rank is None:
            continue
        if x.shape.rank == 0:
            _fail("arguments must have at least one axis, the batch, got a scalar")
        size = x.shape[0]
        if None not in {rows, size} and rows != size:
            _fail(f"arguments must have one size along the first axis, got {rows} and {size}")
        rows = size if rows is None else rows
    if rows is not None and rows > most and not attrs["enable_large_batch_splitting"]:
        _fail(f"a call must not have more than max_batch_size, {most}, rows, got {rows}")


def _check_results(args: tuple[Tensor, ...], outputs: Sequence[Value]) -> None:
    """Check that results have a row per row of the arguments, as far as shapes are known."""
    rows = next((x.shape[0] for x in args if x.shape.rank and x.shape[0] is not None), None)
    for index, value in enumerate(outputs):
        shape = value.spec.shape
        if shape.rank == 0 or (shape.rank and None not in {rows, shape[0]} and shape[0] != rows):
            raise FailedPreconditionError(
                f"BatchFunction: result {index} must have the batch as its first axis, of "
                f"{'?' if rows is None else rows} rows, got shape {shape.text}"
            )


def _fail(problem: str) -> None:
    raise InvalidArgumentError(f"BatchFunction: {problem}")
