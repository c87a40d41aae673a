"""Trace types: with them a program's own classes decide which calls share a graph."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from pinnace.framework.errors import UnimplementedError
from pinnace.framework.specs import TypeSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pinnace.functions.concrete import ConcreteFunction

__all__ = ["SupportsTracingProtocol", "TraceType", "Typed", "placeholder_of", "wider"]


class TraceType(ABC):
    """The type of an argument where graphs are chosen: calls of equal types share one.

    A class takes part by a method `__tf_tracing_type__(context)` that returns one of these.
    Differences between two objects of equal types must not matter to the function, since they share
    a graph.

    Source:
        TensorFlow's `tf.types.experimental.TraceType`.
    """

    @abstractmethod
    def is_subtype_of(self, other: Any) -> bool:
        """Whether a graph traced for `other` can also be used for an argument of this type."""

    @abstractmethod
    def most_specific_common_supertype(self, others: Sequence[Any]) -> Any:
        """The narrowest type that this one and the others are subtypes of; None if there is none.

        Args:
            others: further types.
        """

    @abstractmethod
    def placeholder_value(self, placeholder_context: Any) -> Any:
        """The argument of the Python function while it is traced, for this type.

        Args:
            placeholder_context: None; it offers nothing.
        """

    def to_tensors(self, value: Any) -> list[Any]:
        """The tensors of a value of this type; empty by default.

        Args:
            value: the value.
        """
        del value
        return []

    def from_tensors(self, tensors: Iterator[Any]) -> Any:
        """A value of this type, made from as many of the tensors as `to_tensors` returns.

        Args:
            tensors: an iterator of tensors.
        """
        del tensors
        return self.placeholder_value(None)

    def flatten(self) -> list[Any]:
        """The types of the tensors that `to_tensors` returns; empty by default."""
        return []

    def cast(self, value: Any, cast_context: Any) -> Any:
        """A value cast to this type.

        Args:
            value: the value.
            cast_context: unused.

        Raises:
            AssertionError: the value differs from the placeholder.
        """
        del cast_context
        if value != self.placeholder_value(None):
            raise AssertionError(f"Can not cast {value!r} to type {self!r}")
        return value

    @abstractmethod
    def __hash__(self) -> int:
        """Equal types have equal hashes."""

    @abstractmethod
    def __eq__(self, other: object) -> bool:
        """Whether the types are equal, so that calls share a graph."""


TraceType.register(TypeSpec)  # type: ignore[type-abstract]  # its subclasses are meant


@runtime_checkable
class SupportsTracingProtocol(Protocol):
    """The protocol of objects with `__tf_tracing_type__`, which define their trace type."""

    def __tf_tracing_type__(self, context: Any) -> Any:
        """The trace type of the object.

        Args:
            context: None; it offers nothing.
        """


class Typed:
    """An object's part of the call's key, by its trace type.

    Args:
        leaf: the object.

    Raises:
        TypeError: its `__tf_tracing_type__` returned no TraceType.
    """

    __slots__ = ("type",)

    def __init__(self, leaf: SupportsTracingProtocol) -> None:
        self.type = _trace_type(leaf)

    def __hash__(self) -> int:
        return hash(self.type)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Typed) and bool(self.type == other.type)


def wider(
    key: tuple[object, ...], traced: Mapping[Any, ConcreteFunction]
) -> ConcreteFunction | None:
    """A graph for supertypes of a call's trace types, all else being equal; None if there is none.

    Args:
        key: key of the call.
        traced: graphs by the keys of the calls that they were traced for.

    Returns:
        The graph of the narrowest types.
    """
    if not any(isinstance(part, Typed) for part in key):
        return None
    chosen: tuple[object, ...] | None = None
    for other in traced:
        if _serves(key, other) and (chosen is None or _serves(other, chosen)):
            chosen = other
    return None if chosen is None else traced[chosen]


def placeholder_of(leaf: Any) -> Any:
    """The placeholder of an argument during tracing: itself, if it has no trace type.

    Raises:
        TypeError: its `__tf_tracing_type__` returned no TraceType.
        UnimplementedError: the trace type has tensors, which would be arguments of the graph.
    """
    if not hasattr(type(leaf), "__tf_tracing_type__"):
        return leaf
    found = _trace_type(leaf)
    if isinstance(found, TraceType) and found.flatten():
        raise UnimplementedError(
            f"function: the trace type {found!r} has tensors (its flatten() is not empty): those "
            "of an object's own type are not arguments of a graph\n"
            "  Try: make its class an experimental.ExtensionType, or pass the tensors themselves"
        )
    return found.placeholder_value(None)


def _trace_type(leaf: SupportsTracingProtocol) -> Any:
    found = leaf.__tf_tracing_type__(None)
    if not isinstance(found, TraceType):
        raise TypeError(
            f"Expected an instance of TraceType for Tracing Protocol call to {leaf!r}, "
            f"got {found!r}\n  Try: return an object of a class that derives from "
            "types.experimental.TraceType"
        )
    return found


def _serves(key: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """Whether a graph traced for the other key can be used for calls with this one."""
    return len(key) == len(other) and all(
        mine == wanted
        or (
            isinstance(mine, Typed)
            and isinstance(wanted, Typed)
            and bool(mine.type.is_subtype_of(wanted.type))
        )
        for mine, wanted in zip(key, other, strict=True)
    )
