"""Functions of elements: Python functions traced once, and run as plans on arrays.

A function whose result contains datasets (for `flat_map`, `interleave`) is traced once too: its
result is a template, stages with symbolic tensors in place of the values of each element.
"""

from __future__ import annotations

import contextlib
import copy
import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.data import row_wise
from pinnace.data.dataset_spec import DatasetSpec
from pinnace.data.elements import (
    Columns,
    Element,
    Nest,
    array_of_tensor,
    as_leaf,
    is_unpacked,
    leaf_array,
    leaves_of,
    normalised,
    packed,
    spec_of,
)
from pinnace.data.nothing import NoneTensorSpec
from pinnace.data.stage import Absent, Bindable, Stage, Stages, shown
from pinnace.data.variants import Readable
from pinnace.framework import dtypes, structure
from pinnace.framework.context import state
from pinnace.framework.errors import OpError
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import SymbolicTensor, Tensor, wrap
from pinnace.functions.autograph.conversion import converted_as_around
from pinnace.functions.control.batching import Rows, Stacked
from pinnace.functions.tracing import trace
from pinnace.ops.batch_rules import UnbatchableError
from pinnace.ops.dataset.recipes import as_variant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pinnace.framework.variable import Variable
    from pinnace.functions.concrete import ConcreteFunction
    from pinnace.functions.tracer import FunctionTracer


class Traced(Bindable):
    """A Python function of tensors as a plan.

    Args:
        function: takes the leaves' structure; gives any structure of what becomes tensors.
        specs: specs of its arguments, one structure each.
        who: the transformation, for messages.

    Attributes:
        spec: the structure of its result.
        leaves: the specs of the result, flat.
    """

    def __init__(self, function: Callable[..., Any], specs: Sequence[Nest], who: str) -> None:
        self.name = f"{who}_{getattr(function, '__name__', 'function')}".replace(
            "<lambda>", "lambda"
        )
        user = converted_as_around(function)

        def normal(*args: Any) -> Any:
            # The function may change the lists and dictionaries it is given: they are copies.
            result = user(*structure.map_structure(lambda leaf: leaf, args))
            # A list is what ops with several outputs give, which seldom stack: it is a tuple.
            result = tuple(result) if type(result) is list else result
            return normalised(result, lambda leaf: _tensor(leaf, who))

        given = structure.map_structure(_none_of_its_spec, tuple(specs))
        with _no_variables(who):
            self.concrete, _ = trace(normal, given, {}, self.name)
        self.spec = structure.map_structure(spec_of, self.concrete.structured_outputs)
        self.leaves = tuple(leaves_of(self.spec))
        self.captures: tuple[Any, ...] = tuple(
            tensor if isinstance(tensor, SymbolicTensor) else array_of_tensor(tensor)
            for tensor in self.concrete.captured
        )
        nodes = self.concrete.graph.nodes
        self.draws_random = "random" in {node.op.effect for node in nodes}
        self._run = self.concrete.run
        # Functions called by the graph, in whose context they run, may draw too.
        self._may_draw = any(node.op.wants_ctx for node in nodes)
        # Shared by the copies that `bound` makes.
        self._of_many: dict[str, tuple[ConcreteFunction, list[bool]] | None] = {}

    def __call__(self, leaves: Element) -> Element:
        """The leaves of the result, from those of an element."""
        return self._run([*[leaf_array(leaf) for leaf in leaves], *self.captures])

    def begun(self, plans: dict[Any, Callable[..., Any]]) -> Traced:
        """The function in a pass, whose plans are given; its random ops draw from their streams."""
        if not self._may_draw:
            return self
        made = copy.copy(self)
        made._run = plans.get(self.concrete) or plans.setdefault(
            self.concrete, self.concrete.begun_anew()
        )
        return made

    @functools.cached_property
    def row_wise(self) -> bool:
        """Whether it can be applied to several batches at once."""
        return row_wise.is_row_wise(self.concrete)

    def batched(self) -> BatchedFunction | None:
        """The vectorised function of a block of elements; None if it cannot be vectorised."""
        if "found" not in self._of_many:
            self._of_many["found"] = of_many(self.concrete)
        found = self._of_many["found"]
        return None if found is None else BatchedFunction(self, *found)


@contextlib.contextmanager
def _no_variables(who: str) -> Iterator[None]:
    """A block in which variables are made in an `init_scope` only, as layers make theirs."""

    def check(variable: Variable) -> None:
        if state.tracer is not None:
            raise ValueError(
                f"{who}: the function made variable {variable.name!r}\n  Try: make it outside"
            )

    saved, state.collectors = state.collectors, (*state.collectors, check)
    try:
        yield
    finally:
        state.collectors = saved


def _none_of_its_spec(spec: Any) -> Any:
    return None if isinstance(spec, NoneTensorSpec) else spec


class BatchedFunction:
    """A traced function, applied to blocks of elements.

    Args:
        one: the function of an element.
        function: the function of the columns.
        constant: the results of `function` that are the same for every row.
    """

    __slots__ = ("_constant", "_function", "one")

    def __init__(self, one: Traced, function: ConcreteFunction, constant: Sequence[bool]) -> None:
        self.one = one
        self._function = function
        self._constant = constant

    def __call__(self, columns: Columns) -> Columns:
        """The function applied to every row."""
        results = self._function.run([*columns, *self.one.captures])
        if not any(self._constant):
            return results
        count = len(columns[0])
        return tuple(
            np.broadcast_to(array, (count, *array.shape)) if constant else array
            for array, constant in zip(results, self._constant, strict=True)
        )


def of_many(one: ConcreteFunction) -> tuple[ConcreteFunction, list[bool]] | None:
    """The vectorised `one`, and for each result whether it is the same for all rows.

    None if there is none, or its results are not certainly equal.
    """
    graph = one.graph
    count = len(graph.inputs) - len(one.captured)
    if not count or graph.effects or any(node.op.stateful for node in graph.nodes):
        return None
    specs = [value.spec for value in graph.inputs]
    opaque = (dtypes.resource, dtypes.variant)
    if any(spec.shape.rank is None or spec.dtype in opaque for spec in specs):
        return None
    constant: list[bool] = []

    def of_columns(*tensors: Tensor) -> Any:
        given = [Stacked(tensor, index < count) for index, tensor in enumerate(tensors)]
        rows = Rows(dict(zip(graph.inputs, given, strict=True)), exact=True)
        rows.compute(graph)
        found = [rows.values[value] for value in graph.outputs]
        constant.extend(not result.batched for result in found)
        return tuple(result.tensor for result in found)

    columns = (TensorSpec.of(Shape((None,)) + spec.shape, spec.dtype) for spec in specs[:count])
    try:
        function, _ = trace(of_columns, (*columns, *specs[count:]), {}, f"{graph.name}_of_many")
    except (UnbatchableError, OpError, TypeError, ValueError):
        return None
    return None if all(constant) or function.captured else (function, constant)


class DatasetGivenError(TypeError):
    """A function returned a dataset where that is not supported."""


def _tensor(leaf: Any, who: str) -> Any:
    if leaf is None:
        raise TypeError(f"{who}: the function must return tensors, got None")
    if hasattr(leaf, "stage") and isinstance(leaf.stage, Stage):
        raise DatasetGivenError(
            f"{who}: the function must return tensors, got {leaf!r}\n  Try: flat_map"
        )
    return as_leaf(leaf)


def arguments_of(spec: Nest) -> tuple[Nest, ...]:
    """The arguments with which a user's function is called for an element."""
    return spec if is_unpacked(spec) else (spec,)


def holds_datasets(spec: Nest) -> bool:
    """Whether elements contain datasets."""
    return any(isinstance(leaf, DatasetSpec) for leaf in structure.flatten(spec))


def _part_of(part: Any, tensors: Iterator[Any]) -> Any:
    """Build a part of an element from the next tensors."""
    return packed(part, [next(tensors) for _ in leaves_of(part)])


def _tensor_specs(parts: Sequence[Any]) -> list[TensorSpec]:
    """Component specs of an element's parts, datasets excepted."""
    kept = [part for part in parts if not isinstance(part, DatasetSpec)]
    return [leaf for part in kept for leaf in leaves_of(part)]


def _absent(spec: DatasetSpec, variant: Any = None) -> Absent | Stages:
    """The placeholder for a dataset, or for a list of datasets, while tracing."""
    if not spec.shape.rank:
        return Absent(spec.element_spec, variant)
    return Stages(Absent(spec.element_spec) for _ in range(spec.shape.num_elements() or 0))


class Direct(Bindable):
    """A function of elements that contain datasets: called without tracing."""

    def __init__(
        self, function: Callable[..., Any], spec: Nest, who: str, public: Callable[[Stage], Any]
    ) -> None:
        self._function = converted_as_around(function)
        self._element_spec = spec
        self._who = who
        self._public = public
        self._specs = tuple(structure.flatten(spec))
        self.spec = self._result_spec()
        self.leaves = tuple(leaves_of(self.spec))
        self.draws_random = True  # it is unknown
        self.row_wise = False

    def _result_spec(self) -> Nest:
        def leaf_spec(leaf: Any) -> Any:
            stage = getattr(leaf, "stage", None)
            return DatasetSpec(stage.spec) if isinstance(stage, Stage) else spec_of(leaf)

        specs: list[Any] = []

        def probe(*leaves: Any) -> Any:
            found = iter(leaves)
            arguments = [
                shown(_absent(part), self._public)
                if isinstance(part, DatasetSpec)
                else _part_of(part, found)
                for part in self._specs
            ]
            element = structure.pack_sequence_as(self._element_spec, arguments)
            result = normalised(
                self._function(*arguments_of(element)),
                lambda leaf: leaf if hasattr(leaf, "stage") else _tensor(leaf, self._who),
            )
            specs.append(structure.map_structure(leaf_spec, result))
            return ()

        trace(probe, tuple(_tensor_specs(self._specs)), {}, self._who)
        return specs[0]

    def __call__(self, leaves: Element) -> Element:
        """The leaves of the result, from those of an element."""
        found = iter(leaves)
        arguments = [
            shown(next(found), self._public)
            if isinstance(part, DatasetSpec)
            else packed(
                part, [wrap(leaf_array(next(found)), spec.dtype) for spec in leaves_of(part)]
            )
            for part in self._specs
        ]
        given = structure.pack_sequence_as(self._element_spec, arguments)
        result = normalised(
            self._function(*arguments_of(given)),
            lambda leaf: leaf if hasattr(leaf, "stage") else _tensor(leaf, self._who),
        )
        return tuple(
            leaf.stage if hasattr(leaf, "stage") else array_of_tensor(leaf)
            for leaf in leaves_of(result)
        )

    def batched(self) -> None:
        """None: cannot be vectorised."""

    def begun(self, plans: dict[Any, Callable[..., Any]]) -> Direct:
        """The function itself: its random ops are eager ones."""
        del plans
        return self


def element_function(
    function: Callable[..., Any], spec: Nest, who: str, public: Callable[[Stage], Any]
) -> Traced | Direct:
    """The fastest form of a function of elements of `spec`."""
    if holds_datasets(spec):
        return Direct(function, spec, who, public)
    try:
        return Traced(function, arguments_of(spec), who)
    except DatasetGivenError:
        if who != "map":
            raise
    return Direct(function, spec, who, public)


class StageMaker(Bindable):
    """A function from an element to a dataset: a template of stages, and a plan for its symbols.

    Attributes:
        spec: spec of the elements of the datasets it makes.
    """

    # What the template takes from functions around this one is among `captures`.
    own = frozenset({"_template", "_held"})

    def __init__(
        self, function: Callable[..., Any], spec: Nest, who: str, public: Callable[[Stage], Any]
    ) -> None:
        user = converted_as_around(function)
        parts, leaves = structure.flatten(spec), leaves_of(spec)
        tensor_specs = _tensor_specs(parts)
        self._absent: dict[int, Absent | Stages] = {}
        made: list[Stage] = []
        symbols: list[SymbolicTensor] = []

        def normal(*tensors: Any) -> Any:
            found = iter(tensors[: len(tensor_specs)])
            variants = iter(tensors[len(tensor_specs) :])
            arguments: list[Any] = []
            place = 0
            for part in parts:
                if isinstance(part, DatasetSpec):
                    self._absent[place] = _absent(part, None if part.shape.rank else next(variants))
                    arguments.append(shown(self._absent[place], public))
                else:
                    arguments.append(_part_of(part, found))
                place += len(leaves_of(part))
            element = structure.pack_sequence_as(spec, arguments)
            result = user(*arguments_of(element))
            stage = getattr(result, "stage", None)
            if not isinstance(stage, Stage):
                raise TypeError(
                    f"{who}: The `map_func` argument must return a `Dataset` object. Got {result!r}"
                )
            made.append(stage)
            # Symbols of functions around this one are captures of the graph like any other.
            tracer: Any = state.tracer
            given = {id(variant) for variant in tensors[len(tensor_specs) :]}
            symbols.extend(symbol for symbol in stage.symbols() if id(symbol) not in given)
            return tuple(_own(tracer, symbol) for symbol in symbols)

        datasets = [p for p in parts if isinstance(p, DatasetSpec) and not p.shape.rank]
        variants = [TensorSpec.of(Shape(()), dtypes.variant)] * len(datasets)
        self._concrete, _ = trace(normal, (*tensor_specs, *variants), {}, who)
        self._template = made[0]
        self._symbols = tuple(id(symbol) for symbol in symbols)
        self._tensor_positions = tuple(i for i, s in enumerate(leaves) if isinstance(s, TensorSpec))
        self._held = tuple(self._absent.items())
        self._variants = {
            place: id(absent.variant) for place, absent in self._held if isinstance(absent, Absent)
        }
        self.captures: tuple[Any, ...] = tuple(
            tensor if isinstance(tensor, SymbolicTensor) else array_of_tensor(tensor)
            for tensor in self._concrete.captured
        )
        self.spec = self._template.spec
        self._run = self._concrete.run
        self._may_draw = any(node.op.wants_ctx for node in self._concrete.graph.nodes)

    def begun(self, plans: dict[Any, Callable[..., Any]]) -> StageMaker:
        """The function in a pass, whose plans are given; its random ops draw from their streams."""
        if not self._may_draw:
            return self
        made = copy.copy(self)
        made._run = plans.get(self._concrete) or plans.setdefault(
            self._concrete, self._concrete.begun_anew()
        )
        return made

    def __call__(self, leaves: Element) -> Stage:
        """The dataset for one element."""
        arrays = [leaf_array(leaves[i]) for i in self._tensor_positions]
        values: dict[int, Any] = {}
        for index, absent in self._held:
            if isinstance(absent, Stages):
                values.update((id(a), s) for a, s in zip(absent, leaves[index], strict=True))
            else:
                array = as_variant(Readable(leaves[index]))
                values[id(absent)] = leaves[index]
                values[self._variants[index]] = array
                arrays.append(array)
        if self._symbols:
            values.update(zip(self._symbols, self._run([*arrays, *self.captures]), strict=True))
        return self._template.bound(values)


def _own(tracer: FunctionTracer, symbol: SymbolicTensor) -> Tensor:
    return tracer.tensor_of(tracer.value_of(symbol))


def truth(result: Element) -> bool:
    """The value of a predicate."""
    return bool(result[0])


def check_predicate(function: Traced | Direct, who: str) -> None:
    """Raise TypeError unless the function returns one scalar bool."""
    (*_, leaf) = function.leaves or (None,)
    if (
        len(function.leaves) != 1
        or not isinstance(leaf, TensorSpec)
        or not leaf.dtype.is_bool
        or leaf.shape.rank not in {0, None}
    ):
        raise TypeError(f"{who}: the predicate must give one scalar bool, gives {function.spec}")


def wrapped(leaves: Element, specs: Sequence[Any], spec: Nest) -> Nest:
    """Tensors in the structure of `spec`."""
    tensors = [wrap(leaf_array(leaf), one.dtype) for leaf, one in zip(leaves, specs, strict=True)]
    return packed(spec, tensors)


def relaxed(before: Nest, after: Nest, who: str) -> Nest:
    """The specs of a state that changes from `before` to `after` in one step.

    Raises:
        TypeError: structure or dtypes change.
    """
    try:
        structure.assert_same_structure(before, after)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{who}: the new state must have the structure of the old: {error}"
        ) from None

    def join(old: Any, new: Any) -> Any:
        if not isinstance(old, TensorSpec):
            found = old.most_specific_common_supertype([new])
            if found is None:
                raise TypeError(f"{who}: the state must stay {old}, becomes {new}")
            return found
        if old.dtype is not new.dtype:
            raise TypeError(
                f"{who}: The element types for the new state must match the initial state. "
                f"Expected {old}, got {new}"
            )
        return TensorSpec.of(old.shape.most_specific_compatible_shape(new.shape), old.dtype)

    return structure.map_structure(join, before, after)
