"""Dataset's methods that call functions of elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from pinnace.data import interleave, sampling
from pinnace.data import map as maps
from pinnace.data.elements import Nest, leaves_of, normalised, packed, spec_of
from pinnace.data.functions import (
    StageMaker,
    check_predicate,
    element_function,
    relaxed,
    wrapped,
)
from pinnace.data.pipeline import Pipeline, parallel_calls, public
from pinnace.data.stage import Run, SeedSource
from pinnace.framework import structure
from pinnace.framework.context import state
from pinnace.functions.function import trace
from pinnace.graph.graph import FunctionRef
from pinnace.ops.dataset import iterators

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.data.dataset import Dataset


class Applying(Pipeline):
    """Functions of elements."""

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """map_func(element) for every element.

        Args:
            map_func: takes an element (a tuple as several arguments), gives a structure of tensors.
                It is traced now; where it can be, it runs on many elements at once.
            num_parallel_calls: how many threads may run it, or AUTOTUNE. They are used once calls
                turn out to be slow enough to pay for them.
            deterministic: False gives results as they are ready.
            synchronous: accepted.
            use_unbounded_threadpool: accepted.
            name: accepted.
        """
        del synchronous, use_unbounded_threadpool, name
        function = element_function(map_func, self.element_spec, "map", public)
        parallel = parallel_calls(num_parallel_calls, "map")
        return self._with(
            maps.Mapped(self._stage, function, parallel, self._in_order(deterministic))
        )

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements for which `predicate` gives True."""
        del name
        function = element_function(predicate, self.element_spec, "filter", public)
        check_predicate(function, "filter")
        return self._with(maps.Filtered(self._stage, function))

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements before the first for which `predicate` gives False."""
        del name
        function = element_function(predicate, self.element_spec, "take_while", public)
        check_predicate(function, "take_while")
        return self._with(maps.TakenWhile(self._stage, function))

    def scan(
        self, initial_state: Nest, scan_func: Callable[..., Any], name: str | None = None
    ) -> Dataset:
        """What `scan_func(state, element) -> (state, output)` puts out."""
        del name
        step = maps.StateFunction(initial_state, scan_func, self.element_spec, "scan", gives=True)
        return self._with(maps.Scanned(self._stage, step))

    def reduce(
        self, initial_state: Nest, reduce_func: Callable[..., Any], name: str | None = None
    ) -> Any:
        """The last state of `reduce_func(state, element) -> state`.

        Inside a traced function this is one op of its graph; there the state keeps its shapes.
        """
        del name
        if state.tracer is not None:
            return self._traced_reduce(initial_state, reduce_func)
        step = maps.StateFunction(
            initial_state, reduce_func, self.element_spec, "reduce", gives=False
        )
        leaves: Sequence[Any] = step.initial
        for element in self._stage.open(Run()):
            leaves, _ = step(leaves, element)
        return wrapped(tuple(leaves), leaves_of(step.state_spec), step.state_spec)

    def _traced_reduce(self, initial_state: Nest, reduce_func: Callable[..., Any]) -> Any:
        initial = normalised(initial_state)
        specs = structure.map_structure(spec_of, initial)

        def step(current: Nest, element: Nest) -> Nest:
            result = normalised(reduce_func(current, element))
            structure.assert_same_structure(initial, result)
            return result

        while True:
            concrete, _ = trace(step, (specs, self.element_spec), {}, "reduce")
            found = structure.map_structure(spec_of, concrete.structured_outputs)
            wider = relaxed(specs, found, "reduce")
            if structure.flatten(wider) == structure.flatten(specs):
                break
            specs = wider
        leaves = leaves_of(specs)
        results = iterators.reduce_dataset(
            self.variant_tensor,
            leaves_of(initial),
            list(concrete.captured),
            FunctionRef(concrete.graph.name, concrete.graph),
            [leaf.dtype for leaf in leaves],
            [leaf.shape for leaf in leaves],
        )
        return packed(initial, results)

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements of map_func(element), a dataset, one dataset after the other."""
        del name
        maker = StageMaker(map_func, self.element_spec, "flat_map", public)
        return self._with(interleave.FlatMapped(self._stage, maker))

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: Any = None,
        block_length: Any = None,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """The elements of map_func(element), a dataset, `cycle_length` datasets in turn.

        Args:
            map_func: takes an element and gives a dataset.
            cycle_length: how many datasets are open at once; the number of processors if None.
            block_length: how many elements to take from one before the next; 1 if None.
            num_parallel_calls: whether threads read ahead.
            deterministic: accepted: the order is the same either way.
            name: accepted.
        """
        del name
        maker = StageMaker(map_func, self.element_spec, "interleave", public)
        return self._with(
            interleave.Interleaved(
                self._stage,
                maker,
                cycle_length,
                1 if block_length is None else block_length,
                parallel_calls(num_parallel_calls, "interleave"),
                self._in_order(deterministic),
            )
        )

    def apply(self, transformation_func: Callable[[Dataset], Any]) -> Any:
        """transformation_func(self), a dataset."""
        result = transformation_func(cast("Dataset", self))
        if not isinstance(result, Pipeline):
            raise TypeError(f"apply: the function must return a Dataset, got {result!r}")
        return result

    def rejection_resample(
        self,
        class_func: Callable[..., Any],
        target_dist: Any,
        initial_dist: Any = None,
        seed: int | None = None,
        name: str | None = None,
    ) -> Dataset:
        """(class, element), some left out so that classes are distributed as `target_dist` says.

        Args:
            class_func: takes an element and gives its class, an int32 or int64 scalar.
            target_dist: a number per class.
            initial_dist: how the classes are distributed now; counted on the way if None.
            seed: of the draws.
            name: accepted.
        """
        del name
        who = "rejection_resample"
        function = element_function(class_func, self.element_spec, who, public)
        leaves = function.leaves
        if len(leaves) != 1 or leaves[0].shape.rank or not leaves[0].dtype.is_integer:
            raise TypeError(f"{who}: class_func must give one integer, gives {function.spec}")
        seeds = SeedSource(seed, True)
        kind = leaves[0].dtype
        return self._with(
            sampling.Resampled(self._stage, function, target_dist, initial_dist, seeds, kind)
        )

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Dataset:
        """The elements that can be made; those that raise are left out."""
        del name
        return self._with(maps.WithoutErrors(self._stage, log_warning))
