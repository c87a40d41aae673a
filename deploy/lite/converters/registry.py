"""The registry of converters by op."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias, TypeVar

Function: TypeAlias = Callable[..., Any]
F = TypeVar("F", bound=Function)


class Converter(NamedTuple):
    """The converter of an op to LiteRT.

    Attributes:
        function: `function(g, call, *values)`, with a value for each argument of the op; a list
            is given as a tuple.
        operators: the built-in operators that it uses, the main one first.
    """

    function: Function
    operators: tuple[str, ...]


_converters: dict[str, Converter] = {}


def converts(*names: str, to: str = "") -> Callable[[F], F]:
    """Register a converter.

    Args:
        names: the ops.
        to: the built-in operators that it uses, separated by spaces.
    """

    def install(function: F) -> F:
        for name in names:
            if name in _converters:
                raise ValueError(f"op {name!r} has two converters")
            _converters[name] = Converter(function, tuple(to.split()))
        return function

    return install


def converters() -> dict[str, Converter]:
    """Every converter by op, in alphabetical order."""
    return dict(sorted(_converters.items()))


def find(name: str) -> Converter | None:
    """The converter of an op, None if it has none."""
    return _converters.get(name)
