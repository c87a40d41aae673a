"""Specs of extension types: tensor fields as specs, all others unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from pinnace.framework import structure
from pinnace.framework.composite import CompositeSpec, is_composite
from pinnace.framework.specs import TensorSpec, TypeSpec
from pinnace.framework.tensor import Tensor
from pinnace.ops.composites.extension.batching import ExtensionTypeBatchEncoder
from pinnace.ops.composites.extension.fields import Field, ImmutableMapping

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = ["BatchableExtensionTypeSpec", "ExtensionTypeSpec", "made_of"]

# While a constructor of the program's own runs, it may set fields.
CONSTRUCTING = "_extension_constructing"
CACHED_SPEC = "_extension_spec"


def made_of(kind: type, fields: Mapping[str, Any]) -> Any:
    """An object with these fields, without checks and without calling its constructor."""
    made: Any = object.__new__(kind)
    made.__dict__.update(fields)
    return made


def held_fields(value: Any) -> dict[str, Any]:
    """The fields of an object or spec, without cached attributes."""
    return {key: x for key, x in vars(value).items() if not key.startswith("_extension_")}


class ExtensionTypeSpec(CompositeSpec):
    """The static type of the values of an extension type; `MyType.Spec` of each derives from it.

    Takes one argument per field, in their order: a spec for a field that is a tensor, the value
    itself for one that is none.
    """

    @classmethod
    def _extension_fields(cls) -> tuple[Field, ...]:
        return cls.value_type._extension_fields()  # type: ignore[attr-defined,no-any-return]

    @classmethod
    def from_value(cls, value: Any) -> Self:
        """The spec of a value."""
        found = vars(value).get(CACHED_SPEC)
        if found is not None:
            return found  # type: ignore[no-any-return]
        held, names = vars(value), [field.name for field in cls._extension_fields()]
        made = {name: structure.map_structure(_as_spec, held[name]) for name in names}
        return made_of(cls, made)  # type: ignore[no-any-return]

    def _serialize(self) -> tuple[Any, ...]:
        return tuple(held_fields(self).items())

    @classmethod
    def _deserialize(cls, state: tuple[Any, ...]) -> Self:
        return made_of(cls, {name: _immutable(value) for name, value in state})  # type: ignore[no-any-return]

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        # The class of a spec is an attribute of that of the values, which pickle can name.
        return _unpickled, (self.value_type, self._serialize())

    def _leaves(self) -> list[Any]:
        return structure.flatten(tuple(held_fields(self).values()))

    def component_specs(self) -> tuple[Any, ...]:
        """The specs of fields that are tensors or composite, in the order of the fields."""
        return tuple([leaf for leaf in self._leaves() if isinstance(leaf, TypeSpec)])

    def component_names(self) -> tuple[str, ...]:
        """The names of those fields; with indices for tuples or mappings."""
        pairs = structure.flatten_with_paths(tuple(held_fields(self).values()))
        names = list(held_fields(self))
        return tuple(
            [
                names[path[0]] + structure.path_text(path[1:])  # type: ignore[call-overload]
                for path, leaf in pairs
                if isinstance(leaf, TypeSpec)
            ]
        )

    def to_components(self, value: Any) -> tuple[object, ...]:
        """The fields of a value that are tensors or composite."""
        # By the spec: a field of the value may be a spec itself, or contain none.
        fields = tuple([vars(value)[name] for name in held_fields(self)])
        return tuple(
            [x for x in structure.flatten(fields) if isinstance(x, Tensor) or is_composite(x)]
        )

    def from_components(self, components: Sequence[Any]) -> Any:
        """The value with these components, without calling its constructor or checks."""
        fields = held_fields(self)
        rest = iter(components)
        return made_of(
            self.value_type, {name: _filled(part, rest) for name, part in fields.items()}
        )

    def __setattr__(self, name: str, value: Any) -> None:
        _set(self, name, value)

    def __delattr__(self, name: str) -> None:
        _set(self, name)

    def __validate__(self) -> None:
        """Called when a spec is created; override it to check the fields."""

    def __repr__(self) -> str:
        fields = ", ".join([f"{name}={value!r}" for name, value in self._serialize()])
        return f"{type(self).__qualname__}({fields})"


class BatchableExtensionTypeSpec(ExtensionTypeSpec):
    """The static type of values that can be batched."""

    __batch_encoder__ = ExtensionTypeBatchEncoder()

    def _batch(self, batch_size: int | None) -> Any:
        return self.__batch_encoder__.batch(self, batch_size)

    def _unbatch(self) -> Any:
        return self.__batch_encoder__.unbatch(self)


def _as_spec(value: Any) -> Any:
    if isinstance(value, Tensor):
        return TensorSpec.of(value.shape, value.dtype)
    return value.spec if is_composite(value) else value


def _filled(part: Any, rest: Iterator[Any]) -> Any:
    """A field of the spec with specs replaced by the next components."""
    return structure.map_structure(
        lambda leaf: next(rest) if isinstance(leaf, TypeSpec) else leaf, part
    )


def _immutable(value: Any) -> Any:
    if isinstance(value, dict):
        return ImmutableMapping({key: _immutable(item) for key, item in value.items()})
    return tuple([_immutable(item) for item in value]) if type(value) is tuple else value


def _unpickled(kind: Any, state: tuple[Any, ...]) -> Any:
    return kind.Spec._deserialize(state)


_DELETE = object()


def _set(target: Any, name: str, value: Any = _DELETE) -> None:
    """Set or delete a field while a constructor runs.

    Raises:
        AttributeError: at any other time, or another name.
    """
    constructing = vars(target).get(CONSTRUCTING, False)
    if name != "_keras_mask" and not (
        constructing and any(name == field.name for field in target._extension_fields())
    ):
        raise AttributeError(
            f"{type(target).__qualname__} cannot be changed once it is made (attribute {name!r})"
            "\n  Try: make another one; a constructor of one's own may set fields"
        )
    if value is _DELETE:
        del vars(target)[name]
    else:
        vars(target)[name] = value
