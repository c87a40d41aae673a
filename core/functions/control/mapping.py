"""map_fn, vectorized_map, scan, foldl and foldr: a function over the rows of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes, structure
from pinnace.framework.composite import CompositeSpec, is_composite
from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.no_effect import ignored
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec, TypeSpec
from pinnace.functions.control import batching, branches, looping, nodes
from pinnace.functions.control.rows import Carried, batch_spec, carried, row_spec
from pinnace.ops.array import broadcasting, constants, joining, shapes
from pinnace.ops.batch_rules import UnbatchableError
from pinnace.ops.composites.extension.batching import encoder_of
from pinnace.ops.composites.tensor_array import TensorArray
from pinnace.ops.math import arithmetic, comparison

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Tensor


__all__ = ["foldl", "foldr", "map_fn", "scan", "vectorized_map"]


class _Rows:
    """The rows of a structure of tensors."""

    def __init__(self, elems: Any, name: str) -> None:
        self.form = elems
        leaves = [x if is_composite(x) else convert_to_tensor(x) for x in structure.flatten(elems)]
        if not leaves:
            raise ValueError(f"{name}: elems must hold at least one tensor")
        for x in leaves:
            if not is_composite(x) and x.shape.rank == 0:
                raise ValueError(f"{name}: elems must have at least one axis, got a scalar")
        self.row_specs = [row_spec(x) for x in leaves]
        self._carried = [carried(spec) for spec in self.row_specs]
        # Composite values as the tensors that represent their rows.
        self.tensors = [
            part for x, how in zip(leaves, self._carried, strict=True) for part in how.of_rows(x)
        ]
        self.has_composites = any(map(is_composite, leaves))
        known: set[int] = set()
        for tensor in self.tensors:
            size = tensor.shape[0]
            if size is not None:
                known.add(size)
        if len(known) > 1:
            raise ValueError(f"{name}: all elems must have one first axis, got {sorted(known)}")
        self.static = next(iter(known), None)
        self._arrays: list[TensorArray] | None = None

    def count(self) -> Any:
        """The number of rows: an int if known."""
        return self.static if self.static is not None else shapes.shape(self.tensors[0])[0]

    def prepare(self) -> None:
        """Make the rows readable in a loop."""
        self._arrays = [
            TensorArray(tensor.dtype, self.count(), element_shape=_row_shape(tensor)).unstack(
                tensor
            )
            for tensor in self.tensors
        ]

    def at(self, index: Any) -> Any:
        """The structure of row `index` of each tensor."""
        if self._arrays is None:
            rows = [tensor[index] for tensor in self.tensors]
        else:
            rows = [array.read(index) for array in self._arrays]
        return self.row_of(rows)

    def row_of(self, tensors: Sequence[Any]) -> Any:
        """The row that consists of these tensors, in the structure of the input."""
        return _whole(self.form, self._carried, tensors)

    def specs(self) -> list[TensorSpec]:
        """The specs of a row."""
        return [TensorSpec.of(_row_shape(tensor), tensor.dtype) for tensor in self.tensors]


def _whole(form: Any, how: Sequence[Carried], tensors: Sequence[Any]) -> Any:
    """A structure of rows, from the tensors that represent them."""
    rest = iter(tensors)
    leaves = [one.row([next(rest) for _ in one.parts()]) for one in how]
    return structure.pack_sequence_as(form, leaves)


def _row_shape(tensor: Tensor) -> Shape:
    return tensor.shape[1:] if tensor.shape.rank is not None else Shape(None)


_TURNS = "turns run one after the other, and keep what a gradient asks for"


def map_fn(
    fn: Callable[[Any], Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """`fn` of every row, stacked.

    Args:
        fn: takes a row (in the structure of `elems`), gives tensors in any structure.
        elems: [n, ...] tensors in any structure.
        dtype: the older name of `fn_output_signature`.
        parallel_iterations: a hint.
        back_prop: accepted for TensorFlow's sake.
        swap_memory: accepted for TensorFlow's sake.
        infer_shape: whether all results have one shape.
        name: name of the node while tracing.
        fn_output_signature: dtypes or specs in the structure that `fn` gives; None is the
            structure and dtypes of `elems`. The rows of a `RaggedTensorSpec` may differ in length.

    Returns:
        [n, ...] tensors in the structure that `fn` gives; ragged or sparse where the signature is.

    Raises:
        ValueError: the results of `fn` do not have the structure, dtypes or shapes of the
            signature.
    """
    ignored("map_fn", _TURNS, True, back_prop=back_prop)
    ignored("map_fn", _TURNS, False, swap_memory=swap_memory)
    signature = fn_output_signature if fn_output_signature is not None else dtype
    rows = _Rows(elems, "map_fn")
    if signature is None:
        kinds = [one.dtype if isinstance(one, TensorSpec) else one for one in rows.row_specs]
        signature = structure.pack_sequence_as(elems, kinds)
    return _mapped(
        branches.user_function(fn), rows, signature, parallel_iterations, infer_shape, name
    )


def map_rows(fn: Callable[[Any], Any], elems: Any) -> Any:
    """`map_fn` with the structure and dtypes of the results found out by a trial."""
    return _mapped(branches.user_function(fn), _Rows(elems, "map_fn"), None)


def _mapped(
    fn: Callable[[Any], Any],
    rows: _Rows,
    signature: Any,
    parallel_iterations: int | None = None,
    infer_shape: bool = True,
    name: str | None = None,
) -> Any:
    if state.tracer is None:
        results = [fn(rows.at(index)) for index in range(int(rows.count()))]
        if results:
            return _stacked(results, signature)
        return structure.map_structure(_no_rows, _output_specs(fn, rows, signature))
    specs = _output_specs(fn, rows, signature)
    how = [carried(spec) for spec in structure.flatten(specs)]
    count = rows.count()
    rows.prepare()
    arrays = [
        TensorArray(part.dtype, count, element_shape=part.shape, infer_shape=infer_shape)
        for one in how
        for part in one.parts()
    ]

    def iteration(index: Tensor, arrays: Any) -> Any:
        parts = _parts_of(fn(rows.at(index)), specs, how)
        done = [array.write(index, y) for array, y in zip(arrays, parts, strict=True)]
        return arithmetic.add(index, 1), done

    _, arrays = looping.while_loop(
        lambda index, _: comparison.less(index, count),
        iteration,
        (constants.constant(0), arrays),
        parallel_iterations=parallel_iterations or 10,
        name=name or "map",
    )
    return _batches(specs, how, [_counted(array.stack(), rows.static) for array in arrays])


def _parts_of(found: Any, specs: Any, how: Sequence[Carried]) -> list[Any]:
    """The tensors that represent `fn`'s result for one row."""
    structure.assert_same_structure(specs, found)
    flat = zip(how, structure.flatten(found), strict=True)
    return [part for one, y in flat for part in one.of_row(y)]


def _batches(specs: Any, how: Sequence[Carried], stacked: Sequence[Any]) -> Any:
    rest = iter(stacked)
    leaves = [one.batch([next(rest) for _ in one.parts()]) for one in how]
    return structure.pack_sequence_as(specs, leaves)


def _no_rows(spec: Any) -> Any:
    if isinstance(spec, TensorSpec):
        return _nothing(spec)
    batch = batch_spec(spec)
    if encoder_of(spec) is not None:
        how = carried(spec)
        return how.batch([_nothing(part) for part in how.parts()])
    parts = [
        np.zeros([n or 0 for n in one.shape], one.dtype.numpy) for one in batch.component_specs()
    ]
    if hasattr(batch, "ragged_rank"):
        parts[1:] = [np.zeros(1, splits.dtype) for splits in parts[1:]]
    return batch.from_components([convert_to_tensor(part) for part in parts])


def _counted(tensor: Tensor, count: int | None) -> Tensor:
    if count is not None and tensor.shape.rank:
        tensor.set_shape(Shape([count, *tensor.shape[1:]]))
    return tensor


def _stacked(results: Sequence[Any], signature: Any) -> Any:
    first = results[0]
    wanted: list[Any] = [None] * len(structure.flatten(first))
    if signature is not None:
        specs = _specs_of(signature)
        structure.assert_same_structure(specs, first)
        if any(isinstance(spec, CompositeSpec) for spec in structure.flatten(specs)):
            how = [carried(spec) for spec in structure.flatten(specs)]
            rows = zip(*[_parts_of(one, specs, how) for one in results], strict=True)
            return _batches(specs, how, [joining.stack(list(column)) for column in rows])
        wanted = [spec.dtype for spec in structure.flatten(specs)]
        for one in results:
            _require_shapes(one, specs)
    columns = zip(*[structure.flatten(one) for one in results], strict=True)
    stacked = [
        joining.stack([convert_to_tensor(x, kind) for x in column])
        for column, kind in zip(columns, wanted, strict=True)
    ]
    return structure.pack_sequence_as(first, stacked)


def _require_shapes(row: Any, specs: Any) -> None:
    """Refuse a row with another shape than the signature has."""
    for value, spec in zip(structure.flatten(row), structure.flatten(specs), strict=True):
        shape = convert_to_tensor(value).shape
        if not spec.shape.is_compatible_with(shape):
            raise ValueError(
                f"map_fn: fn must give {spec.text}, as the signature has it, got shape {shape.text}"
            )


def _nothing(spec: TensorSpec) -> Tensor:
    sizes = [0 if size is None else size for size in spec.shape] if spec.shape.rank else []
    return constants.zeros([0, *sizes], spec.dtype)


def _specs_of(signature: Any) -> Any:
    return structure.map_structure(
        lambda one: one if isinstance(one, TypeSpec) else TensorSpec(None, dtypes.as_dtype(one)),
        signature,
    )


def _output_specs(fn: Callable[[Any], Any], rows: _Rows, signature: Any) -> Any:
    """The output specs of `fn`: as declared, else found by a trial trace."""
    if signature is not None:
        return _specs_of(signature)

    def run(*symbols: Any) -> Any:
        return fn(rows.row_of(symbols))

    traced = branches.trace_branch(run, "map_fn_probe", rows.specs())
    return structure.map_structure(
        lambda leaf: leaf.spec if is_composite(leaf) else TensorSpec.of(leaf.shape, leaf.dtype),
        traced.results,
    )


def vectorized_map(
    fn: Callable[[Any], Any], elems: Any, fallback_to_while_loop: bool = True, warn: bool = True
) -> Any:
    """`fn` of every row, stacked; computed for all rows at once if all its ops support it.

    Args:
        fn: takes a row, gives tensors in any structure.
        elems: [n, ...] tensors in any structure; a first axis of 1 is the same row in all.
        fallback_to_while_loop: whether to go row by row, as `map_fn` does, where an op of `fn` has
            effects or cannot be computed for all rows.
        warn: whether to log it when that happens.

    Returns:
        [n, ...] tensors in the structure that `fn` gives.

    Raises:
        ValueError: an op cannot be computed for all rows, and `fallback_to_while_loop` is off; or
            the tensors do not have one first axis.
    """
    called = branches.user_function(fn)
    if any(map(is_composite, structure.flatten(elems))):
        raise ValueError(
            "vectorized_map: elems must be tensors, not ragged or sparse ones\n"
            "  Try: map_fn, or ops on the whole ragged tensor, which are vectorized"
        )
    try:
        return batching.batched_map(called, elems)
    except UnbatchableError as error:
        if not fallback_to_while_loop:
            raise ValueError(
                f"vectorized_map: {error}, so that the rows cannot be computed at once\n"
                "  Try: fallback_to_while_loop=True, or map_fn"
            ) from None
        if warn:
            import logging

            logging.getLogger("pinnace").warning("vectorized_map goes row by row: %s", error)
    return map_rows(fn, _as_long(elems))


def _as_long(elems: Any) -> Any:
    """Repeat tensors of first size 1, if others are longer."""
    tensors = [convert_to_tensor(leaf) for leaf in structure.flatten(elems)]
    longest = next((x for x in tensors if x.shape[0] != 1), None)
    if longest is None:
        return elems
    count = shapes.shape(longest)[0]
    return structure.pack_sequence_as(
        elems,
        [
            broadcasting.broadcast_to(x, joining.concat([[count], shapes.shape(x)[1:]], 0))
            if x.shape[0] == 1
            else x
            for x in tensors
        ],
    )


def foldl(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """fn(... fn(fn(initializer, row 0), row 1) ..., last row).

    Args:
        fn: takes the accumulated value and a row, returns the next accumulated value.
        elems: [n, ...] tensors in any structure.
        initializer: the initial value; the first row if None.
        parallel_iterations: a hint.
        back_prop: accepted for TensorFlow's sake.
        swap_memory: accepted for TensorFlow's sake.
        name: name of the node while tracing.
    """
    ignored("foldl", _TURNS, 10, parallel_iterations=parallel_iterations)
    ignored("foldl", _TURNS, True, back_prop=back_prop)
    ignored("foldl", _TURNS, False, swap_memory=swap_memory)
    return _fold(fn, elems, initializer, False, name or "foldl")


def foldr(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """fn(... fn(fn(initializer, last row), row before) ..., row 0): `foldl` from the end.

    Args:
        fn: takes the accumulated value and a row, returns the next accumulated value.
        elems: [n, ...] tensors in any structure.
        initializer: the initial value; the last row if None.
        parallel_iterations: a hint.
        back_prop: accepted for TensorFlow's sake.
        swap_memory: accepted for TensorFlow's sake.
        name: name of the node while tracing.
    """
    ignored("foldr", _TURNS, 10, parallel_iterations=parallel_iterations)
    ignored("foldr", _TURNS, True, back_prop=back_prop)
    ignored("foldr", _TURNS, False, swap_memory=swap_memory)
    return _fold(fn, elems, initializer, True, name or "foldr")


def _start(rows: _Rows, initializer: Any, reverse: bool) -> tuple[Any, int]:
    """The initial value, and the number of rows that it consumed."""
    if initializer is None:
        if rows.static == 0:
            raise ValueError("a fold over no rows needs an initializer")
        last = -1 if reverse else 0
        return rows.row_of([tensor[last] for tensor in rows.tensors]), 1
    return structure.map_structure(nodes.convert_leaf, initializer), 0


def _fold(fn: Any, elems: Any, initializer: Any, reverse: bool, name: str) -> Any:
    fn = branches.user_function(fn)
    rows = _Rows(elems, name)
    value, used = _start(rows, initializer, reverse)
    count = rows.count()
    if state.tracer is None:
        for step in range(used, int(count)):
            value = fn(value, rows.at(int(count) - 1 - step if reverse else step))
        return value
    rows.prepare()

    def iteration(step: Tensor, value: Any) -> Any:
        index = arithmetic.subtract(arithmetic.subtract(count, 1), step) if reverse else step
        return arithmetic.add(step, 1), fn(value, rows.at(index))

    _, value = looping.while_loop(
        lambda step, _: comparison.less(step, count),
        iteration,
        (constants.constant(used), value),
        name=name,
    )
    return value


def scan(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """The accumulated values after each row, stacked.

    Args:
        fn: takes the accumulated value and a row, returns the next accumulated value.
        elems: [n, ...] tensors in any structure.
        initializer: the initial value; the first row if None, which is then the first result.
        parallel_iterations: a hint.
        back_prop: accepted for TensorFlow's sake.
        swap_memory: accepted for TensorFlow's sake.
        infer_shape: whether all results have one shape.
        reverse: whether to go from the last row to the first; results stay beside their rows.
        name: name of the node while tracing.

    Returns:
        [n, ...] tensors in the structure of what is accumulated.
    """
    ignored("scan", _TURNS, 10, parallel_iterations=parallel_iterations)
    ignored("scan", _TURNS, True, back_prop=back_prop)
    ignored("scan", _TURNS, False, swap_memory=swap_memory)
    fn = branches.user_function(fn)
    rows = _Rows(elems, "scan")
    value, used = _start(rows, initializer, reverse)
    count = rows.count()
    if state.tracer is None:
        total = int(count)
        found = [value] * used
        for step in range(used, total):
            value = fn(value, rows.at(total - 1 - step if reverse else step))
            found.append(value)
        if reverse:
            found.reverse()
        if not found:
            return structure.map_structure(
                lambda x: _nothing(TensorSpec.of(x.shape, x.dtype)), value
            )
        return _stacked(found, None)
    rows.prepare()
    arrays = structure.map_structure(
        lambda x: TensorArray(x.dtype, count, element_shape=x.shape, infer_shape=infer_shape), value
    )

    def place(step: Any) -> Any:
        return arithmetic.subtract(arithmetic.subtract(count, 1), step) if reverse else step

    def write(arrays: Any, step: Any, value: Any) -> Any:
        flat = zip(structure.flatten(arrays), structure.flatten(value), strict=True)
        return structure.pack_sequence_as(arrays, [a.write(place(step), x) for a, x in flat])

    if used:
        arrays = write(arrays, 0, value)

    def iteration(step: Tensor, value: Any, arrays: Any) -> Any:
        value = fn(value, rows.at(place(step)))
        return arithmetic.add(step, 1), value, write(arrays, step, value)

    _, _, arrays = looping.while_loop(
        lambda step, *_: comparison.less(step, count),
        iteration,
        (constants.constant(used), value, arrays),
        name=name or "scan",
    )
    return structure.map_structure(lambda array: _counted(array.stack(), rows.static), arrays)
