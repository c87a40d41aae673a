"""Composite values, made of several tensors: their base class and that of their specs.

A composite value is a structure to `nest` under `expand_composites`, one argument to `function`,
one element to a Dataset and one leaf in a SavedModel. All of these use its spec: the specs of its
components (`component_specs`), the components of a value (`to_components`), and the value made of
components (`from_components`).
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping
from itertools import starmap
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

from pinnace import late
from pinnace.framework.late_modules import LateModules
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TypeSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.specs import TensorSpec


class CompositeTensor:
    """A value made of several tensors; a subclass defines its spec."""

    # Read by `structure.py`.
    _is_composite: ClassVar[bool] = True

    @property
    def spec(self) -> TypeSpec:
        """The static type of the value, with the specs of its components."""
        raise NotImplementedError(f"{type(self).__name__} has no spec")

    @property
    def _type_spec(self) -> TypeSpec:
        # TensorFlow's name for it.
        return self.spec

    def gradient_part(self) -> Any:
        """The tensor through which gradients flow; the value itself if there is none."""
        return self

    def with_gradient_part(self, gradient: Any) -> Any:
        """The gradient of the value, from that of its `gradient_part`."""
        return gradient

    def _components(self) -> tuple[Any, ...]:
        """The tensors it is made of, including those of composite components."""
        return tuple(components_of(self))

    def _shape_invariant_to_type_spec(self, shape: Any) -> TypeSpec:
        """The spec of a loop variable whose shape may change within `shape`."""
        raise NotImplementedError(
            f"{type(self).__name__} cannot have a shape invariant, got {shape!r}"
        )


class CompositeSpec(TypeSpec):
    """The spec of a composite value, compared and merged by its constructor arguments.

    A subclass defines `_serialize()`: the arguments of its constructor, in order; shapes as Shape,
    dtypes as DType, and specs. SavedModels store the same.
    """

    __slots__ = ()
    # The number that files use for specs of registered classes.
    _registered_kind: ClassVar[str] = "EXTENSION_TYPE_SPEC"

    @abstractmethod
    def _serialize(self) -> tuple[Any, ...]:
        """The arguments that recreate the spec."""

    @classmethod
    def _deserialize(cls, state: tuple[Any, ...]) -> Self:
        """The spec made from such arguments; the inverse of `_serialize`."""
        return cls(*state)

    @abstractmethod
    def component_specs(self) -> tuple[TensorSpec, ...]:
        """The specs of the tensors that a value is made of."""

    @abstractmethod
    def to_components(self, value: Any) -> tuple[object, ...]:
        """The tensors that `value` is made of, one per component spec."""

    @abstractmethod
    def from_components(self, components: Sequence[Any]) -> object:
        """The value made of these tensors; the inverse of `to_components`."""

    def component_names(self) -> tuple[str, ...]:
        """Names for the component tensors of a value, one per component spec."""
        return tuple(map(str, range(len(self.component_specs()))))

    @property
    def _component_specs(self) -> tuple[TensorSpec, ...]:
        return self.component_specs()

    def _to_components(self, value: Any) -> tuple[object, ...]:
        return self.to_components(value)

    def _from_components(self, components: Sequence[Any]) -> object:
        return self.from_components(components)

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Whether the value, or a value of that spec, may be one of this spec."""
        other = spec_of(spec_or_value)
        if type(other) is not type(self):
            return False
        mine, theirs = self._serialize(), other._serialize()
        return len(mine) == len(theirs) and all(map(compatible, mine, theirs))

    def is_subtype_of(self, other: object) -> bool:
        """Whether every value of this spec is also one of `other`."""
        if type(other) is not type(self):
            return False
        mine, theirs = self._serialize(), other._serialize()
        return len(mine) == len(theirs) and all(map(_subtype, mine, theirs))

    def most_specific_common_supertype(self, others: Sequence[object]) -> Self | None:
        """The narrowest spec for values of this spec and of all others; None if there is none."""
        joined = self._serialize()
        for other in others:
            if type(other) is not type(self):
                return None
            theirs = other._serialize()
            if len(joined) != len(theirs):
                return None
            parts = list(map(_joined, joined, theirs))
            if any(part is _DIFFER for part in parts):
                return None
            joined = tuple(parts)
        return self._deserialize(joined)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return bool(self._serialize() == other._serialize())

    def __hash__(self) -> int:
        return hash((type(self), self._serialize()))

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _remade, (type(self), self._serialize())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._serialize()))})"


def _remade(kind: type[CompositeSpec], state: tuple[Any, ...]) -> CompositeSpec:
    return kind._deserialize(state)


_DIFFER = object()


def compatible(mine: Any, theirs: Any) -> bool:
    """Whether the serialised parts of two specs are compatible."""
    if isinstance(mine, (Shape, TypeSpec)):
        return bool(mine.is_compatible_with(theirs))
    pairs = _paired(mine, theirs)
    return bool(mine == theirs) if pairs is None else all(starmap(compatible, pairs))


def _subtype(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, (Shape, TypeSpec)) and theirs is not None:
        return mine.is_subtype_of(theirs)
    pairs = _paired(mine, theirs)
    return bool(mine == theirs) if pairs is None else all(starmap(_subtype, pairs))


def _paired(mine: Any, theirs: Any) -> list[tuple[Any, Any]] | None:
    """Pairs of corresponding items of two sequences or mappings; None if they differ in form."""
    if type(mine) is not type(theirs):
        return None
    if type(mine) in {tuple, list} and len(mine) == len(theirs):
        return list(zip(mine, theirs, strict=True))
    if isinstance(mine, Mapping) and mine.keys() == theirs.keys():
        return [(part, theirs[key]) for key, part in mine.items()]
    return None


def _joined(mine: Any, theirs: Any) -> Any:
    pairs = _paired(mine, theirs)
    if pairs is not None:
        parts = list(starmap(_joined, pairs))
        if any(part is _DIFFER for part in parts):
            return _DIFFER
        if type(mine) in {tuple, list}:
            return type(mine)(parts)
        return type(mine)(zip(mine, parts, strict=True))
    if isinstance(mine, Shape):
        return mine.most_specific_compatible_shape(theirs)
    if isinstance(mine, TypeSpec):
        found = mine.most_specific_common_supertype([theirs])
        return _DIFFER if found is None else found
    return mine if mine == theirs else _DIFFER


def is_composite(x: object) -> bool:
    """Whether `x` is a value made of several tensors."""
    return getattr(type(x), "_is_composite", False)


def spec_of(x: Any) -> Any:
    """The spec of a composite value; any other value unchanged."""
    return x.spec if is_composite(x) else x


def gradient_part(x: Any) -> Any:
    """The part of `x` that a tape watches: of a composite, its float values; else `x` itself."""
    return x.gradient_part() if isinstance(x, CompositeTensor) else x


def components_of(x: Any) -> list[Any]:
    """All tensors that a composite value is made of; [x] for other values."""
    if not is_composite(x):
        return [x]
    return [leaf for part in x.spec.to_components(x) for leaf in components_of(part)]


# The names of specs in files: the enumeration of struct.proto -> class.
_in_files: dict[str, type[CompositeSpec]] = {}
# Specs of user-defined classes share one number, and have a registered name.
EXTENSION = "EXTENSION_TYPE_SPEC"
# The same for TensorFlow's classes without a number: linear operators.
REGISTERED = "REGISTERED_TYPE_SPEC"
_registered: dict[str, type[CompositeSpec]] = {}
_REGISTERED_NAME = re.compile(r"(\w+\.)+\w+")
# Modules with such classes, imported when a file has one.
_later = LateModules(*late.SPEC_MODULES)


def kept_in_files_as(name: str) -> Callable[[type[CompositeSpec]], type[CompositeSpec]]:
    """A decorator: SavedModels hold specs of the class under this name of `TypeSpecClass`."""

    def register(kind: type[CompositeSpec]) -> type[CompositeSpec]:
        _in_files[name] = kind
        return kind

    return register


def registered_as(name: str) -> Callable[[type[CompositeSpec]], type[CompositeSpec]]:
    """A decorator: SavedModels hold specs of a class that a program wrote under this name.

    Raises:
        TypeError: the name is no string.
        ValueError: the name is not of the form `project.Type.Spec`, or belongs to another class.
    """
    if not isinstance(name, str):
        raise TypeError(f"__name__ of an extension type must be a string, got {name!r}")
    if not _REGISTERED_NAME.fullmatch(name):
        raise ValueError(f"__name__ of an extension type must be words joined by '.', got {name!r}")

    def register(kind: type[CompositeSpec]) -> type[CompositeSpec]:
        other = _registered.setdefault(name, kind)
        if other is not kind:
            raise ValueError(
                f"the name {name!r} has already been registered for "
                f"{other.__module__}.{other.__qualname__}"
            )
        return kind

    return register


def spec_class(name: str, written: str = "") -> type[CompositeSpec] | None:
    """The class with this name in files, if this library has it.

    Args:
        name: name of the enumeration of struct.proto.
        written: the name that a program gave it, for one of an extension type.
    """
    if name in {EXTENSION, REGISTERED}:
        return _later.find(lambda: _registered.get(written))
    return _later.find(lambda: _in_files.get(name))


def name_in_files(kind: type) -> str | None:
    """The name of a spec class in files, if files support it."""
    if registered_name(kind) is not None:
        return kind._registered_kind  # type: ignore[attr-defined,no-any-return]
    return next((name for name, known in _in_files.items() if known is kind), None)


def registered_name(kind: type) -> str | None:
    """The name under which a program registered its spec class, if it did."""
    return next((name for name, known in _registered.items() if known is kind), None)


def refuse_conversion(value: Any, advice: str) -> NoReturn:
    """Raise an error: a composite value is not a tensor.

    Raises:
        TypeError: always.
    """
    raise TypeError(f"{type(value).__name__} is not one tensor but several: {value!r}\n  {advice}")


__all__ = [
    "CompositeSpec",
    "CompositeTensor",
    "compatible",
    "components_of",
    "gradient_part",
    "is_composite",
    "kept_in_files_as",
    "name_in_files",
    "refuse_conversion",
    "registered_as",
    "registered_name",
    "spec_class",
    "spec_of",
]
