"""The slot through which low code reaches ops: `pinnace.ops` fills it when it is imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class Operators:
    """What the operators of Tensor and Variable call.

    Each attribute is a function of the ops layer; until it is filled, calling it says so.
    """

    __slots__ = (
        "abs",
        "add",
        "assign",
        "assign_add",
        "assign_slice",
        "assign_sub",
        "bitwise_and",
        "bitwise_not",
        "bitwise_or",
        "bitwise_xor",
        "constant",
        "equal",
        "floordiv",
        "gather_nd_of",
        "getitem",
        "getitem_of",
        "greater",
        "greater_equal",
        "less",
        "less_equal",
        "matmul",
        "mod",
        "multiply",
        "negative",
        "not_equal",
        "on_composites",
        "pack",
        "power",
        "read_variable",
        "scatter",
        "scatter_nd",
        "shape",
        "sparse_read",
        "subtract",
        "summed_slices",
        "take_composites",
        "truediv",
        "unstack",
        "with_batch_places",
    )

    def __getattr__(self, name: str) -> Callable[..., Any]:
        # Reached only while a slot is empty.
        message = f"operator {name!r} is not installed: import pinnace, not pinnace.framework alone"
        raise RuntimeError(message)


operators: Any = Operators()


def install(**functions: Callable[..., Any]) -> None:
    """Fill the slots; called once by `pinnace.ops`."""
    for name, function in functions.items():
        setattr(operators, name, function)


def install_methods(owner: type, **methods: Callable[..., Any]) -> None:
    """Put functions of two operands in the place of methods that would only call them by slot."""
    for name, function in methods.items():
        setattr(owner, f"__{name}__", function)
