"""Elements reduced to a state: `reduce`, and `group_by_reducer` per key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.data.elements import leaves_of, normalised, packed, spec_of
from pinnace.data.failures import Guarded, raising
from pinnace.data.functions import Direct, Traced, arguments_of, relaxed, wrapped
from pinnace.data.map import StateFunction
from pinnace.data.stage import Run, Stage
from pinnace.framework import dtypes, structure
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.functions.autograph.conversion import converted_as_around
from pinnace.functions.tracing import trace
from pinnace.graph.graph import FunctionRef
from pinnace.ops.dataset import iterators

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pinnace.data.elements import Element, Nest
    from pinnace.framework.tensor import Tensor

_WHO = "group_by_reducer"


def reduced(stage: Stage, initial_state: Nest, reduce_func: Callable[..., Any]) -> Nest:
    """The final state of `reduce_func(state, element) -> state`."""
    step = StateFunction(initial_state, reduce_func, stage.spec, "reduce", gives=False)
    leaves: Sequence[Any] = step.initial
    for element in stage.open(Run()):
        leaves, _ = step(leaves, element)
    return wrapped(tuple(leaves), leaves_of(step.state_spec), step.state_spec)


def traced_reduce(
    handle: Tensor, spec: Nest, initial_state: Nest, reduce_func: Callable[..., Any]
) -> Nest:
    """The same as one op of the function that is traced; the state keeps its shapes.

    Args:
        handle: the dataset, a variant.
        spec: spec of its elements.
        initial_state: the state at the start.
        reduce_func: takes a state and an element, gives the new state.
    """
    user = converted_as_around(reduce_func)
    initial = normalised(initial_state)
    specs = structure.map_structure(spec_of, initial)

    def step(current: Nest, element: Nest) -> Nest:
        # The state is a copy: the function may change it.
        result = normalised(user(structure.map_structure(lambda leaf: leaf, current), element))
        structure.assert_same_structure(initial, result)
        return result

    while True:
        concrete, _ = trace(step, (specs, spec), {}, "reduce")
        found = structure.map_structure(spec_of, concrete.structured_outputs)
        wider = relaxed(specs, found, "reduce")
        if structure.flatten(wider) == structure.flatten(specs):
            break
        specs = wider
    leaves = leaves_of(specs)
    results = iterators.reduce_dataset(
        handle,
        leaves_of(initial),
        list(concrete.captured),
        FunctionRef(concrete.graph.name, concrete.graph),
        [leaf.dtype for leaf in leaves],
        [leaf.shape for leaf in leaves],
    )
    return packed(initial, results)


class Reducer:
    """A reduction of the elements of one key to one.

    Args:
        init_func: takes the key, gives the state at the start.
        reduce_func: takes a state and an element, gives the new state.
        finalize_func: takes the last state (a tuple as several arguments), gives the element.
    """

    def __init__(
        self,
        init_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        finalize_func: Callable[..., Any],
    ) -> None:
        self._functions = (init_func, reduce_func, finalize_func)

    @property
    def init_func(self) -> Callable[..., Any]:
        """The function from a key to the initial state."""
        return self._functions[0]

    @property
    def reduce_func(self) -> Callable[..., Any]:
        """The function from a state and an element to the next state."""
        return self._functions[1]

    @property
    def finalize_func(self) -> Callable[..., Any]:
        """The function from the final state to an element."""
        return self._functions[2]


class Reduced(Stage):
    """One element per key, in ascending order of keys."""

    def __init__(self, source: Stage, key: Traced | Direct, reducer: Reducer) -> None:
        number = TensorSpec.of(Shape(()), dtypes.int64)
        if tuple(key.leaves) != (number,):
            raise TypeError(f"{_WHO}: key_func must give one int64 scalar, gives {key.spec}")
        begin = Traced(reducer.init_func, (number,), _WHO)
        spec = begin.spec
        while True:
            step = Traced(reducer.reduce_func, (spec, source.spec), _WHO)
            wider = relaxed(spec, step.spec, _WHO)
            if structure.flatten(wider) == structure.flatten(spec):
                break
            spec = wider
        finish = Traced(reducer.finalize_func, arguments_of(spec), _WHO)
        super().__init__(finish.spec)
        self._source = source
        self._key = key
        self._begin = begin
        self._step = step
        self._finish = finish

    @raising
    def elements(self, run: Run) -> Iterator[Any]:
        """The reduced value of each key, computed after reading the whole source."""
        states: dict[int, Element] = {}
        key_of, begin, step = map(run.begun, (self._key, self._begin, self._step))

        def reduce(element: Element) -> None:
            key = int(key_of(element)[0])
            state = states.get(key)
            if state is None:
                state = begin((np.int64(key),))
            states[key] = step((*state, *element))

        yield from filter(None, Guarded(map(reduce, self._source.open(run))))
        yield from Guarded(map(run.begun(self._finish), (states[key] for key in sorted(states))))
