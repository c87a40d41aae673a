"""The type of a concrete function: its parameters, their specs, and its results."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.framework.specs import TypeSpec
from pinnace.functions import signature_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.functions.signature_text import Parameter


# Python types whose values are compared between calls.
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


class FunctionType(inspect.Signature):
    """A signature whose annotations are specs of tensors and values of Python's.

    Args:
        described: name and kind of each parameter, and its annotation.
        output: the structure of specs that the function returns.
    """

    def __init__(self, described: Sequence[Parameter], output: Any) -> None:
        parameters = [
            inspect.Parameter(name, getattr(inspect.Parameter, kind), annotation=argument)
            for name, kind, argument in described
            if name.isidentifier()
        ]
        super().__init__(parameters, return_annotation=output, __validate_parameters__=False)
        self._described = tuple(described)

    @property
    def output(self) -> Any:
        """The results: specs in their structure."""
        return self.return_annotation

    def __str__(self) -> str:
        return signature_text.one_line(self._described, self.output)

    def __repr__(self) -> str:
        return str(self)


def check_values(
    name: str, described: Sequence[Parameter], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Compare Python values in a call with those of the trace.

    Args:
        name: name of the function, for messages.
        described: its parameters.
        args: the arguments by position; fewer than parameters where values are left out.
        kwargs: keyword arguments.

    Returns:
        The arguments by name without those values.

    Raises:
        TypeError: a value differs, or is a tensor where the trace has a Python value.
    """
    values = {parameter for parameter, _, traced in described if _is_value(traced)}
    waiting = sum(name not in kwargs and name not in values for name, _, _ in described)
    # Otherwise the values were omitted, and the following arguments have moved up.
    if len(args) > waiting or not values:
        for (parameter, kind, traced), given in zip(described, args, strict=False):
            if kind != "KEYWORD_ONLY":
                _check(name, parameter, traced, given)
    rest = dict(kwargs)
    for parameter, _, traced in described:
        if parameter in rest:
            # The first tensor of a structure can have the parameter's name.
            one = structure.is_nested(traced) and not structure.is_nested(rest[parameter])
            if parameter in values or not one:
                _check(name, parameter, traced, rest[parameter])
            if parameter in values:
                del rest[parameter]
    return rest


def _is_value(traced: Any) -> bool:
    """Whether an argument is a constant of the graph: it contains no tensor."""
    return not any(isinstance(leaf, TypeSpec) for leaf in structure.flatten(traced))


def _check(name: str, parameter: str, traced: Any, given: Any) -> None:
    """Compare a value with the traced one; tensors are checked when they are used."""
    wanted, found = structure.flatten(traced), structure.flatten(given)
    alike = len(wanted) == len(found) and all(
        one is other or (isinstance(other, _PLAIN) and bool(one == other))
        for one, other in zip(wanted, found, strict=True)
        if isinstance(one, _PLAIN)
    )
    if not alike:
        raise TypeError(
            f"{name}: argument {parameter!r} was {traced!r} when the function was traced, and "
            f"is in its graph, got {given!r}\n  Try: leave it out, or trace again: "
            f"get_concrete_function(..., {parameter}=value)"
        )


__all__ = ["FunctionType", "check_values"]
