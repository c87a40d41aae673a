"""Fields of extension types: permitted annotations, and conversion of values."""

from __future__ import annotations

import collections.abc
import inspect
import sys
import types
import typing
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from pinnace.framework.composite import CompositeTensor
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import DType, as_dtype
from pinnace.framework.shapes import Shape, as_shape
from pinnace.framework.specs import TensorSpec, TypeSpec
from pinnace.framework.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MISSING", "Field", "ImmutableMapping", "fields_of", "fitted", "is_reserved"]


class _Missing:
    def __repr__(self) -> str:
        return "<no default>"


# The default of a field that has none.
MISSING = _Missing()
# Attributes of value and spec classes that fields must not replace.
_RESERVED = frozenset(
    {
        "self",
        "Spec",
        "spec",
        "value_type",
        "gradient_part",
        "with_gradient_part",
        "is_compatible_with",
        "is_subtype_of",
        "most_specific_common_supertype",
        "most_specific_compatible_type",
        "component_specs",
        "component_names",
        "to_components",
        "from_components",
        "_type_spec",
        "_component_specs",
        "_components",
        "_consumers",
        "_deserialize",
        "_flat_tensor_specs",
        "_from_compatible_tensor_list",
        "_from_components",
        "_from_tensor_list",
        "_keras_mask",
        "_serialize",
        "_shape_invariant_to_type_spec",
        "_to_components",
        "_to_legacy_output_classes",
        "_to_legacy_output_shapes",
        "_to_legacy_output_types",
        "_to_tensor_list",
        "_with_tensor_ranks_only",
    }
)
_PLAIN = (int, float, bool, str, bytes, type(None))


def is_reserved(name: str) -> bool:
    """Whether a name is not allowed for fields."""
    return name in _RESERVED or name.lower().startswith(("_tf_extension_type", "_extension_"))


class ImmutableMapping(Mapping[Any, Any]):
    """A hashable mapping that cannot be changed."""

    __slots__ = ("_items",)

    def __init__(self, *items: Any, **more: Any) -> None:
        self._items = dict(*items, **more)

    def __getitem__(self, key: Any) -> Any:
        return self._items[key]

    def __contains__(self, key: object) -> bool:
        return key in self._items

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return f"ImmutableDict({self._items})"


class Field(NamedTuple):
    """One field: its name, annotation, and default or MISSING."""

    name: str
    value_type: Any
    default: Any = MISSING


def fields_of(kind: type, base: type) -> tuple[tuple[Field, ...], bool]:
    """The fields of an extension type, those of its bases first.

    Args:
        kind: the class.
        base: the class of the library that all of them derive from.

    Returns:
        The fields, and whether every annotation is known: one that names a class that is still to
        be written is a string until then.

    Raises:
        TypeError: an annotation that no field may have, or a default that does not fit its own.
    """
    found: dict[str, Any] = {}
    known = True
    for one in reversed(kind.__mro__):
        own = inspect.get_annotations(one)
        if own and issubclass(one, base) and not one.__dict__.get("_extension_base", False):
            resolved = _resolved(one, own)
            known = known and resolved is not None
            found.update(own if resolved is None else resolved)
    fields = []
    for name, annotation in found.items():
        where = f"{kind.__qualname__}.{name}"
        _check(annotation, where)
        default = getattr(kind, name, MISSING)
        if default is not MISSING:
            default = fitted(default, annotation, f"{where}: the default value", "default")
        fields.append(Field(name, annotation, default))
    return tuple(fields), known


def _resolved(kind: type, own: dict[str, Any]) -> dict[str, Any] | None:
    """The annotations with strings resolved; None if a name is not defined yet."""
    holder = types.SimpleNamespace(__annotations__=own)
    # A class may refer to itself, also if it is defined in a function.
    there = {**_variables_of(kind), kind.__name__: kind}
    try:
        return typing.get_type_hints(holder, there, vars(kind))
    except (NameError, AttributeError):
        return None


def _variables_of(kind: type) -> dict[str, Any]:
    module = sys.modules.get(kind.__module__)
    return {} if module is None else vars(module)


def _parameters(annotation: Any, *origins: Any) -> tuple[Any, ...] | None:
    """X and Y in `tuple[X, Y]`, for one of these generic types."""
    if typing.get_origin(annotation) not in origins:
        return None
    return typing.get_args(annotation)


def _check(annotation: Any, where: str, *, in_key: bool = False) -> None:
    """Raise for an annotation that fields cannot have."""
    if annotation is None or annotation in _PLAIN or annotation is DType:
        return
    if isinstance(annotation, (str, typing.ForwardRef)):
        return
    if annotation in (Tensor, Shape) or _is_composite_class(annotation):
        if in_key:
            raise TypeError(f"{where}: keys of a mapping cannot be a {annotation.__name__}")
        return
    several = _parameters(annotation, tuple, typing.Union, types.UnionType)
    if several:
        for one in several:
            if one is not Ellipsis:
                _check(one, where, in_key=in_key)
        return
    pair = _parameters(annotation, collections.abc.Mapping)
    if pair is not None:
        _check(pair[0], where, in_key=True)
        _check(pair[1], where, in_key=in_key)
        return
    name = annotation.__name__ if isinstance(annotation, type) else repr(annotation)
    raise TypeError(
        f"{where}: Unsupported type annotation {name}; a field is a Tensor, a composite tensor or "
        "extension type, TensorShape, DType, int, float, bool, str, bytes or None, or a Union, "
        "tuple[...] or Mapping[...] of those"
    )


def _is_composite_class(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, CompositeTensor)


def fitted(value: Any, annotation: Any, where: str, of: str = "value") -> Any:
    """A value converted to the annotated type of a field.

    Args:
        value: the given value.
        annotation: annotation of the field.
        where: its name in messages.
        of: "value", "spec" (tensors are specs) or "default" (tensors are made when they are used).

    Raises:
        TypeError: the value does not fit.
    """
    if annotation is Tensor:
        return _fitted_tensor(value, where, of)
    if _is_composite_class(annotation):
        return _fitted_composite(value, annotation, where, of)
    if annotation is Shape or annotation is DType:
        try:
            return as_shape(value) if annotation is Shape else as_dtype(value)
        except (TypeError, ValueError):
            raise _wrong(where, annotation, value) from None
    if annotation is None or annotation in _PLAIN:
        if not isinstance(value, type(None) if annotation is None else annotation):
            raise _wrong(where, annotation, value)
        return value
    if (items := _parameters(annotation, tuple)) is not None:
        return _fitted_tuple(value, items, where, of)
    if (pair := _parameters(annotation, collections.abc.Mapping)) is not None:
        return _fitted_mapping(value, pair, where, of)
    if (options := _parameters(annotation, typing.Union, types.UnionType)) is not None:
        return _fitted_option(value, annotation, options, where, of)
    raise TypeError(f"{where}: Unresolved forward reference {annotation!r}")


def _fitted_tensor(value: Any, where: str, of: str) -> Any:
    if of == "spec":
        if not isinstance(value, TensorSpec):
            raise _wrong(where, TensorSpec, value)
        return value
    if of == "default" or isinstance(value, Tensor):
        return value
    try:
        return convert_to_tensor(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{_wrong(where, Tensor, value)}: {error}") from None


def _fitted_composite(value: Any, annotation: type, where: str, of: str) -> Any:
    if of == "spec":
        if not isinstance(value, TypeSpec) or not issubclass(value.value_type, annotation):
            raise TypeError(
                f"{where}: expected the spec of a {annotation.__name__}, got {_kind(value)}"
            )
    elif not isinstance(value, annotation):
        raise _wrong(where, annotation, value)
    return value


def _fitted_tuple(value: Any, items: tuple[Any, ...], where: str, of: str) -> Any:
    if not isinstance(value, collections.abc.Sequence):
        raise TypeError(f"{where}: expected tuple, got {_kind(value)}")
    if len(items) == 2 and items[1] is Ellipsis:
        items = (items[0],) * len(value)
    if len(value) != len(items):
        raise TypeError(f"{where}: expected a tuple of length {len(items)}, got {len(value)}")
    pairs = enumerate(zip(value, items, strict=True))
    return tuple([fitted(part, kind, f"{where}[{i}]", of) for i, (part, kind) in pairs])


def _fitted_mapping(value: Any, pair: tuple[Any, ...], where: str, of: str) -> Any:
    if not isinstance(value, Mapping):
        raise TypeError(f"{where}: expected mapping, got {_kind(value)}")
    return ImmutableMapping(
        {
            fitted(key, pair[0], f"{where}: key", of): fitted(
                part, pair[1], f"{where}[{key!r}]", of
            )
            for key, part in value.items()
        }
    )


def _fitted_option(value: Any, annotation: Any, options: Sequence[Any], where: str, of: str) -> Any:
    for option in options:
        try:
            return fitted(value, option, where, of)
        except TypeError:
            continue
    raise TypeError(f"{where}: expected {annotation}, got {_kind(value)}")


def _wrong(where: str, wanted: Any, value: Any) -> TypeError:
    name = "None" if wanted is None else wanted.__name__
    return TypeError(f"{where}: expected {name}, got {_kind(value)}")


def _kind(value: Any) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"
