"""If, Case and While of traced functions, before they are added to a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pinnace.framework import dtypes, structure
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.functions.control import branches
from pinnace.functions.tracer import handle_spec
from pinnace.ops.array import constants, reshaping
from pinnace.ops.execute import execute
from pinnace.ops.functional.conditions import CASE, IF, STATELESS_CASE, STATELESS_IF
from pinnace.ops.functional.loops import STATELESS_WHILE, WHILE
from pinnace.ops.math import arithmetic, comparison, logic

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.functions.control.branches import Branch
    from pinnace.ops.opdef import OpDef

# How often the shapes of the loop variables are widened before it is an error.
_WIDENINGS = 8


class FunctionNode(NamedTuple):
    """An op that takes functions: `inputs` one per argument, of which the last is a list."""

    op: OpDef
    inputs: tuple[Any, ...]
    attrs: dict[str, Any]


def add(node: FunctionNode, name: str | None = None) -> tuple[Tensor, ...]:
    """Add the node to the graph being traced and return its outputs."""
    return tuple(execute(node.op, *node.inputs, name=name, **node.attrs))


def if_node(pred: Tensor, traced: Sequence[Branch]) -> FunctionNode:
    """An If of two branches with equal results."""
    captured, stateful = _joined(traced)
    attrs = {
        "Tout": tuple(value.dtype for value in traced[0].outputs),
        "then_branch": traced[0].ref,
        "else_branch": traced[1].ref,
    }
    return FunctionNode(IF if stateful else STATELESS_IF, (pred, captured), attrs)


def case_node(index: Tensor, traced: Sequence[Branch]) -> FunctionNode:
    """A Case of branches with equal results."""
    captured, stateful = _joined(traced)
    attrs = {
        "Tout": tuple(value.dtype for value in traced[0].outputs),
        "branches": tuple(branch.ref for branch in traced),
    }
    return FunctionNode(CASE if stateful else STATELESS_CASE, (index, captured), attrs)


def _joined(traced: Sequence[Branch]) -> tuple[list[Tensor], bool]:
    """The inputs common to all branches, and whether one of the branches has effects."""
    captured = branches.union(traced)
    for branch in traced:
        branch.take(captured)
    return captured, any(branch.stateful for branch in traced)


def arguments(packed: Any) -> tuple[Any, ...]:
    """Loop variables as separate arguments."""
    if isinstance(packed, dict):
        return (packed,)
    return tuple(packed) if isinstance(packed, (list, tuple)) else (packed,)


def wrapped(found: Any, like: Any) -> Any:
    """A body's return value as loop variables; a single one may be returned without a list."""
    if isinstance(like, (list, tuple)) and not hasattr(like, "_fields"):
        if len(like) == 1 and not (isinstance(found, (list, tuple)) and len(found) == 1):
            return [found] if isinstance(like, list) else (found,)
        if isinstance(found, (list, tuple)) and len(found) == len(like):
            return list(found) if isinstance(like, list) else tuple(found)
    return found


def convert_leaf(leaf: Any) -> Any:
    """A loop variable as a tensor or composite value."""
    if leaf is None or getattr(type(leaf), "_is_composite", False):
        return leaf
    return convert_to_tensor(leaf)


def check_structure(before: Any, after: Any) -> None:
    """Check that a body returned the structure of its arguments; ValueError if not."""
    try:
        structure.assert_same_structure(before, after, check_types=False)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"while_loop: body must return the structure of loop_vars\n  {error}"
        ) from None


def while_node(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    invariants: Sequence[Shape | None] | None = None,
    maximum: Any = None,
    name: str = "while",
    parallel_iterations: int = 10,
    names: Sequence[str] | None = None,
) -> tuple[FunctionNode, Callable[[Sequence[Tensor]], Any]]:
    """A While node, and the function that packs its outputs in the structure of `loop_vars`.

    `names` are used for the loop variables' leaves in messages; their indices if None.
    """
    start = structure.map_structure(convert_leaf, loop_vars)
    flat = structure.flatten(start, expand_composites=True)
    tensors = [leaf for leaf in flat if leaf is not None]
    specs = []
    for index, leaf in enumerate(tensors):
        held = None if invariants is None else invariants[index]
        if held is not None and not leaf.shape.is_compatible_with(held):
            raise ValueError(
                f"while_loop: loop variable {index} of shape {leaf.shape.text} does not fit its "
                f"invariant {held.text}"
            )
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
        widened = _widened(specs, traced.outputs[len(extra) :], invariants, names)
        if widened == specs:
            break
        specs = widened
    test = loop.trace_condition(specs, handles)
    captured = branches.union([test, traced])
    test.take(captured)
    values = traced.take(captured)
    traced.give(values, "captured")
    everything = [*extra, *tensors, *captured]
    shapes = [*[Shape(())] * len(extra), *[spec.shape for spec in specs]]
    shapes.extend(tensor.shape for tensor in captured)
    node = FunctionNode(
        WHILE if test.stateful or traced.stateful else STATELESS_WHILE,
        (everything,),
        {
            "cond": test.ref,
            "body": traced.ref,
            "output_shapes": tuple(shapes),
            "parallel_iterations": parallel_iterations,
        },
    )
    first, last = len(extra), len(extra) + len(tensors)
    return node, lambda outputs: loop.packed(outputs[first:last], traced.results)


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
    """The specs that also cover the body's results; ValueError if a shape is incompatible."""
    found = []
    for index, (spec, value) in enumerate(zip(specs, outputs, strict=True)):
        shape = value.shape
        held = invariants is not None and invariants[index] is not None
        if shape.is_subtype_of(spec.shape):
            found.append(spec)
        elif shape.is_compatible_with(spec.shape) and not held:
            # Its shape after an iteration is more general, so it must be so before as well.
            wider = spec.shape.most_specific_compatible_shape(shape)
            found.append(TensorSpec.of(wider, spec.dtype))
        else:
            which = index if names is None else f"'{names[index]}'"
            what = (
                f"has shape {_as_tuple(shape)} after one iteration, which does not conform with "
                f"the shape invariant {_as_tuple(spec.shape)}"
                if held
                else f"has shape {_as_tuple(spec.shape)} before the loop, but shape "
                f"{_as_tuple(shape)} after one iteration"
            )
            raise ValueError(
                f"while_loop: loop variable {which} {what}.\n  Try: shape_invariants, or "
                "autograph.experimental.set_loop_options(shape_invariants=…)"
            )
    return found


def _as_tuple(shape: Shape) -> str:
    return "<unknown>" if shape.dims is None else str(tuple(shape.dims))


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
            found = wrapped(self._body(*arguments(values)), self._start)
            check_structure(self._start, found)
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
        """The body's return value, with each leaf cast to its initial dtype."""
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
                raise TypeError(
                    f"while_loop: loop variable {index} enters the loop with dtype "
                    f"{old.dtype.name}, but has "
                    f"{kind} after one iteration"
                ) from error
        return structure.pack_sequence_as(found, leaves)

    def trace_condition(
        self, specs: Sequence[TensorSpec], handles: Sequence[TensorSpec | None]
    ) -> Branch:
        """The condition's graph."""

        def run(*symbols: Any) -> Any:
            test = self._cond(*arguments(self.packed(symbols[self._extra :])))
            test = convert_to_tensor(test)
            if test.dtype is not dtypes.bool or test.shape.num_elements() not in {None, 1}:
                raise TypeError(
                    "while_loop: cond must give a bool scalar, got "
                    f"{test.dtype.name}{test.shape.text}"
                )
            if test.shape.rank != 0:
                test = reshaping.squeeze(test)
            if self._extra:
                test = logic.logical_and(comparison.less(symbols[0], symbols[1]), test)
            return test

        return branches.trace_branch(
            run, f"{self._name}_cond", self._specs(specs), tuple, self._handles(handles)
        )
