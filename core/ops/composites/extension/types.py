"""ExtensionType: user-defined classes with annotated fields, including tensors."""

from __future__ import annotations

import abc
import functools
import inspect
from typing import Any, ClassVar, NoReturn

from pinnace.framework.composite import CompositeTensor, refuse_conversion, registered_as
from pinnace.framework.specs import TypeSpec
from pinnace.framework.tensor import Tensor
from pinnace.ops.array import joining
from pinnace.ops.array.shapes import shape
from pinnace.ops.composites.extension.fields import (
    MISSING,
    Field,
    fields_of,
    fitted,
    is_reserved,
)
from pinnace.ops.composites.extension.specs import (
    CACHED_SPEC,
    CONSTRUCTING,
    BatchableExtensionTypeSpec,
    ExtensionTypeSpec,
    _set,
    held_fields,
)
from pinnace.ops.math import comparison, logic, reduction

__all__ = ["BatchableExtensionType", "ExtensionType"]

# Attributes of a user-defined class `Spec` that every class has.
_OF_EVERY_CLASS = frozenset({"__module__", "__dict__", "__weakref__", "__doc__", "__qualname__"})


class ExtensionTypeMetaclass(abc.ABCMeta):
    """Creates a constructor and a spec class from the annotations of a class."""

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        super().__init__(name, bases, namespace)
        if namespace.get("_extension_base", False):
            return
        _check_names(cls)
        # Called here already, so that an invalid annotation raises when the class is defined.
        cls._extension_fields()  # type: ignore[attr-defined]
        if "__init__" in namespace:
            _finish_after(cls, "value")
        else:
            _add_constructor(cls, "value")
        _add_spec(cls)


class ExtensionType(CompositeTensor, metaclass=ExtensionTypeMetaclass):
    """The base of values made of annotated fields, tensors among them.

    A subclass annotates its fields: tensors, ragged and sparse tensors, other extension types,
    shapes, dtypes, Python's int, float, bool, str, bytes and None, and tuples, mappings and unions
    of those. It gets a constructor that converts them (unless it defines one), `==`, `repr`, and
    `Spec`, the class of its specs. Values are immutable. Functions, control flow and SavedModels
    support them like tensors.

    Attributes that a subclass may have: `__validate__(self)`, called when a value is made;
    `__name__`, under which SavedModels hold it; `Spec`, a class with more for its specs.

    Example:
        >>> class Masked(ExtensionType):
        ...     values: Tensor
        ...     mask: Tensor
        >>> Masked([1, 2], mask=[True, False]).mask.numpy().tolist()
        [True, False]
    """

    _extension_base: ClassVar[bool] = True
    _extension_known: ClassVar[tuple[Field, ...] | None] = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        del args, kwargs
        if type(self).__dict__.get("_extension_base", False):
            raise AssertionError(
                f"{type(self).__name__} has no values itself\n  Try: a subclass with fields"
            )

    @classmethod
    def _extension_fields(cls) -> tuple[Field, ...]:
        found = cls.__dict__.get("_extension_known")
        if found is None:
            found, known = fields_of(cls, ExtensionType)
            if known:
                cls._extension_known = found
        return found

    @property
    def spec(self) -> Any:
        """The static type of the value."""
        found = vars(self).get(CACHED_SPEC)
        if found is None:
            found = type(self).Spec.from_value(self)  # type: ignore[attr-defined]
            vars(self)[CACHED_SPEC] = found
        return found

    def gradient_part(self) -> NoReturn:
        """Raises an error: it is unknown which fields of an extension type have gradients.

        Raises:
            ValueError: always.
        """
        name = type(self).__qualname__
        raise ValueError(
            f"{name} is not supported as a gradient source or target\n"
            "  Try: a field of it that is a tensor"
        )

    def __validate__(self) -> None:
        """Called when a value is created; override it to check the fields."""

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        refuse_conversion(self, "experimental.dispatch_for_api, for what a function makes of it")

    def __setattr__(self, name: str, value: Any) -> None:
        _set(self, name, value)

    def __delattr__(self, name: str) -> None:
        _set(self, name)

    def __repr__(self) -> str:
        fields = [f"{field.name}={vars(self)[field.name]!r}" for field in self._extension_fields()]
        return f"{type(self).__qualname__}({', '.join(fields)})"

    def __eq__(self, other: object) -> Any:
        """Whether all tensors have equal shapes and values, and all other fields are equal."""
        if type(self) is not type(other) or self.spec != other.spec:
            return False
        found = []
        for x, y in zip(self._components(), other._components(), strict=True):
            if not x.shape.is_fully_defined():
                found.append(reduction.reduce_all(comparison.same(shape(x), shape(y))))
            found.append(reduction.reduce_all(comparison.same(x, y)))
        return reduction.reduce_all(joining.stack(found)) if found else True

    def __ne__(self, other: object) -> Any:
        same = self == other
        return logic.logical_not(same) if isinstance(same, Tensor) else not same

    __hash__ = None  # type: ignore[assignment]


class BatchableExtensionType(ExtensionType):
    """The base of extension types whose values can be put into batches, and be rows of them.

    Datasets batch and unbatch them, `map_fn` goes over them. Every field that is a tensor, shape,
    or made of tensors has the batch axis in front, unless the class says otherwise in
    `__batch_encoder__`, an ExtensionTypeBatchEncoder.

    Example:
        >>> class Vehicle(BatchableExtensionType):
        ...     speed: Tensor
        >>> Vehicle.Spec(TensorSpec([], "float32"))._batch(3)
        Vehicle.Spec(speed=TensorSpec(shape=(3,), dtype=tf.float32, name=None))
    """

    _extension_base: ClassVar[bool] = True


def _check_names(cls: Any) -> None:
    """Raise for reserved names, and for attributes that are neither annotated nor code."""
    own = inspect.get_annotations(cls)
    for name, value in cls.__dict__.items():
        if name == "Spec":
            if not isinstance(value, type) or value.__bases__ not in {(TypeSpec,), (object,)}:
                raise ValueError(
                    f"{cls.__qualname__}.Spec must be a class derived from nothing, or directly "
                    f"subclassed from TypeSpec, got {value!r}"
                )
        elif is_reserved(name):
            raise ValueError(f"{cls.__qualname__}: the name {name!r} is reserved")
        elif name not in own and not name.startswith("_abc_") and not _is_code(name, value):
            raise ValueError(f"{cls.__qualname__}: field {name!r} is missing a type annotation")
    for name in own:
        if is_reserved(name):
            raise ValueError(f"{cls.__qualname__}: the name {name!r} is reserved")


def _is_code(name: str, value: object) -> bool:
    if name.startswith("__") and name.endswith("__"):
        return True
    return callable(value) or isinstance(value, (property, classmethod, staticmethod))


def _finish(target: Any, of: str) -> None:
    """Convert every field of a new value, and let its class validate it."""
    fields, given = target._extension_fields(), held_fields(target)
    names = {field.name for field in fields}
    who = type(target).__qualname__
    if missing := [field.name for field in fields if field.name not in given]:
        raise ValueError(f"{who}: the constructor must set all fields, it left out {missing}")
    if more := sorted(set(given) - names):
        raise ValueError(f"{who}: unexpected fields {more}")
    for field in fields:
        where = f"{who}.{field.name}"
        vars(target)[field.name] = fitted(given[field.name], field.value_type, where, of)
    target.__validate__()


def _finish_after(cls: Any, of: str) -> None:
    """Have a user's constructor set fields, which are converted after it returns."""
    constructor = cls.__init__

    @functools.wraps(constructor)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 (it becomes that)
        if vars(self).get(CONSTRUCTING, False):  # called by a subclass, which will finish
            constructor(self, *args, **kwargs)
            return
        vars(self)[CONSTRUCTING] = True
        try:
            constructor(self, *args, **kwargs)
        finally:
            del vars(self)[CONSTRUCTING]
        _finish(self, of)

    cls.__init__ = __init__


def _add_constructor(cls: Any, of: str) -> None:
    """Add a constructor that takes the fields by position or name."""

    def parameters() -> list[inspect.Parameter]:
        made, defaults = [], False
        kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
        for field in cls._extension_fields():
            has_default = of == "value" and field.default is not MISSING
            if defaults and not has_default:
                # Fields without a default that follow fields with one are keyword-only.
                kind = inspect.Parameter.KEYWORD_ONLY
            defaults = defaults or has_default
            default = field.default if has_default else inspect.Parameter.empty
            made.append(
                inspect.Parameter(field.name, kind, default=default, annotation=field.value_type)
            )
        return made

    signature = inspect.Signature(parameters())

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 (it becomes that)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{cls.__qualname__}{signature}: {error}") from None
        bound.apply_defaults()
        vars(self).update(bound.arguments)
        if not vars(self).get(CONSTRUCTING, False):
            _finish(self, of)

    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    __init__.__signature__ = inspect.Signature([own, *parameters()])  # type: ignore[attr-defined]
    cls.__init__ = __init__


def _add_spec(cls: Any) -> None:
    """Add the spec class, with the attributes that the program defined for it."""
    name = f"{cls.__qualname__}.Spec"
    members: dict[str, Any] = {"value_type": cls, "__module__": cls.__module__}
    names = {field.name for field in cls._extension_fields()}
    written = cls.__dict__.get("Spec")
    for key, value in vars(written).items() if written is not None else ():
        if is_reserved(key):
            raise ValueError(f"{name}: the name {key!r} is reserved")
        if key in names:
            raise ValueError(f"{name} has {key!r}, which is a field of {cls.__qualname__}")
        if key not in _OF_EVERY_CLASS:
            members[key] = value
    base: Any = ExtensionTypeSpec
    encoder = getattr(cls, "__batch_encoder__", None)
    if issubclass(cls, BatchableExtensionType):
        base = BatchableExtensionTypeSpec
        if encoder is not None:
            members.setdefault("__batch_encoder__", encoder)
    elif encoder is not None or "__batch_encoder__" in members:
        raise ValueError(f"{cls.__qualname__}: only a BatchableExtensionType has __batch_encoder__")
    spec = type(base)(f"{cls.__name__}.Spec", (base,), members)
    spec.__qualname__ = name
    if "__init__" in members:
        _finish_after(spec, "spec")
    else:
        _add_constructor(spec, "spec")
    cls.Spec = spec
    kept_as = cls.__dict__.get("__name__")
    if kept_as is not None:
        registered_as(f"{kept_as}.Spec")(spec)
