"""The decorator for functions that are also nodes of functional models, under Keras' names."""

from __future__ import annotations

import functools
import inspect
import itertools
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from pinnace.framework import tracebacks
from pinnace.keras import registry
from pinnace.keras.operation import Operation
from pinnace.keras.ops.sparse_rules import takes_sparse
from pinnace.keras.symbolic import is_symbolic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

F = TypeVar("F", bound="Callable[..., Any]")

_CLASSES: dict[tuple[str, str], type[FunctionOperation]] = {}


class FunctionOperation(Operation):
    """A call of a function in a functional model.

    Args:
        name: unique if None.
        **settings: the arguments that hold no tensors.
    """

    _untracked = frozenset({"_settings"})

    # Module and class in Keras, as files name them.
    keras_class: ClassVar[tuple[str, str]] = ("", "")
    function: ClassVar[Callable[..., Any]]
    # Settings that precede the tensors among the function's arguments.
    leads: ClassVar[tuple[str, ...]] = ()

    def __init__(self, name: str | None = None, **settings: Any) -> None:
        super().__init__(name=name)
        # Wrapped, so that nested values do not become children.
        self._settings = settings

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_class, type(self).keras_class, self.__getstate__()

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """The function's result."""
        settings = self._settings
        if type(self).leads:
            # The settings that precede the tensors.
            args = (*(settings[name] for name in type(self).leads), *args)
            settings = {key: x for key, x in settings.items() if key not in type(self).leads}
        return type(self).function(*args, **kwargs, **settings)

    def get_config(self) -> dict[str, Any]:
        """The name and the settings."""
        return {"name": self.name, **self._settings}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """The operation with a configuration."""
        made = {key: registry.deserialize_keras_object(value) for key, value in config.items()}
        for key in ("trainable", "dtype") if cls.function_takes("dtype") is None else ():
            made.pop(key, None)
        unknown = [key for key in made if key != "name" and cls.function_takes(key) is None]
        for key in unknown:
            if made.pop(key) not in (None, False):
                raise ValueError(f"{cls.__name__}: setting {key!r} is not supported")
        return cls(**made)

    @classmethod
    def function_takes(cls, name: str) -> inspect.Parameter | None:
        """The function's parameter of that name."""
        return inspect.signature(cls.function).parameters.get(name)


def _of_class(module: str, name: str) -> FunctionOperation:
    """An operation without its state, for pickle: its class, made by the decorator, has no name."""
    kind = _CLASSES[module, name]
    return kind.__new__(kind)


def operation(
    module: str, keras_name: str, *settings: str, sparse: str = "", takes: str = ""
) -> Callable[[F], F]:
    """A decorator: the function returns KerasTensors if it is given some.

    Args:
        module: module of the class in Keras, below `keras.src.ops`.
        keras_name: name of the class.
        *settings: the parameters that Keras keeps in the operation's configuration; the others are
            arguments of the call.
        sparse: the rule for sparse operands, see `takes_sparse`; empty if it takes none.
        takes: the rest of the docstring, arguments and result, where many functions share it.
    """

    def decorate(function: F) -> F:
        if takes:
            function.__doc__ = f"{function.__doc__}\n\n{takes}"
        if sparse:
            function = takes_sparse(sparse, function)
        told = (f"keras.src.ops.{module}", keras_name)
        members: dict[str, Any] = {
            "__module__": __name__,
            "__doc__": function.__doc__,
            "keras_class": told,
            "function": staticmethod(function),
        }
        parameters = inspect.signature(function)
        members["leads"] = tuple(itertools.takewhile(settings.__contains__, parameters.parameters))
        cls = _CLASSES[told] = type(keras_name, (FunctionOperation,), members)

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            if not is_symbolic(args, kwargs):
                try:
                    return function(*args, **kwargs)
                except Exception as error:
                    tracebacks.cut(error)
                    raise
            bound = parameters.bind(*args, **kwargs)
            kept, given, named = _parted(bound, kwargs, settings, members["leads"])
            return cls(**_complete(kept, parameters, settings))(*given, **named)

        return called  # type: ignore[return-value]  # of the same signature

    return decorate


def _parted(
    bound: inspect.BoundArguments,
    kwargs: Mapping[str, Any],
    settings: tuple[str, ...],
    leads: tuple[str, ...],
) -> tuple[dict[str, Any], list[Any], dict[str, Any]]:
    """The settings of a call, and its other arguments by position and by name."""
    kept: dict[str, Any] = {}
    given: list[Any] = []
    named: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            given.extend(value)
        elif name in settings:
            kept[name] = value
        elif (
            kind is inspect.Parameter.KEYWORD_ONLY
            or (name in kwargs and named)
            or not kept.keys() <= set(leads)  # it follows a setting that is not passed by position
        ):
            named[name] = value
        else:
            given.append(value)
    return kept, given, named


def _complete(
    kept: dict[str, Any], parameters: inspect.Signature, settings: tuple[str, ...]
) -> dict[str, Any]:
    """The settings with their defaults, all of which Keras' classes require."""
    return {
        name: kept.get(name, parameters.parameters[name].default)
        for name in settings
        if name in kept or parameters.parameters[name].default is not inspect.Parameter.empty
    }


def operation_class(module: str, name: str) -> type[FunctionOperation] | None:
    """The class of the operation with this name in Keras; None if there is none.

    Args:
        module: in Keras; empty if it is not known.
        name: name of the class.
    """
    if module:
        return _CLASSES.get((module, name))
    return next((cls for (_, known), cls in _CLASSES.items() if known == name), None)
