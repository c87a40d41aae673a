"""while_loop: a function runs as long as another says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes, structure
from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import SymbolicTensor
from pinnace.functions.control import branches
from pinnace.functions.tracer import handle_spec
from pinnace.ops.array import constants
from pinnace.ops.functional.loops import STATELESS_WHILE, WHILE
from pinnace.ops.math import arithmetic, comparison, logic

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.functions.control.branches import Branch

__all__ = ["while_loop"]

# How often the shapes of the loop variables are widened before it counts as an error.
_WIDENINGS = 8


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: Any = None,
    name: str | None = None,
) -> Any:
    """`loop_vars` after `body` was applied to them as long as `cond` was true.

    Args:
        cond: takes the loop variables, gives a bool scalar.
        body: takes the loop variables, gives new ones: same structure and dtypes.
        loop_vars: a list or tuple of tensors, or of structures of them.
        shape_invariants: shapes (or specs) that hold before and after every turn; those of
            `loop_vars` if None.
        parallel_iterations: a hint, at least 1.
        back_prop: accepted for TensorFlow's sake.
        swap_memory: accepted for TensorFlow's sake.
        maximum_iterations: how many turns at most, an int32 scalar.
        name: name of the node while tracing.

    Returns:
        The structure of `loop_vars`.

    Raises:
        TypeError: `cond` or `body` is no function.
        ValueError: a loop variable changes structure, dtype or (against its invariant) shape.

    Source:
        TensorFlow op `While` (functional_ops.cc).
    """
    del back_prop, swap_memory
    if not callable(cond) or not callable(body):
        message = "while_loop: cond and body must be functions"
        raise TypeError(message)
    if parallel_iterations < 1:
        message = f"while_loop: parallel_iterations must be at least 1, got {parallel_iterations}"
        raise ValueError(message)
    cond, body = branches.user_function(cond), branches.user_function(body)
    if state.tracer is None:
        return _run(cond, body, loop_vars, maximum_iterations)
    invariants = None
    if shape_invariants is not None:
        invariants = _invariants(loop_vars, shape_invariants)
    return build_while(
        cond,
        body,
        loop_vars,
        invariants,
        maximum_iterations,
        name or "while",
        parallel_iterations,
    )


def _arguments(packed: Any) -> tuple[Any, ...]:
    """How loop variables are handed over: one argument each."""
    if isinstance(packed, dict):
        return (packed,)
    return tuple(packed) if isinstance(packed, (list, tuple)) else (packed,)


def _wrapped(found: Any, like: Any) -> Any:
    """What a body returned, as loop variables: a single one may come without its list."""
    if isinstance(like, (list, tuple)) and not hasattr(like, "_fields"):
        if len(like) == 1 and not (isinstance(found, (list, tuple)) and len(found) == 1):
            return [found] if isinstance(like, list) else (found,)
        if isinstance(found, (list, tuple)) and len(found) == len(like):
            return list(found) if isinstance(like, list) else tuple(found)
    return found


def _run(cond: Any, body: Any, loop_vars: Any, maximum: Any) -> Any:
    """The loop in Python."""
    turns = 0
    limit = None if maximum is None else int(maximum)
    values = structure.map_structure(convert_leaf, loop_vars)
    while (limit is None or turns < limit) and bool(cond(*_arguments(values))):
        found = _wrapped(body(*_arguments(values)), loop_vars)
        _check_structure(loop_vars, found)
        values = structure.map_structure(convert_leaf, found)
        turns += 1
    return values


def convert_leaf(leaf: Any) -> Any:
    """A loop variable as a tensor, or as the composite it is."""
    if leaf is None or getattr(type(leaf), "_is_composite", False):
        return leaf
    return convert_to_tensor(leaf)


def _check_structure(before: Any, after: Any) -> None:
    try:
        structure.assert_same_structure(before, after, check_types=False)
    except (TypeError, ValueError) as error:
        message = f"while_loop: body must return the structure of loop_vars\n  {error}"
        raise ValueError(message) from None


def _invariants(loop_vars: Any, given: Any) -> list[Shape | None]:
    """One shape per flat loop variable."""
    parts = structure.flatten_up_to(loop_vars, _shapes_as_leaves(given), check_types=False)
    found: list[Shape | None] = []
    for leaf, part in zip(structure.flatten(loop_vars), parts, strict=True):
        count = len(structure.flatten(leaf, expand_composites=True))
        if count == 1 and not getattr(type(leaf), "_is_composite", False):
            found.append(part.shape if isinstance(part, TensorSpec) else Shape(part))
        else:
            found.extend([None] * count)
    return found


def _shapes_as_leaves(given: Any) -> Any:
    """Shapes written as lists stay whole: a list of None and ints is one."""
    if isinstance(given, (list, tuple)):
        if given and all(one is None or isinstance(one, int) for one in given):
            return Shape(given)
        kept = [_shapes_as_leaves(one) for one in given]
        return tuple(kept) if isinstance(given, tuple) else kept
    if isinstance(given, dict):
        return {key: _shapes_as_leaves(one) for key, one in given.items()}
    return given


def build_while(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    invariants: Sequence[Shape | None] | None = None,
    maximum: Any = None,
    name: str = "while",
    parallel_iterations: int = 10,
    names: Sequence[str] | None = None,
) -> Any:
    """A While node, and what it gives in the structure of `loop_vars`.

    `names` are what messages call the leaves of the loop variables; their numbers if None.
    """
    start = structure.map_structure(convert_leaf, loop_vars)
    flat = structure.flatten(start, expand_composites=True)
    tensors = [leaf for leaf in flat if leaf is not None]
    specs = []
    for index, leaf in enumerate(tensors):
        held = None if invariants is None else invariants[index]
        if held is not None and not leaf.shape.is_compatible_with(held):
            message = (
                f"while_loop: loop variable {index} of shape {leaf.shape.text} does not fit its "
                f"invariant {held.text}"
            )
            raise ValueError(message)
        specs.append(TensorSpec.of(leaf.shape if held is None else held, leaf.dtype))
    limit = None if maximum is None else convert_to_tensor(maximum, dtype_hint=dtypes.int32)
    extra: list[Tensor] = []
    if limit is not None:
        # TensorFlow's convention: a counter and the limit go first.
        extra = [constants.constant(0), _as_int32(limit)]
    loop = _Loop(cond, body, start, flat, len(extra), name)
    handles = [handle_spec(x) if x.dtype is dtypes.resource else None for x in tensors]
    for _ in range(_WIDENINGS):
        traced = loop.trace(specs, handles)
        widened = _widened(specs, traced.graph.outputs[len(extra) :], invariants, names)
        if widened == specs:
            break
        specs = widened
    test = loop.trace_condition(specs, handles)
    captured = branches.union([test, traced])
    test.take(captured)
    values = traced.take(captured)
    traced.graph.outputs = [*traced.graph.outputs, *values]
    traced.graph.output_names = [
        *traced.graph.output_names,
        *(f"captured_{index}" for index in range(len(values))),
    ]
    everything = [*extra, *tensors, *captured]
    shapes = [*[Shape(())] * len(extra), *[spec.shape for spec in specs]]
    shapes.extend(tensor.shape for tensor in captured)
    outputs = branches.add_node(
        WHILE if test.stateful or traced.stateful else STATELESS_WHILE,
        (everything,),
        {
            "cond": test.ref,
            "body": traced.ref,
            "output_shapes": tuple(shapes),
            "parallel_iterations": parallel_iterations,
        },
        name,
    )
    return loop.packed(outputs[len(extra) : len(extra) + len(tensors)], traced.results)


def _as_int32(limit: Tensor) -> Tensor:
    if limit.dtype is dtypes.int32:
        return limit
    from pinnace.ops.array import casting

    return casting.cast(limit, dtypes.int32)


def _widened(
    specs: Sequence[TensorSpec],
    outputs: Sequence[Any],
    invariants: Sequence[Shape | None] | None,
    names: Sequence[str] | None,
) -> list[TensorSpec]:
    """The specs that also cover what the body returned; ValueError if a shape is another one."""
    found = []
    for index, (spec, value) in enumerate(zip(specs, outputs, strict=True)):
        shape = value.shape
        held = invariants is not None and invariants[index] is not None
        if shape.is_subtype_of(spec.shape):
            found.append(spec)
        elif shape.is_compatible_with(spec.shape) and not held:
            # Less is known of it after a turn: then less is known of it before.
            wider = spec.shape.most_specific_compatible_shape(shape)
            found.append(TensorSpec.of(wider, spec.dtype))
        else:
            which = index if names is None else repr(names[index])
            message = (
                f"while_loop: loop variable {which} enters the loop with shape "
                f"{spec.shape.text}, but has "
                f"shape {shape.text} after one turn.\n  Try: shape_invariants, or "
                "autograph.experimental.set_loop_options(shape_invariants=…)"
            )
            raise ValueError(message)
    return found


class _Loop:
    """The Python functions of a loop and the structure of its variables."""

    def __init__(
        self, cond: Any, body: Any, start: Any, flat: Sequence[Any], extra: int, name: str
    ) -> None:
        self._cond = cond
        self._body = body
        self._start = start
        self._flat = flat
        self._extra = extra
        self._name = name

    def packed(self, tensors: Sequence[Any], like: Any = None) -> Any:
        """Flat tensors in the structure of the loop variables."""
        found = iter(tensors)
        leaves = [None if leaf is None else next(found) for leaf in self._flat]
        form = self._start if like is None else like
        return structure.pack_sequence_as(form, leaves, expand_composites=True)

    def _specs(self, specs: Sequence[TensorSpec]) -> list[TensorSpec]:
        counters = [TensorSpec.of(Shape(()), dtypes.int32)] * self._extra
        return [*counters, *specs]

    def _handles(self, handles: Sequence[TensorSpec | None]) -> list[TensorSpec | None]:
        return [*[None] * self._extra, *handles]

    def trace(self, specs: Sequence[TensorSpec], handles: Sequence[TensorSpec | None]) -> Branch:
        """The body's graph; its results are the loop variables in their structure."""

        def run(*symbols: Any) -> Any:
            values = self.packed(symbols[self._extra :])
            found = _wrapped(self._body(*_arguments(values)), self._start)
            _check_structure(self._start, found)
            return [*self._counted(symbols), self._converted(found)]

        branch = branches.trace_branch(
            run, f"{self._name}_body", self._specs(specs), tuple, self._handles(handles)
        )
        branch.results = branch.results[-1]
        return branch

    def _counted(self, symbols: Sequence[Any]) -> list[Any]:
        if not self._extra:
            return []
        return [arithmetic.add(symbols[0], 1), symbols[1]]

    def _converted(self, found: Any) -> Any:
        """What the body returned, each leaf of the dtype it began with."""
        before = structure.flatten(self._start, expand_composites=False)
        after = structure.flatten(found, expand_composites=False)
        leaves = []
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            if old is None or getattr(type(old), "_is_composite", False):
                leaves.append(new)
                continue
            try:
                leaves.append(convert_to_tensor(new, old.dtype))
            except (TypeError, ValueError) as error:
                kind = new.dtype.name if hasattr(new, "dtype") else type(new).__name__
                message = (
                    f"while_loop: loop variable {index} enters the loop with dtype "
                    f"{old.dtype.name}, but has "
                    f"{kind} after one turn"
                )
                raise TypeError(message) from error
        return structure.pack_sequence_as(found, leaves)

    def trace_condition(
        self, specs: Sequence[TensorSpec], handles: Sequence[TensorSpec | None]
    ) -> Branch:
        """The condition's graph."""

        def run(*symbols: Any) -> Any:
            test = self._cond(*_arguments(self.packed(symbols[self._extra :])))
            test = convert_to_tensor(test)
            if test.shape.rank not in {None, 0} or test.dtype is not dtypes.bool:
                message = (
                    "while_loop: cond must give a bool scalar, got "
                    f"{test.dtype.name}{test.shape.text}"
                )
                raise TypeError(message)
            if self._extra:
                test = logic.logical_and(comparison.less(symbols[0], symbols[1]), test)
            return test

        return branches.trace_branch(
            run, f"{self._name}_cond", self._specs(specs), tuple, self._handles(handles)
        )


def is_traced(values: Any) -> bool:
    """Whether a symbolic tensor is among the leaves."""
    leaves = structure.flatten(values, expand_composites=True)
    return any(isinstance(leaf, SymbolicTensor) for leaf in leaves)
