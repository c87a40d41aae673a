"""Linear operators as composite values: their component tensors and specs."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from pinnace.framework import structure
from pinnace.framework.composite import (
    REGISTERED,
    CompositeSpec,
    is_composite,
    registered_as,
)
from pinnace.framework.specs import TensorSpec, TypeSpec
from pinnace.framework.tensor import Tensor
from pinnace.framework.variable import Variable
from pinnace.graph.static_values import get_static_value
from pinnace.linear_operators.hints import NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pinnace.linear_operators.operator import LinearOperator


class HeldVariable:
    """A variable as part of a spec: equal only to itself, and held weakly."""

    __slots__ = ("_hash", "_reference")

    def __init__(self, variable: Variable) -> None:
        self._reference = weakref.ref(variable)
        self._hash = id(variable)

    def get(self) -> Variable:
        """The variable.

        Raises:
            ReferenceError: the variable is gone.
        """
        variable = self._reference()
        if variable is None:
            raise ReferenceError("the variable of a linear operator is gone, and so is its spec")
        return variable

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HeldVariable):
            return False
        mine = self._reference()
        return mine is not None and mine is other._reference()

    def __hash__(self) -> int:
        return self._hash


class LinearOperatorSpec(CompositeSpec):
    """The static type of linear operators of one class; each class has a subclass of it.

    Args:
        param_specs: arguments of the constructor that are tensors or operators: their specs, in
            lists and dicts as they are given.
        non_tensor_params: its other arguments, those that hold variables among them.
        prefer_static_fields: the fields of these that are numbers where known, else tensors.

    Source:
        TensorFlow's `_LinearOperatorSpec`, whose state SavedModels hold.
    """

    __slots__ = ("_non_tensor_params", "_param_specs", "_prefer_static_fields")
    _operator_class: ClassVar[type[LinearOperator]]
    _registered_kind = REGISTERED

    def __init__(
        self,
        param_specs: dict[str, Any],
        non_tensor_params: dict[str, Any],
        prefer_static_fields: Sequence[str],
    ) -> None:
        self._param_specs = dict(param_specs)
        self._non_tensor_params = dict(non_tensor_params)
        self._prefer_static_fields = tuple(prefer_static_fields)

    @classmethod
    def of(cls, operator: LinearOperator) -> Self:
        """The spec of an operator."""
        specs: dict[str, Any] = {}
        rest: dict[str, Any] = {}
        for name in (*operator._fields, *NAMES):
            value = structure.map_structure(
                _spec_of, field_of(operator, name, name in operator._static_fields)
            )
            leaves = structure.flatten(value)
            whole = bool(leaves) and all(isinstance(leaf, TypeSpec) for leaf in leaves)
            (specs if whole else rest)[name] = value
        return cls(specs, rest, operator._static_fields)

    @property
    def value_type(self) -> type:
        """The class of the operators."""
        return self._operator_class

    def _serialize(self) -> tuple[Any, ...]:
        return self._param_specs, self._non_tensor_params, self._prefer_static_fields

    def _fields(self) -> dict[str, Any]:
        """The constructor's arguments in the order of their tensors."""
        return {**self._param_specs, **self._non_tensor_params}

    def component_specs(self) -> tuple[Any, ...]:
        """The specs of its tensors and operators, by argument name."""
        leaves = structure.flatten(self._fields())
        return tuple([leaf for leaf in leaves if isinstance(leaf, TypeSpec)])

    def component_names(self) -> tuple[str, ...]:
        """The names of the arguments, with indices for lists."""
        pairs = structure.flatten_with_paths(self._fields())
        return tuple(
            [
                str(path[0]) + structure.path_text(path[1:])
                for path, leaf in pairs
                if isinstance(leaf, TypeSpec)
            ]
        )

    def to_components(self, value: Any) -> tuple[object, ...]:
        """Its tensors and operators."""
        fields = {
            name: field_of(value, name, name in self._prefer_static_fields)
            for name in self._fields()
        }
        leaves = structure.flatten(fields)
        return tuple([x for x in leaves if isinstance(x, Tensor) or is_composite(x)])

    def from_components(self, components: Sequence[Any]) -> Any:
        """The operator made of these."""
        rest = iter(components)
        fields = self._fields()
        filled = structure.map_structure(lambda leaf: _filled(leaf, rest), fields)
        return self._operator_class(**filled)

    def _batch(self, batch_size: int | None) -> Self:
        specs = structure.map_structure(lambda spec: spec._batch(batch_size), self._param_specs)
        return type(self)(specs, self._non_tensor_params, self._prefer_static_fields)

    def _unbatch(self) -> Self:
        specs = structure.map_structure(lambda spec: spec._unbatch(), self._param_specs)
        return type(self)(specs, self._non_tensor_params, self._prefer_static_fields)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self), self._key()))

    def _key(self) -> Any:
        return tuple(map(_hashable, self._serialize()))


def composite(kind: type[LinearOperator]) -> type[LinearOperator]:
    """A decorator that makes operators of a class composite values with specs."""
    name = f"{kind.__name__}Spec"
    members = {"_operator_class": kind, "__slots__": (), "__module__": __name__}
    spec: Any = type(name, (LinearOperatorSpec,), members)
    registered_as(f"tf.linalg.{name}")(spec)
    kind._spec_class = spec
    kind._is_composite = True
    return kind


def field_of(operator: LinearOperator, name: str, static: bool = False) -> Any:
    """An argument of the constructor that makes an equal operator.

    Args:
        operator: the operator.
        name: name of the argument.
        static: whether numbers take the place of a tensor whose value is known.
    """
    value = operator._field(name)
    if static and isinstance(value, Tensor):
        known = get_static_value(value)
        value = value if known is None else known.tolist()
    return structure.map_structure(_plain, value)


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def _spec_of(value: Any) -> Any:
    if isinstance(value, Tensor):
        return TensorSpec.of(value.shape, value.dtype)
    if isinstance(value, Variable):
        return HeldVariable(value)
    return value.spec if is_composite(value) else value


def _filled(leaf: Any, rest: Iterator[Any]) -> Any:
    if isinstance(leaf, HeldVariable):
        return leaf.get()
    return next(rest) if isinstance(leaf, TypeSpec) else leaf


def _hashable(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple([(name, _hashable(value[name])) for name in sorted(value)])
    if isinstance(value, (list, tuple)):
        return tuple(map(_hashable, value))
    return value
