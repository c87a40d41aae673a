"""`for` loops over datasets and iterators in traced functions, for AutoGraph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.data import traced_iterator
from pinnace.data.dataset import Dataset
from pinnace.data.elements import packed
from pinnace.data.iterator import DatasetIterator
from pinnace.data.optionals import kinds_and_shapes
from pinnace.framework import dtypes, structure
from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.specs import TensorSpec
from pinnace.functions.autograph import operators
from pinnace.functions.control.looping import while_loop
from pinnace.ops.control.assertions import Assert
from pinnace.ops.dataset import iterators
from pinnace.ops.math import logic
from pinnace.ops.math.comparison import greater_equal

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Tensor


def for_dataset(
    iterated: Dataset | DatasetIterator | traced_iterator.TracedIterator,
    extra_test: Callable[[], Any] | None,
    body: Callable[[Any], Any],
    get_state: Callable[[], Any],
    set_state: Callable[[Any], None],
    symbol_names: Any = None,
    opts: Any = None,
) -> None:
    """`for x in iterated: body(x)` while `extra_test` holds; arguments as in AutoGraph.

    In a traced function a whole dataset becomes one `ReduceDataset`, and a loop that may stop early
    a `While` over an iterator that restarts at each run. Otherwise it is a Python loop.

    Args:
        iterated: a dataset, or an iterator, which goes on where it is.
        extra_test: whether to go on, asked before each element; None if nothing ends it early.
        body: takes an element.
        get_state: the loop's variables, a tuple.
        set_state: takes the loop's variables.
        symbol_names: accepted.
        opts: accepted.
    """
    del symbol_names, opts
    if state.tracer is None:
        _in_python(iterated, extra_test, body)
    elif extra_test is None and isinstance(iterated, Dataset):
        _as_reduce(iterated, body, get_state, set_state)
    else:
        _as_while(iterated, extra_test, body, get_state, set_state)


def register() -> None:
    """Register datasets and iterators with AutoGraph: their loops and built-ins that take them."""
    for kind in (Dataset, DatasetIterator, traced_iterator.TracedIterator):
        operators.register_iteration(kind, for_dataset)
    operators.register_python_functions(
        Dataset,
        {
            all: _all,
            any: _any,
            enumerate: lambda dataset, start: dataset.enumerate(start),
            filter: lambda predicate, dataset: dataset.filter(predicate or (lambda x: x)),
            len: _len,
            map: _map,
            zip: _zip,
        },
    )


def _zip(*datasets: Dataset, strict: bool = False) -> Dataset:
    if strict:
        raise NotImplementedError(
            "zip: strict=True is not supported for datasets in a traced function: their lengths "
            "are not known\n  Try: zip without strict, which ends with the shortest"
        )
    return Dataset.zip(datasets)


def _map(function: Callable[..., Any], *datasets: Dataset) -> Dataset:
    # A single dataset is zipped too: a tuple element is one argument, as in `map`.
    return Dataset.zip(datasets).map(function)


def _truths(dataset: Dataset, who: str) -> Dataset:
    specs = structure.flatten(dataset.element_spec)
    if len(specs) != 1 or not TensorSpec((), dtypes.bool).is_compatible_with(specs[0]):
        raise ValueError(
            f"{who}: the elements of a dataset must be scalar bools while a function is traced, "
            f"got {dataset.element_spec}"
        )
    return dataset


def _any(dataset: Dataset) -> Tensor:
    found = _truths(dataset, "any").filter(lambda x: x).take(1)
    return found.reduce(convert_to_tensor(False), lambda _, last: last)  # type: ignore[no-any-return]


def _all(dataset: Dataset) -> Tensor:
    found = _truths(dataset, "all").filter(logic.logical_not).take(1)
    return found.reduce(convert_to_tensor(True), lambda _, last: last)  # type: ignore[no-any-return]


def _len(dataset: Dataset) -> Tensor:
    if dataset.stage.symbols():
        size = dataset.cardinality()
        Assert(greater_equal(size, 0), ["the length of the dataset is infinite or unknown"])
        return size
    return convert_to_tensor(len(dataset), dtypes.int64)


def _in_python(
    iterated: Any, extra_test: Callable[[], Any] | None, body: Callable[[Any], Any]
) -> None:
    if extra_test is not None and not bool(extra_test()):
        return
    for element in iterated:
        body(element)
        if extra_test is not None and not bool(extra_test()):
            return


def _as_reduce(
    dataset: Dataset,
    body: Callable[[Any], Any],
    get_state: Callable[[], Any],
    set_state: Callable[[Any], None],
) -> None:
    initial = tuple(get_state())

    def step(current: Any, element: Any) -> Any:
        set_state(current[1:])
        body(element)
        return (current[0], *get_state())

    # A state must not be empty; assignments to tf.Variables are not part of it.
    final = dataset.reduce((convert_to_tensor(0), *initial), step)
    set_state(tuple(final[1:]))


def _as_while(
    iterated: Dataset | DatasetIterator | traced_iterator.TracedIterator,
    extra_test: Callable[[], Any] | None,
    body: Callable[[Any], Any],
    get_state: Callable[[], Any],
    set_state: Callable[[Any], None],
) -> None:
    spec = iterated.element_spec
    kinds, shapes = kinds_and_shapes(spec, "a loop")
    if isinstance(iterated, Dataset):
        handle = iterators.make_iterator(iterated.variant_tensor, kinds, shapes)
    else:
        handle = iterated.handle
    initial = tuple(get_state())

    def goes_on(optional: Tensor, *current: Any) -> Any:
        has_value = iterators.optional_has_value(optional)
        if extra_test is None:
            return has_value
        set_state(current)
        return logic.logical_and(has_value, extra_test())

    def iteration(optional: Tensor, *current: Any) -> Any:
        set_state(current)
        found = iterators.optional_value(optional, kinds, shapes)
        body(packed(spec, found))
        return (iterators.next_optional(handle, kinds, shapes), *get_state())

    first = iterators.next_optional(handle, kinds, shapes)
    final = while_loop(goes_on, iteration, (first, *initial))
    set_state(tuple(final[1:]))
