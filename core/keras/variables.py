"""keras.Variable: created from a value, or from an initializer and a shape."""

from __future__ import annotations

from typing import Any

from pinnace.framework import variable as framework
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.no_effect import ignored
from pinnace.keras import initializers, replicas
from pinnace.keras.dtype_policy import floatx
from pinnace.keras.keras_variable import KerasVariable
from pinnace.keras.names import unique_name


class _Variables(type):
    """The metaclass by which all variables, TensorFlow's too, are instances."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, framework.Variable)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, framework.Variable)


class Variable(metaclass=_Variables):
    """A variable: `Variable(value)`, or `Variable(initializer, shape, dtype)`.

    The objects created are `tf.Variable`s with Keras' names, like the weights of layers.

    Args:
        initializer: a value; or a function of a shape and a dtype, which then need a `shape`; or an
            initializer's name.
        shape: for a function; a value has its own.
        dtype: the dtype `floatx()` if None; of a value its own, of Python's floats `floatx()`.
        trainable: whether training changes it.
        autocast: whether it is read in the dtype that the layer around it computes in.
        aggregation: how values assigned by the replicas of a strategy are aggregated: "none",
            "sum", "mean" or "only_first_replica".
        synchronization: has no effect, which a warning says.
        name: unique if None; without slashes.
        layout: has no effect, which a warning says.
        **kwargs: have no effect, which a warning says.

    Raises:
        ValueError: a function without a shape; a name with a slash.
    """

    def __new__(  # type: ignore[misc]  # Keras' name for what makes a variable
        cls,
        initializer: Any,
        shape: Any = None,
        dtype: Any = None,
        trainable: bool = True,
        autocast: bool = True,
        aggregation: Any = "none",
        synchronization: str = "auto",
        name: str | None = None,
        layout: Any = None,
        **kwargs: Any,
    ) -> framework.Variable:
        """See the class docstring."""
        ignored(
            "keras.Variable", "a value is in one place", "auto", synchronization=synchronization
        )
        ignored("keras.Variable", "a value is in one place", layout=layout)
        ignored("keras.Variable", "the class has no such argument", **kwargs)
        name = unique_name("variable") if name is None else name
        if not isinstance(name, str) or "/" in name:
            raise ValueError(f"Variable: name must be a text without a slash, got {name!r}")
        made = KerasVariable(
            _first_value(initializer, shape, dtype),
            trainable=trainable,
            name=name,
            **replicas.kept(replicas.aggregation_of(f"Variable({name!r})", aggregation)),
        )
        made._autocasts = autocast
        return made


def _first_value(initializer: Any, shape: Any, dtype: Any) -> Any:
    if isinstance(initializer, str):
        initializer = initializers.get(initializer)
    if callable(initializer) and not isinstance(initializer, framework.Variable):
        if shape is None:
            raise ValueError(
                "Variable: when creating a Variable from an initializer, the `shape` argument "
                f"should be specified, got initializer={initializer!r} and shape=None"
            )
        kind = floatx() if dtype is None else dtype
        return lambda: initializer(tuple(shape), dtype=kind)
    if dtype is not None:
        return convert_to_tensor(initializer, dtype)
    made = convert_to_tensor(initializer)
    has_own = hasattr(initializer, "dtype") or not made.dtype.is_floating
    return made if has_own else convert_to_tensor(initializer, floatx())
