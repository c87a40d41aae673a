"""`if` and `a if b else c`: an If op where the condition is symbolic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes, structure
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.tensor import Tensor
from pinnace.framework.variable import Variable
from pinnace.functions.autograph.variables import (
    Split,
    as_tensors,
    equal,
    is_nothing,
    is_symbolic,
    probed,
    probing,
    zeros,
)
from pinnace.functions.control import conditional
from pinnace.ops.array import casting

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


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
        raise InvalidArgumentError(f"if: a condition must be a scalar, got shape {cond.shape.text}")
    split: list[Split] = []
    if probing.active:
        start = _filled_sides(start, (body, orelse), get_state, set_state, nouts)

    def run(branch: Callable[[], None]) -> Callable[[], Any]:
        def traced() -> Any:
            set_state(start)
            branch()
            found = Split([_read(value) if read else value for value in get_state()[:nouts]])
            split.append(found)
            return found.tensors

        return traced

    # Whether Variables are replaced by their values: only if the branches return different ones.
    read = False
    try:
        try:
            results = _build_if(cond, run(body), run(orelse), split, names)
        except _MixedError:
            read = True
            split.clear()
            results = _build_if(cond, run(body), run(orelse), split, names)
    except BaseException:
        set_state(start)
        raise
    set_state((*split[0].joined(results), *start[nouts:]))


class _MixedError(Exception):
    """One branch returns a Variable where the other returns a tensor, or another Variable."""


def _read(value: Any) -> Any:
    return value.value() if isinstance(value, Variable) else value


def _filled_sides(
    start: tuple[Any, ...],
    sides: Sequence[Callable[[], None]],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[tuple[Any, ...]], None],
    count: int,
) -> tuple[Any, ...]:
    """The values before an `if`; a variable that only one branch sets starts as zeros."""
    if not any(is_nothing(value) for value in start[:count]):
        return start
    after = [probed(side, start, get_state, set_state) for side in sides]
    filled = list(start)
    for index, value in enumerate(start[:count]):
        if not is_nothing(value):
            continue
        found = [as_tensors(one[index]) for one in after]
        made = next((one for one in found if one is not None), None)
        if made is not None and None in found:
            filled[index] = structure.map_structure(zeros, made[0])
    return tuple(filled)


def _build_if(
    cond: Tensor,
    true_fn: Callable[[], Any],
    false_fn: Callable[[], Any],
    split: list[Split],
    names: Sequence[str],
) -> Any:
    """Build an If; an error about differing branches names the variable."""

    def checked() -> Any:
        false_fn()
        _check_sides(split[0], split[1], names)
        return _alike(split[0], split[1])

    return conditional.build_if(
        cond, true_fn, checked, "cond", ("the if branch", "the else branch")
    )


def _check_sides(body: Split, orelse: Split, names: Sequence[str]) -> None:
    """Refuse a variable with incompatible values after the two branches."""
    for name, mine, theirs, a, b in zip(
        names, body.kinds, orelse.kinds, body.values, orelse.values, strict=True
    ):
        if mine and theirs:
            continue
        if isinstance(a, Variable) and (theirs or (isinstance(b, Variable) and a is not b)):
            raise _MixedError
        if isinstance(b, Variable) and mine:
            raise _MixedError
        if mine != theirs:
            side, place = ("else", "else") if mine else ("if", "main")
            what = b if mine else a
            if name == "retval_" or name.startswith("retval_"):
                raise ValueError(
                    f"the {place} branch must also have a return statement, with a value: which "
                    "branch runs is not known while the function is traced"
                )
            if what is None:
                raise ValueError(
                    f"{name!r} is None at the end of the {side} branch, and a tensor at the end of "
                    "the other\n  Try: a tensor in both"
                )
            if is_nothing(what):
                raise ValueError(
                    f"'{name}' must also be initialized in the {place} branch: which one runs "
                    "is not known while the function is traced"
                )
        if a is not b and not (is_nothing(a) and is_nothing(b)) and not equal(a, b):
            raise TypeError(
                f"{name!r} must be a tensor, or the same in both branches of an if whose "
                "condition is a "
                f"tensor, got {a!r} and {b!r}"
            )


def _alike(body: Split, orelse: Split) -> list[Any]:
    """The else branch's tensors; Python numbers get the dtypes of the if branch."""
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
