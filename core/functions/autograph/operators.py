"""What converted code calls: Python's statements where values are known, ops where they are not.

Nothing here needs malt: the functions have the signatures that its converters write.
"""

from __future__ import annotations

import builtins
import threading
from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes, structure
from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import SymbolicTensor, Tensor
from pinnace.framework.variable import Variable
from pinnace.functions.autograph.growing_lists import Recorder, concat, stack
from pinnace.functions.control import branches, conditional, looping
from pinnace.ops.array import casting, constants, joining, shapes
from pinnace.ops.composites.tensor_array import TensorArray
from pinnace.ops.control import assertions, printing
from pinnace.ops.math import arithmetic, comparison, logic, ranges, reduction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_StateGetter = "Callable[[], tuple[Any, ...]]"
# How `for` goes over a type while a function is traced; `data` adds datasets.
_iterations: dict[type, Callable[..., None]] = {}


def register_iteration(kind: type, for_function: Callable[..., None]) -> None:
    """Tell AutoGraph how `for` goes over values of a class while a function is traced.

    Args:
        kind: the class; its subclasses too.
        for_function: `for_function(iterated, extra_test, body, get_state, set_state, symbol_names,
            opts)`:
            runs `body(item)` for every item as long as `extra_test()` (None: always) is true. The
            variables of the loop are read with `get_state()` and set with `set_state(values)`,
            tuples
            beside `symbol_names`; `run_loop` in this module does the rest for what can say "is
            there
            another?" and "the next" with tensors.
    """
    _iterations[kind] = for_function


class Undefined:
    """A variable that has no value yet."""

    __slots__ = ("symbol_name",)

    def __init__(self, symbol_name: str) -> None:
        self.symbol_name = symbol_name

    def read(self) -> Any:
        """Refused, as Python does."""
        message = f"local variable {self.symbol_name!r} referenced before assignment"
        raise UnboundLocalError(message)

    def __repr__(self) -> str:
        return f"<undefined {self.symbol_name}>"


class UndefinedReturnValue:
    """What a function returns before it reached a `return`."""

    def __repr__(self) -> str:
        return "<nothing returned>"


def ld(v: Any) -> Any:
    """The value of a variable."""
    return v.read() if isinstance(v, Undefined) else v


def ldu(load_v: Callable[[], Any], name: str) -> Any:
    """The value of a variable or attribute, Undefined if there is none."""
    try:
        return load_v()
    except (KeyError, AttributeError, NameError):
        return Undefined(name)


def is_symbolic(value: Any) -> bool:
    """Whether only the run of the graph will tell the value."""
    return conditional.is_symbolic(value)


def _is_nothing(value: Any) -> bool:
    return value is None or isinstance(value, (Undefined, UndefinedReturnValue))


# if.


def if_stmt(
    cond: Any,
    body: Callable[[], None],
    orelse: Callable[[], None],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[tuple[Any, ...]], None],
    symbol_names: tuple[str, ...],
    nouts: int,
) -> None:
    """`if cond: body else: orelse`."""
    if not is_symbolic(cond):
        if cond:
            body()
        else:
            orelse()
        return
    start = get_state()
    names = symbol_names[:nouts]
    cond = convert_to_tensor(cond)
    if cond.dtype is not dtypes.bool:
        cond = casting.cast(cond, dtypes.bool)
    if cond.shape.rank not in {None, 0}:
        message = f"if: a condition must be a scalar, got shape {cond.shape.text}"
        raise InvalidArgumentError(message)
    split: list[_Split] = []
    if _probing.active:
        start = _filled_sides(start, (body, orelse), get_state, set_state, nouts)

    def run(branch: Callable[[], None]) -> Callable[[], Any]:
        def traced() -> Any:
            set_state(start)
            branch()
            found = _Split(get_state()[:nouts])
            split.append(found)
            return found.tensors

        return traced

    try:
        results = _build_if(cond, run(body), run(orelse), split, names)
    except BaseException:
        set_state(start)
        raise
    set_state((*split[0].joined(results), *start[nouts:]))


class _Probing(threading.local):
    """Whether a body is traced to see what it makes of variables that have no value before it."""

    active = False


_probing = _Probing()


def _filled_sides(
    start: tuple[Any, ...],
    sides: Sequence[Callable[[], None]],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[tuple[Any, ...]], None],
    count: int,
) -> tuple[Any, ...]:
    """The values before an if; a variable that only one side gives a value begins as zeros."""
    if not any(_is_nothing(value) for value in start[:count]):
        return start
    after = [_probed(side, start, get_state, set_state) for side in sides]
    filled = list(start)
    for index, value in enumerate(start[:count]):
        if not _is_nothing(value):
            continue
        found = [_as_tensors(one[index]) for one in after]
        made = next((one for one in found if one is not None), None)
        if made is not None and None in found:
            filled[index] = structure.map_structure(_zeros, made[0])
    return tuple(filled)


def _probed(
    body: Callable[[], None],
    start: Sequence[Any],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[tuple[Any, ...]], None],
) -> list[Any]:
    """The values after a body ran, traced for that alone."""
    found: list[Any] = []

    def probe() -> None:
        set_state(tuple(start))
        body()
        found.extend(get_state())

    saved, _probing.active = _probing.active, True
    try:
        branches.trace_branch(probe, "probe")
    finally:
        _probing.active = saved
        set_state(tuple(start))
    return found


def _build_if(
    cond: Tensor,
    true_fn: Callable[[], Any],
    false_fn: Callable[[], Any],
    split: list[_Split],
    names: Sequence[str],
) -> Any:
    """An If, its two sides told from each other by variable when they differ."""

    def checked() -> Any:
        false_fn()
        _check_sides(split[0], split[1], names)
        return _alike(split[0], split[1])

    return conditional.build_if(
        cond, true_fn, checked, "cond", ("the if branch", "the else branch")
    )


class _Split:
    """Values of variables: tensors (and structures of them), and what is no tensor."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = list(values)
        self.kinds: list[bool] = []
        self.tensors: list[Any] = []
        for value in values:
            made = _as_tensors(value)
            self.kinds.append(made is not None)
            if made is not None:
                self.tensors.append(made[0])

    def joined(self, tensors: Sequence[Any]) -> list[Any]:
        """The values again, with other tensors."""
        found = iter(tensors)
        return [
            next(found) if kind else value
            for kind, value in zip(self.kinds, self.values, strict=True)
        ]


def _as_tensors(value: Any) -> tuple[Any] | None:
    """The value as a structure of tensors, None if it is no such thing."""
    if _is_nothing(value) or isinstance(value, (str, bytes)):
        return None
    leaves = structure.flatten(value)
    if not leaves:
        return None
    made = []
    for leaf in leaves:
        if isinstance(leaf, Variable):
            return None
        if leaf is None or getattr(type(leaf), "_is_composite", False):
            made.append(leaf)
            continue
        if (
            isinstance(leaf, (Tensor, bool, int, float, complex))
            or type(leaf).__module__ == "numpy"
        ):
            try:
                made.append(convert_to_tensor(leaf))
            except (TypeError, ValueError):
                return None
            continue
        return None
    return (structure.pack_sequence_as(value, made),)


def _check_sides(body: _Split, orelse: _Split, names: Sequence[str]) -> None:
    """Refuse a variable that the two sides leave in states that cannot be one."""
    for name, mine, theirs, a, b in zip(
        names, body.kinds, orelse.kinds, body.values, orelse.values, strict=True
    ):
        if mine and theirs:
            continue
        if mine != theirs:
            side = "else" if mine else "if"
            what = b if mine else a
            if name == "retval_" or name.startswith("retval_"):
                message = (
                    f"a value must also be returned on the {side} side: which side runs is not "
                    "known "
                    "while the function is traced"
                )
                raise ValueError(message)
            if _is_nothing(what):
                message = (
                    f"{name!r} must also be given a value in the {side} branch: which one runs "
                    "is not known while the function is traced"
                )
                raise ValueError(message)
        if a is not b and not (_is_nothing(a) and _is_nothing(b)) and not _equal(a, b):
            message = (
                f"{name!r} must be a tensor, or the same in both branches of an if whose "
                "condition is a "
                f"tensor, got {a!r} and {b!r}"
            )
            raise TypeError(message)


def _equal(a: Any, b: Any) -> bool:
    try:
        return type(a) is type(b) and bool(a == b)
    except Exception:
        return False


def _alike(body: _Split, orelse: _Split) -> list[Any]:
    """The else side's tensors; Python numbers take the dtypes of the if side."""
    mine = [v for v, kind in zip(body.values, body.kinds, strict=True) if kind]
    theirs = [v for v, kind in zip(orelse.values, orelse.kinds, strict=True) if kind]
    found = []
    for a, b, made in zip(mine, theirs, orelse.tensors, strict=True):
        if isinstance(a, Tensor) and isinstance(b, (int, float)) and not isinstance(b, bool):
            try:
                found.append(convert_to_tensor(b, a.dtype))
                continue
            except (TypeError, ValueError):
                pass
        found.append(made)
    return found


def if_exp(
    cond: Any, if_true: Callable[[], Any], if_false: Callable[[], Any], expr_repr: str
) -> Any:
    """`a if cond else b`."""
    del expr_repr
    if is_symbolic(cond):
        return conditional.build_if(
            convert_to_tensor(cond), if_true, if_false, "cond", ("the left side", "the right side")
        )
    return if_true() if cond else if_false()


# and, or, not, ==, !=.


def and_(a: Callable[[], Any], b: Callable[[], Any]) -> Any:
    """`a and b`; b only if a is true."""
    left = a()
    if is_symbolic(left):
        left = convert_to_tensor(left)
        return conditional.build_if(
            left, b, lambda: left, "and", ("the right side", "the left side")
        )
    return left and b()


def or_(a: Callable[[], Any], b: Callable[[], Any]) -> Any:
    """`a or b`; b only if a is false."""
    left = a()
    if is_symbolic(left):
        left = convert_to_tensor(left)
        return conditional.build_if(
            left, lambda: left, b, "or", ("the left side", "the right side")
        )
    return left or b()


def not_(a: Any) -> Any:
    """`not a`."""
    return logic.logical_not(a) if is_symbolic(a) else not a


def eq(a: Any, b: Any) -> Any:
    """`a == b`."""
    return a == b


def not_eq(a: Any, b: Any) -> Any:
    """`a != b`."""
    return a != b


def assert_stmt(expression1: Any, expression2: Callable[[], Any]) -> None:
    """`assert a, b`."""
    if is_symbolic(expression1):
        data = expression2()
        assertions.Assert(expression1, list(data) if isinstance(data, (list, tuple)) else [data])
    elif not expression1:
        raise AssertionError(expression2())


# Loops.


def while_stmt(
    test: Callable[[], Any],
    body: Callable[[], None],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[tuple[Any, ...]], None],
    symbol_names: tuple[str, ...],
    opts: dict[str, Any],
) -> None:
    """`while test: body`.

    Turns whose condition is known are made now; the rest becomes a loop of the graph.
    """
    while True:
        go_on = test() if state.tracer is None else _probe(test)
        if is_symbolic(go_on):
            run_loop(test, body, get_state, set_state, symbol_names, opts)
            return
        if not go_on:
            return
        body()


def _probe(test: Callable[[], Any]) -> Any:
    """What `test()` gives, as far as that is known; nothing is added to the graph by it."""
    found: list[Any] = []

    def run() -> None:
        found.append(test())

    branches.trace_branch(run, "probe")
    return found[0]


def for_stmt(
    iter_: Any,
    extra_test: Callable[[], Any] | None,
    body: Callable[[Any], None],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[tuple[Any, ...]], None],
    symbol_names: tuple[str, ...],
    opts: dict[str, Any],
) -> None:
    """`for item in iter_: body(item)`, as long as `extra_test()`."""
    if state.tracer is not None:
        special = _special_iteration(iter_)
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
    """A loop over Python values; a turn after a `break` that the graph decides on becomes an If."""
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


def _special_iteration(iterated: Any) -> Callable[..., None] | None:
    if isinstance(iterated, Steps):
        return _for_steps
    if isinstance(iterated, (Tensor, Variable)):
        return _for_tensor
    if isinstance(iterated, _Together):
        return _for_together
    for kind in type(iterated).__mro__:
        found = _iterations.get(kind)
        if found is not None:
            return found
    if isinstance(iterated, TensorArray):
        return _for_tensor
    return None


class Steps:
    """`range` over tensors."""

    def __init__(self, start: Any, stop: Any, step: Any) -> None:
        self.start = start
        self.stop = stop
        self.step = step

    def count(self) -> Tensor:
        """How many."""
        return shapes.size(self.tensor())

    def tensor(self) -> Tensor:
        """All of them."""
        return ranges.range(self.start, self.stop, self.step)

    def known(self) -> Any:
        """As Python's range."""
        return builtins.range(int(self.start), int(self.stop), int(self.step))

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> Tensor:
        del name
        found = self.tensor()
        return found if dtype is None else casting.cast(found, dtype)

    def __iter__(self) -> Iterator[int]:
        return iter(self.known())


def _for_steps(
    iterated: Steps,
    extra_test: Callable[[], Any] | None,
    body: Callable[[Any], None],
    get_state: Any,
    set_state: Any,
    symbol_names: tuple[str, ...],
    opts: dict[str, Any],
) -> None:
    start = convert_to_tensor(iterated.start)
    step = convert_to_tensor(iterated.step, dtype_hint=start.dtype)
    count = iterated.count()
    _counted_loop(
        lambda index: arithmetic.add(
            start, arithmetic.multiply(casting.cast(index, start.dtype), step)
        ),
        count,
        extra_test,
        body,
        get_state,
        set_state,
        symbol_names,
        opts,
    )


def _for_tensor(
    iterated: Any,
    extra_test: Callable[[], Any] | None,
    body: Callable[[Any], None],
    get_state: Any,
    set_state: Any,
    symbol_names: tuple[str, ...],
    opts: dict[str, Any],
) -> None:
    item, count = _items(iterated)
    _counted_loop(item, count, extra_test, body, get_state, set_state, symbol_names, opts)


def _items(iterated: Any) -> tuple[Callable[[Any], Any], Any]:
    """How to get at item number i, and how many there are."""
    if isinstance(iterated, TensorArray):
        return iterated.read, iterated.size()
    if isinstance(iterated, _Together):
        return _items_together(iterated)
    if isinstance(iterated, Steps):
        iterated = iterated.tensor()
    tensor = convert_to_tensor(iterated)
    rank = tensor.shape.rank
    if rank == 0:
        message = "for: a scalar tensor cannot be iterated over"
        raise TypeError(message)
    count: Any = tensor.shape[0] if rank is not None else None
    if count is None:
        count = shapes.shape(tensor)[0]
    if isinstance(tensor, SymbolicTensor) and tensor.value.node.op.name == "Range":
        node = tensor.value.node
        start, _, delta = (branches_symbol(value, tensor) for value in node.inputs)
        return (
            lambda index: arithmetic.add(
                start, arithmetic.multiply(casting.cast(index, tensor.dtype), delta)
            ),
            count,
        )
    array = TensorArray(
        tensor.dtype, count, element_shape=tensor.shape[1:] if rank is not None else None
    ).unstack(tensor)
    return array.read, count


def branches_symbol(value: Any, like: SymbolicTensor) -> SymbolicTensor:
    """The tensor that stands for another value of a tensor's graph."""
    if value.tensor is None:
        value.tensor = SymbolicTensor(value, like.graph)
    return value.tensor  # type: ignore[no-any-return]


class _Together:
    """`zip` or `enumerate` over tensors."""

    def __init__(self, parts: Sequence[Any], first: Any = None) -> None:
        self.parts = parts
        # enumerate: the number of the first.
        self.first = first


def _items_together(iterated: _Together) -> tuple[Callable[[Any], Any], Any]:
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


def _for_together(
    iterated: _Together,
    extra_test: Callable[[], Any] | None,
    body: Callable[[Any], None],
    get_state: Any,
    set_state: Any,
    symbol_names: tuple[str, ...],
    opts: dict[str, Any],
) -> None:
    item, count = _items(iterated)
    _counted_loop(item, count, extra_test, body, get_state, set_state, symbol_names, opts)


def _counted_loop(
    item: Callable[[Any], Any],
    count: Any,
    extra_test: Callable[[], Any] | None,
    body: Callable[[Any], None],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[tuple[Any, ...]], None],
    symbol_names: tuple[str, ...],
    opts: dict[str, Any],
) -> None:
    """A loop over items by number; the number is one more loop variable."""
    index: list[Any] = [constants.constant(0)]

    def get() -> tuple[Any, ...]:
        return (index[0], *get_state())

    def put(values: tuple[Any, ...]) -> None:
        index[0] = values[0]
        set_state(tuple(values[1:]))

    def test() -> Any:
        more = comparison.less(index[0], count)
        return more if extra_test is None else and_(lambda: more, extra_test)

    def turn() -> None:
        at = index[0]
        body(item(at))
        index[0] = arithmetic.add(at, 1)

    run_loop(test, turn, get, put, ("(index)", *symbol_names), opts)


def run_loop(
    test: Callable[[], Any],
    body: Callable[[], None],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[tuple[Any, ...]], None],
    symbol_names: Sequence[str],
    opts: dict[str, Any],
) -> None:
    """A loop of the graph over variables that `get_state` and `set_state` reach."""
    start = list(get_state())
    invariants = {
        id(tensor): Shape(shape) for tensor, shape in (opts.get("shape_invariants") or ())
    }
    start = _growing(start, body, get_state, set_state)
    start, fillers = _filled(start, body, set_state, get_state)
    first = _Split(start)
    flat_shapes: list[Shape | None] = []
    for original, kind, made in zip(start, first.kinds, _spread(first), strict=True):
        if not kind:
            continue
        count = len(structure.flatten(made, expand_composites=True))
        held = invariants.get(id(original), fillers.get(id(original)))
        flat_shapes.extend([held] * count)

    def at(values: Sequence[Any]) -> None:
        set_state(tuple(first.joined(values)))

    def cond(*values: Any) -> Any:
        at(values)
        found = convert_to_tensor(test())
        return found if found.dtype is dtypes.bool else casting.cast(found, dtypes.bool)

    def turn(*values: Any) -> Any:
        at(values)
        body()
        return _after(first, get_state(), symbol_names)

    try:
        results = looping.build_while(
            cond,
            turn,
            list(first.tensors),
            flat_shapes if any(shape is not None for shape in flat_shapes) else None,
            opts.get("maximum_iterations"),
            "while",
            int(opts.get("parallel_iterations") or 10),
        )
    except BaseException:
        set_state(tuple(start))
        raise
    at(results)


def _spread(split: _Split) -> list[Any]:
    return split.joined(split.tensors)


def _after(first: _Split, values: Sequence[Any], names: Sequence[str]) -> list[Any]:
    """The tensors after a turn; what is no tensor must not have changed."""
    found = []
    for name, kind, before, after in zip(names, first.kinds, first.values, values, strict=True):
        if not kind:
            same = before is after or (_is_nothing(before) and _is_nothing(after))
            if not same and not _equal(before, after):
                message = (
                    f"{name!r} must be a tensor, or not change, in a loop whose length is not "
                    "known while the "
                    f"function is traced: it was {before!r} and became {after!r}"
                )
                raise TypeError(message)
            continue
        made = _as_tensors(after)
        if made is None:
            message = f"{name!r} must stay a tensor in a loop of the graph, got {after!r}"
            raise TypeError(message)
        try:
            structure.assert_same_structure(
                _as_tensors(before)[0],  # type: ignore[index]
                made[0],
                check_types=False,
            )
        except (TypeError, ValueError) as error:
            message = f"{name!r} must keep its structure in a loop of the graph: {error}"
            raise ValueError(message) from None
        found.append(_typed(name, before, after, made[0]))
    return found


def _typed(name: str, before: Any, after: Any, made: Any) -> Any:
    """A value after a turn; a Python number takes the dtype the variable has."""
    if not isinstance(made, Tensor):
        return made
    wanted = convert_to_tensor(before).dtype
    if made.dtype is wanted:
        return made
    if isinstance(after, (int, float)) and not isinstance(after, bool):
        try:
            return convert_to_tensor(after, wanted)
        except (TypeError, ValueError):
            pass
    message = (
        f"{name!r} has dtype {wanted.name} before the loop, but {made.dtype.name} after one turn.\n"
        f"  Try: begin with a tensor of {made.dtype.name}"
    )
    raise TypeError(message)


def _growing(
    start: list[Any],
    body: Callable[[], None],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[tuple[Any, ...]], None],
) -> list[Any]:
    """The values before the loop; a list that the body appends to is one that can grow."""
    trial = [Recorder(value) if type(value) is list else value for value in start]
    if not any(isinstance(value, Recorder) for value in trial):
        return start
    try:
        _probed(body, trial, get_state, set_state)
    except Exception:  # the trial's lists are not the user's: the loop itself will tell
        return start
    finally:
        set_state(tuple(start))
    return [
        tried.grown() if isinstance(tried, Recorder) and tried.appended else value
        for tried, value in zip(trial, start, strict=True)
    ]


def _filled(
    start: list[Any],
    body: Callable[[], None],
    set_state: Callable[[tuple[Any, ...]], None],
    get_state: Callable[[], tuple[Any, ...]],
) -> tuple[list[Any], dict[int, Shape]]:
    """The values before the loop; a variable that only the loop gives a value begins as zeros."""
    if not any(_is_nothing(value) for value in start):
        return start, {}
    found = _probed(body, start, get_state, set_state)
    held: dict[int, Shape] = {}
    filled = []
    for before, after in zip(start, found, strict=True):
        made = _as_tensors(after) if _is_nothing(before) else None
        if made is None:
            filled.append(before)
            continue
        zeros = structure.map_structure(_zeros, made[0])
        if isinstance(zeros, Tensor):
            held[id(zeros)] = made[0].shape
        filled.append(zeros)
    return filled, held


def _zeros(like: Any) -> Any:
    if isinstance(like, TensorArray):
        return TensorArray(like.dtype, 0, True, element_shape=like.element_shape)
    sizes = [0 if size is None else size for size in like.shape] if like.shape.rank else []
    return constants.zeros(sizes, like.dtype)


# Functions of Python that mean something else for tensors.


def _print(*objects: Any, **kwargs: Any) -> None:
    if any(is_symbolic(leaf) for leaf in structure.flatten(objects)):
        kept = {name: kwargs[name] for name in ("sep", "end") if kwargs.get(name) is not None}
        printing.tf_print(*objects, output_stream="stdout", summarize=-1, **kept)
    else:
        print(*objects, **kwargs)  # noqa: T201 (the user's own print)


def _len(x: Any) -> Any:
    if isinstance(x, TensorArray):
        return x.size()
    if is_symbolic(x):
        tensor = convert_to_tensor(x)
        known = tensor.shape[0] if tensor.shape.rank else None
        return shapes.shape(tensor)[0] if known is None else known
    return len(x)


def _range(*args: Any) -> Any:
    if any(is_symbolic(arg) for arg in args):
        start, stop, step = 0, args[0], 1
        if len(args) > 1:
            start, stop = args[:2]
        if len(args) > 2:
            step = args[2]
        return Steps(start, stop, step)
    return range(*args)


def _max(*args: Any, **kwargs: Any) -> Any:
    if not kwargs:
        if len(args) == 1 and is_symbolic(args[0]):
            return reduction.reduce_max(args[0])
        if len(args) > 1 and any(is_symbolic(arg) for arg in args):
            found = args[0]
            for arg in args[1:]:
                found = arithmetic.maximum(found, arg)
            return found
    return max(*args, **kwargs)


def _min(*args: Any, **kwargs: Any) -> Any:
    if not kwargs:
        if len(args) == 1 and is_symbolic(args[0]):
            return reduction.reduce_min(args[0])
        if len(args) > 1 and any(is_symbolic(arg) for arg in args):
            found = args[0]
            for arg in args[1:]:
                found = arithmetic.minimum(found, arg)
            return found
    return min(*args, **kwargs)


def _sum(x: Any, *start: Any) -> Any:
    if is_symbolic(x):
        total = reduction.reduce_sum(x, axis=0)
        return arithmetic.add(total, start[0]) if start else total
    return sum(x, *start)


def _any(x: Any) -> Any:
    return reduction.reduce_any(x) if is_symbolic(x) else any(x)


def _all(x: Any) -> Any:
    return reduction.reduce_all(x) if is_symbolic(x) else all(x)


def _enumerate(x: Any, start: Any = 0) -> Any:
    if is_symbolic(x) or isinstance(x, (Steps, _Together)):
        return _Together([x], start)
    if hasattr(x, "enumerate") and _special_iteration(x) is not None:
        return x.enumerate(start)
    return enumerate(x, start)


def _zip(*parts: Any, **kwargs: Any) -> Any:
    if parts and all(is_symbolic(part) or isinstance(part, (Steps, _Together)) for part in parts):
        return _Together(parts)
    return zip(*parts, **kwargs)  # noqa: B905 (the user's own arguments)


def _sorted(x: Any, **kwargs: Any) -> Any:
    if is_symbolic(x):
        from pinnace.ops.array import sorting

        direction = "DESCENDING" if kwargs.get("reverse") else "ASCENDING"
        return sorting.sort(x, direction=direction)
    return sorted(x, **kwargs)


OVERLOADS: dict[Any, Callable[..., Any]] = {
    all: _all,
    any: _any,
    enumerate: _enumerate,
    len: _len,
    max: _max,
    min: _min,
    print: _print,
    range: _range,
    sorted: _sorted,
    sum: _sum,
    zip: _zip,
    joining.concat: concat,
    joining.stack: stack,
}
