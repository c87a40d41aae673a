"""Cache keys of calls: calls with equal keys share a graph."""

from __future__ import annotations

import inspect
import weakref
from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.framework.columns import is_column
from pinnace.framework.composite import CompositeSpec, is_composite, spec_of
from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Operands, Tensor
from pinnace.framework.variable import Variable
from pinnace.functions.trace_types import Typed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class FunctionSpec:
    """The parameters of a Python function, and how calls are bound to them.

    Args:
        function: the Python function.
        input_signature: specs for its tensor arguments, or None.
        is_method: whether the first parameter is the object (and not an argument of the traced
            function).
    """

    def __init__(
        self, function: Callable[..., Any], input_signature: Sequence[Any] | None, is_method: bool
    ) -> None:
        self.name = getattr(function, "__name__", "function").replace("<lambda>", "lambda")
        signature = inspect.signature(function)
        parameters = list(signature.parameters.values())
        if is_method and parameters:
            parameters = parameters[1:]
        self.signature = signature.replace(parameters=parameters)
        self.is_method = is_method
        self.input_signature = None if input_signature is None else tuple(input_signature)
        # A method is checked when it is bound, without `self`.
        if self.input_signature is not None and (is_method or not _in_class(function)):
            self._check_signature(parameters)

    @property
    def positional(self) -> tuple[list[str], list[str], str]:
        """Names and kinds of the positional parameters, and the name of `*args`."""
        parameters = self.signature.parameters.values()
        found = [p for p in parameters if p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD}]
        rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
        return [p.name for p in found], [p.kind.name for p in found], rest

    def _check_signature(self, parameters: list[inspect.Parameter]) -> None:
        positional = [
            p for p in parameters if p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD}
        ]
        variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        given = self.input_signature or ()
        if len(given) > len(positional) and not variadic:
            raise ValueError(
                f"function {self.name!r}: input_signature has {len(given)} entries, but the "
                f"function takes {len(positional)} arguments"
            )
        missing = [p.name for p in positional[len(given) :] if p.default is p.empty]
        if missing:
            raise ValueError(
                f"function {self.name!r}: input_signature gives no spec for {', '.join(missing)}"
            )
        for spec in structure.flatten(given):
            if not isinstance(spec, (TensorSpec, CompositeSpec)):
                raise TypeError(
                    f"function {self.name!r}: input_signature must hold TensorSpecs, got {spec!r}"
                )

    def bind(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments in canonical form: positional where possible, with defaults filled in."""
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.name}{self.signature}: {error}") from None
        bound.apply_defaults()
        return bound.args, bound.kwargs

    def convert_to_signature(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments converted to tensors of `input_signature`; further ones unchanged."""
        signature = self.input_signature or ()
        converted = []
        for index, (spec, arg) in enumerate(zip(signature, args, strict=False)):
            converted.append(
                structure.map_structure_up_to(
                    spec, lambda s, a, i=index: self._fit(i, s, a), spec, arg
                )
            )
        self._check_defaults(args)
        return (*converted, *args[len(signature) :])

    def _check_defaults(self, args: tuple[Any, ...]) -> None:
        """Refuse arguments without a spec that differ from their defaults: there is one trace."""
        parameters = list(self.signature.parameters.values())
        for index in range(len(self.input_signature or ()), len(args)):
            parameter = parameters[min(index, len(parameters) - 1)]
            given, default = args[index], parameter.default
            if given is default or (
                parameter.kind is not parameter.VAR_POSITIONAL
                and (type(given) is type(default) and leaf_key(given) == leaf_key(default))
            ):
                continue
            raise TypeError(
                f"{self.name}: input_signature has no spec for argument {parameter.name!r}, which "
                f"must stay at its default, got {given!r}\n  Try: a TensorSpec for it"
            )

    def _fit(self, index: int, spec: Any, arg: Any) -> Any:
        if isinstance(spec, CompositeSpec):
            if not spec.is_compatible_with(arg):
                raise TypeError(
                    f"{self.name}: argument {self._parameter(index)} must be {spec}, "
                    f"got {spec_of(arg)!r}"
                )
            return arg
        try:
            tensor = convert_to_tensor(arg, spec.dtype)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"{self.name}: argument {self._parameter(index)} must be {spec.text}: {error}"
            ) from None
        if not spec.shape.is_compatible_with(tensor.shape):
            raise TypeError(
                f"{self.name}: argument {self._parameter(index)} must be {spec.text}, "
                f"got shape {tensor.shape.text}"
            )
        return tensor

    def _parameter(self, index: int) -> str:
        names = list(self.signature.parameters)
        return repr(names[index]) if index < len(names) else str(index)


def _in_class(function: Callable[..., Any]) -> bool:
    """Whether a function was defined in a class body, whatever the names of its parameters."""
    outer = getattr(function, "__qualname__", "").rpartition(".")[0]
    return bool(outer) and not outer.endswith("<locals>")


def to_tensors(args: Any) -> Any:
    """Convert arrays and columns to tensors; Python values are unchanged."""
    return structure.map_structure(
        lambda leaf: (
            convert_to_tensor(leaf)
            if not isinstance(leaf, Operands) and is_column(leaf) and not is_composite(leaf)
            else leaf
        ),
        args,
    )


class Weak:
    """A key that identifies an object, held weakly."""

    __slots__ = ("_hash", "_reference")

    def __init__(self, target: object) -> None:
        self._hash = id(target)
        try:
            self._reference: Callable[[], object] = weakref.ref(target)
        except TypeError:
            self._reference = lambda: target

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Weak):
            return False
        mine = self._reference()
        return mine is not None and mine is other._reference()


def leaf_key(leaf: Any) -> object:
    """One leaf's part of the cache key: calls with equal keys share a graph."""
    if isinstance(leaf, Tensor):
        return (leaf.dtype, leaf.shape.dims)
    if isinstance(leaf, Variable):
        return (Weak(leaf),)
    if isinstance(leaf, TensorSpec):
        return (leaf.dtype, leaf.shape.dims)
    if is_composite(leaf):
        return (type(leaf.spec), leaf.spec)
    if isinstance(leaf, (bool, int, float, complex, str, bytes, type(None))):
        return (type(leaf), leaf)
    if hasattr(type(leaf), "__tf_tracing_type__"):
        return Typed(leaf)
    try:
        hash(leaf)
    except TypeError:
        return Weak(leaf)
    return (type(leaf), leaf)


def call_key(args: Any, kwargs: dict[str, Any]) -> tuple[object, ...]:
    """The key of a call in canonical form."""
    parts: list[object] = [leaf_key(leaf) for leaf in structure.flatten((args, kwargs))]
    parts.append(_layout(args))
    if kwargs:
        parts.append(_layout(kwargs))
    if state.autocast is not None:  # weights are read in another dtype
        parts.append(state.autocast)
    if state.place is not None:  # another replica reads other copies of variables
        parts.append(state.place)
    return tuple(parts)


def _layout(value: Any) -> object:
    """The structure without its leaves, as a hashable value."""
    if isinstance(value, dict):
        return (dict, tuple((key, _layout(value[key])) for key in sorted(value)))
    if isinstance(value, (list, tuple)):
        return (
            list if isinstance(value, list) else type(value),
            tuple(_layout(item) for item in value),
        )
    return None
