"""The user's variables around a converted statement, divided into tensors and others."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.framework.context import carried
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.tensor import Tensor
from pinnace.framework.variable import Variable
from pinnace.functions.control import branches, conditional
from pinnace.ops.array import constants
from pinnace.ops.composites.tensor_array import TensorArray

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Undefined:
    """A variable without a value."""

    __slots__ = ("symbol_name",)

    def __init__(self, symbol_name: str) -> None:
        self.symbol_name = symbol_name

    def read(self) -> Any:
        """Raises an error, like Python."""
        raise UnboundLocalError(f"{self.symbol_name!r} is used before assignment")

    def __repr__(self) -> str:
        return f"<undefined {self.symbol_name}>"


class UndefinedReturnValue:
    """The return value of a function before a `return` was reached."""

    def __repr__(self) -> str:
        return "<nothing returned>"


def ld(v: Any) -> Any:
    """The value of a variable."""
    return v.read() if isinstance(v, Undefined) else v


def ldu(load_v: Callable[[], Any], name: str) -> Any:
    """The value of a variable or attribute; Undefined if it has none."""
    try:
        return load_v()
    except (KeyError, AttributeError, NameError):
        return Undefined(name)


def is_symbolic(value: Any) -> bool:
    """Whether the value is known only when the graph runs."""
    return conditional.is_symbolic(value)


def is_nothing(value: Any) -> bool:
    """Whether a variable has no value, or one that counts as none."""
    return value is None or isinstance(value, (Undefined, UndefinedReturnValue))


class _Probing(threading.local):
    """Whether a body is traced only to find the types of its undefined variables."""

    active = False


probing = _Probing()
carried(probing)


def probed(
    body: Callable[[], None],
    start: Sequence[Any],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[tuple[Any, ...]], None],
) -> list[Any]:
    """The values after the body, from a trial trace."""
    found: list[Any] = []

    def probe() -> None:
        set_state(tuple(start))
        body()
        found.extend(get_state())

    saved, probing.active = probing.active, True
    try:
        branches.trace_branch(probe, "probe")
    finally:
        probing.active = saved
        set_state(tuple(start))
    return found


class Split:
    """Values of variables: tensors (and structures of them), and other values."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = list(values)
        self.kinds: list[bool] = []
        self.tensors: list[Any] = []
        for value in values:
            made = as_tensors(value)
            self.kinds.append(made is not None)
            if made is not None:
                self.tensors.append(made[0])

    def joined(self, tensors: Sequence[Any]) -> list[Any]:
        """The same values with new tensors."""
        found = iter(tensors)
        return [
            next(found) if kind else value
            for kind, value in zip(self.kinds, self.values, strict=True)
        ]


def as_tensors(value: Any) -> tuple[Any] | None:
    """The value as a structure of tensors; None if it is not one."""
    if is_nothing(value) or isinstance(value, (str, bytes)):
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


def equal(a: Any, b: Any) -> bool:
    """Whether two non-tensor values are equal; False if they cannot be compared."""
    try:
        return type(a) is type(b) and bool(a == b)
    except Exception:
        return False


def zeros(like: Any) -> Any:
    """The initial value of a variable that only a loop or one branch of an `if` sets."""
    if isinstance(like, TensorArray):
        return TensorArray(like.dtype, 0, True, element_shape=like.element_shape)
    sizes = [0 if size is None else size for size in like.shape] if like.shape.rank else []
    return constants.zeros(sizes, like.dtype)
