"""`for` over tensors, ranges and types given to `register_iteration`: a graph loop."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.tensor import SymbolicTensor, Tensor
from pinnace.framework.variable import Variable
from pinnace.functions.autograph.booleans import and_
from pinnace.functions.autograph.branching import if_stmt
from pinnace.functions.autograph.loops import run_loop
from pinnace.functions.autograph.variables import is_symbolic
from pinnace.ops.array import casting, constants, shapes
from pinnace.ops.composites.tensor_array import TensorArray
from pinnace.ops.math import arithmetic, comparison, ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pinnace.graph.graph import Value

# How `for` iterates over a type in a traced function; `data` registers datasets.
_iterations: dict[type, Callable[..., None]] = {}


def register_iteration(kind: type, for_function: Callable[..., None]) -> None:
    """Define how `for` iterates over values of a class while a function is traced.

    Args:
        kind: the class; its subclasses too.
        for_function: `for_function(iterated, extra_test, body, get_state, set_state, symbol_names,
            opts)` runs `body(item)` for every item as long as `extra_test()` (None: always) is
            true. The variables of the loop are read with `get_state()` and set with
            `set_state(values)`, tuples beside `symbol_names`; `run_loop` does the rest for what can
            say "is there another?" and "the next" with tensors.
    """
    _iterations[kind] = for_function


def for_stmt(
    iter_: Any,
    extra_test: Callable[[], Any] | None,
    body: Callable[[Any], None],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[tuple[Any, ...]], None],
    symbol_names: tuple[str, ...],
    opts: dict[str, Any],
) -> None:
    """`for item in iter_: body(item)`, while `extra_test()` is true."""
    if state.tracer is not None:
        special = special_iteration(iter_)
        if special is not None:
            special(iter_, extra_test, body, get_state, set_state, symbol_names, opts)
            return
    if isinstance(iter_, Steps):
        iter_ = iter_.known()
    if extra_test is None:
        for item in iter_:
            body(item)
        return
    _guarded_for(iter_, extra_test, body, get_state, set_state, symbol_names)


def _guarded_for(
    iter_: Any,
    extra_test: Callable[[], Any],
    body: Callable[[Any], None],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[tuple[Any, ...]], None],
    symbol_names: tuple[str, ...],
) -> None:
    """A loop over Python values; an iteration after a `break` on a tensor is an If."""
    for item in iter_:
        go_on = extra_test()
        if is_symbolic(go_on):
            if_stmt(
                go_on,
                lambda item=item: body(item),  # type: ignore[misc]
                lambda: None,
                get_state,
                set_state,
                symbol_names,
                len(symbol_names),
            )
        elif go_on:
            body(item)
        else:
            break


def special_iteration(iterated: Any) -> Callable[..., None] | None:
    """How `for` iterates over the value in a traced function; None: as in Python."""
    if isinstance(iterated, (Steps, Tensor, Variable, ZippedIteration)):
        return _for_items
    for kind in type(iterated).__mro__:
        found = _iterations.get(kind)
        if found is not None:
            return found
    return _for_items if isinstance(iterated, TensorArray) else None


class Steps:
    """`range` over tensors."""

    def __init__(self, start: Any, stop: Any, step: Any) -> None:
        self.start = start
        self.stop = stop
        self.step = step

    def count(self) -> Tensor:
        """The number of steps."""
        return shapes.size(self.tensor())

    def tensor(self) -> Tensor:
        """All steps as one tensor."""
        return ranges.range(self.start, self.stop, self.step)

    def known(self) -> Any:
        """A `range`, if all bounds are known."""
        return builtins.range(int(self.start), int(self.stop), int(self.step))

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> Tensor:
        del name
        found = self.tensor()
        return found if dtype is None else casting.cast(found, dtype)

    def __iter__(self) -> Iterator[int]:
        return iter(self.known())


def _steps(iterated: Steps) -> tuple[Callable[[Any], Any], Any]:
    start = convert_to_tensor(iterated.start)
    step = convert_to_tensor(iterated.step, dtype_hint=start.dtype)
    return _progression(start, step), iterated.count()


def _progression(start: Any, step: Any) -> Callable[[Any], Any]:
    def item(index: Any) -> Any:
        return arithmetic.add(start, arithmetic.multiply(casting.cast(index, start.dtype), step))

    return item


def _items(iterated: Any) -> tuple[Callable[[Any], Any], Any]:
    """A function that returns item number i, and the number of items."""
    if isinstance(iterated, TensorArray):
        return iterated.read, iterated.size()
    if isinstance(iterated, ZippedIteration):
        return _zipped_items(iterated)
    if isinstance(iterated, Steps):
        iterated = iterated.tensor()
    tensor = convert_to_tensor(iterated)
    rank = tensor.shape.rank
    if rank == 0:
        raise TypeError("for: a scalar tensor cannot be iterated over")
    count: Any = tensor.shape[0] if rank is not None else None
    if count is None:
        count = shapes.shape(tensor)[0]
    if isinstance(tensor, SymbolicTensor) and tensor.value.node.op.name == "Range":
        node = tensor.value.node
        start, _, delta = (branches_symbol(value, tensor) for value in node.inputs)
        return _progression(start, delta), count
    array = TensorArray(
        tensor.dtype, count, element_shape=tensor.shape[1:] if rank is not None else None
    ).unstack(tensor)
    return array.read, count


def branches_symbol(value: Value, like: SymbolicTensor) -> SymbolicTensor:
    """The tensor for another value of the graph of a tensor."""
    if value.tensor is None:
        value.tensor = SymbolicTensor(value, like.graph)
    return value.tensor


class ZippedIteration:
    """`zip` or `enumerate` over tensors."""

    def __init__(self, parts: Sequence[Any], first: Any = None) -> None:
        self.parts = parts
        # enumerate: the first number.
        self.first = first


def _zipped_items(iterated: ZippedIteration) -> tuple[Callable[[Any], Any], Any]:
    found = [_items(part) for part in iterated.parts]
    count = found[0][1]
    for _, other in found[1:]:
        count = arithmetic.minimum(count, other)

    def item(index: Any) -> Any:
        values = tuple(read(index) for read, _ in found)
        if iterated.first is None:
            return values
        return (arithmetic.add(index, iterated.first), *values)

    return item, count


def _for_items(
    iterated: Any,
    extra_test: Callable[[], Any] | None,
    body: Callable[[Any], None],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[tuple[Any, ...]], None],
    symbol_names: tuple[str, ...],
    opts: dict[str, Any],
) -> None:
    """A loop over items by index; the index is an additional loop variable."""
    item, count = _steps(iterated) if isinstance(iterated, Steps) else _items(iterated)
    index: list[Any] = [constants.constant(0)]

    def get() -> tuple[Any, ...]:
        return (index[0], *get_state())

    def put(values: tuple[Any, ...]) -> None:
        index[0] = values[0]
        set_state(tuple(values[1:]))

    def test() -> Any:
        more = comparison.less(index[0], count)
        return more if extra_test is None else and_(lambda: more, extra_test)

    def iteration() -> None:
        at = index[0]
        body(item(at))
        index[0] = arithmetic.add(at, 1)

    run_loop(test, iteration, get, put, ("(index)", *symbol_names), opts)
