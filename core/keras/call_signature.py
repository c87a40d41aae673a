"""The parameters of a layer class's `call` and `build`, inspected once per class."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.framework.context import init_scope, state
from pinnace.framework.dtypes import as_dtype
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.keras.call_context import calls
from pinnace.keras.forms import is_spec
from pinnace.keras.symbolic import spec_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.keras.layer import Layer


class CallSignature:
    """The parameters of a `call` method, `self` left out.

    Attributes:
        names: names of the parameters that can be given by position.
        training: place of `training` among them; -1 if it is a keyword, None if there is none.
        training_default: its default.
        masks: the parameters that take masks: `mask`, `…_mask`.
    """

    __slots__ = ("masks", "names", "training", "training_default")

    def __init__(self, method: Callable[..., Any]) -> None:
        parameters = list(inspect.signature(plain(method)).parameters.values())[1:]
        by_position = [
            p.name for p in parameters if p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD}
        ]
        names = [p.name for p in parameters]
        self.names = tuple(by_position)
        self.training: int | None = None
        self.training_default: Any = None
        if "training" in names:
            self.training = by_position.index("training") if "training" in by_position else -1
            default = parameters[names.index("training")].default
            self.training_default = None if default is inspect.Parameter.empty else default
        self.masks = frozenset([name for name in names if name.endswith("mask")])


def told_training(
    signature: CallSignature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Whether this call is for training, and the arguments that say so."""
    told = _explicit_training(signature, args, kwargs)
    training = told if told is not None else calls.training
    if training is None:
        training = signature.training_default
    if signature.training is None:
        kwargs.pop("training", None)
    elif told is None and training is not None:
        args, kwargs = _with_training(signature, args, kwargs, training)
    return training, args, kwargs


def _explicit_training(
    signature: CallSignature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The `training` argument of this call, by position or keyword; None if absent."""
    if "training" in kwargs:
        return kwargs["training"]
    place = signature.training
    return args[place] if place is not None and 0 <= place < len(args) else None


def _with_training(
    signature: CallSignature, args: tuple[Any, ...], kwargs: dict[str, Any], training: Any
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    place = signature.training
    if place is not None and 0 <= place < len(args):  # None was given by position
        return (*args[:place], training, *args[place + 1 :]), kwargs
    return args, {**kwargs, "training": training}


def plain(method: Any) -> Callable[..., Any]:
    """The Python function behind a method that may be decorated with `function`."""
    while hasattr(method, "python_function"):
        method = method.python_function
    return method  # type: ignore[no-any-return]


def needed_arguments(
    call: Callable[..., Any],
    signature: CallSignature,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[Any, ...]:
    """The arguments of a call after the first one, except those with defaults."""
    required = required_build_parameters(plain(call))
    found = []
    for place, name in enumerate(signature.names[1:], start=1):
        if name not in required or name == "training":
            break
        found.append(args[place] if place < len(args) else kwargs[name])
    return tuple(found)


@functools.lru_cache(maxsize=1024)
def build_parameters(build: Callable[..., Any]) -> tuple[str, ...]:
    """The parameters of a `build` method, without `self`."""
    parameters = list(inspect.signature(inspect.unwrap(build)).parameters.values())[1:]
    return tuple(
        p.name for p in parameters if p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD}
    )


@functools.lru_cache(maxsize=1024)
def required_build_parameters(build: Callable[..., Any]) -> frozenset[str]:
    """The parameters of `build` without a default."""
    parameters = inspect.signature(inspect.unwrap(build)).parameters
    return frozenset(
        name
        for name in build_parameters(build)
        if parameters[name].default is inspect.Parameter.empty
    )


def build_arguments(
    build: Callable[..., Any],
    signature: CallSignature,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of `build` that correspond to the specs of `call`'s arguments."""
    specs = {
        name: structure.map_structure(spec_of, value)
        for name, value in [*zip(signature.names, args, strict=False), *kwargs.items()]
    }
    wanted = build_parameters(build)
    if len(wanted) > 1:
        named = {
            name: specs[name.removesuffix("_shape")]
            for name in wanted
            if name.removesuffix("_shape") in specs
        }
        if named.keys() >= required_build_parameters(build):
            return (), named
    first = structure.map_structure(spec_of, args[0]) if args else next(iter(specs.values()), None)
    return (first,), {}


def takes_shapes(parameter: str) -> bool:
    """Whether a parameter of that name takes shapes rather than specs."""
    return parameter.endswith(("shape", "shapes"))


def prepared_build(build: Callable[..., None]) -> Callable[..., None]:
    """`build` as the library calls it: once, in the layer's scope, with shapes or specs."""
    if getattr(build, "_prepared", False):
        return build

    # Layers of this library may ask for more than a shape; those of users expect shapes.
    foreign = not build.__module__.startswith("pinnace.")

    # A layer of this library that asks for one spec takes it as Keras' `input_shape`, too.
    parameters = list(inspect.signature(build).parameters.values())
    alone = not foreign and len(parameters) == 2 and not takes_shapes(parameters[1].name)

    def takes_shape(parameter: str) -> bool:
        return foreign or takes_shapes(parameter)

    @functools.wraps(build)
    def prepared(self: Layer, *args: Any, **kwargs: Any) -> None:
        if not self.built and state.scope != self._scope_name:  # else it is `super().build`
            self._take_path()
        names = build_parameters(build)
        if alone and "input_shape" in kwargs and not args:
            args = (kwargs.pop("input_shape"),)
        dtype = self.compute_dtype
        specs = [as_specs(arg, dtype) for arg in args]
        named = {key: as_specs(value, dtype) for key, value in kwargs.items()}
        if self._build_specs is None:
            if specs:
                self._build_specs = specs[0]
            if len(specs) + len(named) > 1:
                self._build_named = {**dict(zip(names, specs, strict=False)), **named}
        values = [
            as_shapes(spec) if index < len(names) and takes_shape(names[index]) else spec
            for index, spec in enumerate(specs)
        ]
        options = {
            key: as_shapes(spec) if takes_shape(key) else spec for key, spec in named.items()
        }
        with init_scope(), self.name_scope:
            build(self, *values, **options)
        self.built = True

    if alone:
        prepared.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # for `inspect`
            [one.replace(name="input_shape") if i else one for i, one in enumerate(parameters)]
        )
    prepared._prepared = True  # type: ignore[attr-defined]  # a mark
    return prepared


def as_specs(value: Any, dtype: str) -> Any:
    """Shapes, tensors and TensorSpecs, in any structure, as TensorSpecs.

    Args:
        value: a list or tuple of sizes is a shape.
        dtype: dtype of arguments that only have a shape.
    """
    if value is None or isinstance(value, TensorSpec):
        return value
    if isinstance(value, Shape) or _is_shape(value):
        return TensorSpec(value, dtype)
    if isinstance(value, dict):
        return {key: as_specs(item, dtype) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        items = [as_specs(item, dtype) for item in value]
        return items if isinstance(value, list) else tuple(items)
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return TensorSpec(Shape(value.shape), as_dtype(value.dtype))
    return value


def as_shapes(value: Any) -> Any:
    """Specs of dense, sparse and ragged tensors, in any structure, as Shapes."""
    return structure.map_structure(lambda item: item.shape if is_spec(item) else item, value)


def _is_shape(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(
        size is None or (isinstance(size, int) and not isinstance(size, bool)) for size in value
    )
