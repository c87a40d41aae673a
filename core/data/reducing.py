"""Elements collected by key into one state each: `group_by_reducer`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.data.functions import Traced, arguments_of, element_function, relaxed
from pinnace.data.pipeline import public
from pinnace.data.stage import Run, Stage
from pinnace.framework import dtypes, structure
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pinnace.data.elements import Element

_WHO = "group_by_reducer"


class Reducer:
    """How elements of one key become one.

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
        """Takes the key, gives the state at the start."""
        return self._functions[0]

    @property
    def reduce_func(self) -> Callable[..., Any]:
        """Takes a state and an element, gives the new state."""
        return self._functions[1]

    @property
    def finalize_func(self) -> Callable[..., Any]:
        """Takes the last state, gives the element."""
        return self._functions[2]


class Reduced(Stage):
    """One element per key, by ascending key."""

    def __init__(self, source: Stage, key_func: Callable[..., Any], reducer: Reducer) -> None:
        number = TensorSpec.of(Shape(()), dtypes.int64)
        key = element_function(key_func, source.spec, _WHO, public)
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

    def elements(self, run: Run) -> Iterator[Element]:
        """What is left of each key; everything is read before the first comes."""
        states: dict[int, Element] = {}
        for element in self._source.open(run):
            key = int(self._key(element)[0])
            state = states.get(key)
            if state is None:
                state = self._begin((np.int64(key),))
            states[key] = self._step((*state, *element))
        for key in sorted(states):
            yield self._finish(states[key])
