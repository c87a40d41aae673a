"""KerasVariable: the variables of layers, metrics and optimizers, and `keras.Variable`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.context import state
from pinnace.framework.tensor import Tensor
from pinnace.framework.variable import Variable
from pinnace.ops.array import casting

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import TensorLike


class KerasVariable(Variable):
    """A variable with the names of Keras 3, and with its `value` as a property.

    Keras 3 wraps a `tf.Variable`, which its `value` returns; here the variable itself is one, so
    both ways of writing work: `value.numpy()`, and `value()` as for `tf.Variable`s.
    """

    # The store whose `add_weight` made it, and its number among those.
    _made: tuple[object, int | None] = (None, None)

    _regularizer: Any = None
    _is_overwritten = False
    # Set by a program or a layer after creation; None if neither did.
    _is_trained: bool | None = None

    @property
    def name(self) -> str:
        """The last part of `path`."""
        return self._name.rpartition("/")[2]

    @property
    def path(self) -> str:
        """Its name, prefixed by the names of the enclosing layers and separated by slashes."""
        return self._name

    @property
    def dtype(self) -> DType:
        """The dtype in which it is read; under mixed precision, the layer's compute dtype."""
        own = self._resource.dtype
        read = state.autocast
        return read if read is not None and self._autocasts and own.is_floating else own

    @property
    def value(self) -> KerasVariable:
        """The variable itself, which stands for its current value wherever it is used."""
        return self

    def __call__(self) -> Tensor:
        """The present value."""
        return self.read_value()

    def assign(
        self,
        value: TensorLike,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Replace the value by one of any dtype, which is cast; returns the variable."""
        return super().assign(self._fitting(value), use_locking, name, read_value)

    def assign_add(
        self,
        delta: TensorLike,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Add a delta of any dtype and cast the sum; returns the variable."""
        if self._fits(delta):
            return super().assign_add(delta, use_locking, name, read_value)
        return self.assign(self + delta, use_locking, name, read_value)

    def assign_sub(
        self,
        delta: TensorLike,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Subtract a delta of any dtype and cast the difference; returns the variable."""
        if self._fits(delta):
            return super().assign_sub(delta, use_locking, name, read_value)
        return self.assign(self - delta, use_locking, name, read_value)

    def _fits(self, value: Any) -> bool:
        own = self._resource.dtype
        if isinstance(value, Tensor | Variable):
            return value.dtype is own
        # TensorFlow converts values to float dtypes, but not floats to integers.
        return type(value) is int or own.is_floating or own.is_complex

    def _fitting(self, value: Any) -> Any:
        return value if self._fits(value) else casting.cast(value, self._resource.dtype)

    @property
    def trainable(self) -> bool:
        """Whether training changes it. Tapes watch it according to its creation."""
        return self._trainable if self._is_trained is None else self._is_trained

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._is_trained = bool(value)

    @property
    def overwrite_with_gradient(self) -> bool:
        """Whether an optimizer assigns the gradient instead of applying a step."""
        return self._is_overwritten

    @overwrite_with_gradient.setter
    def overwrite_with_gradient(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise TypeError(
                f"Variable {self.path!r}: `overwrite_with_gradient` must be a boolean. Received: "
                f"{value!r}"
            )
        self._is_overwritten = value

    @property
    def regularizer(self) -> Any:
        """The regularizer, which adds a penalty on its value, or None."""
        return self._regularizer

    @regularizer.setter
    def regularizer(self, function: Any) -> None:
        self._regularizer = self._function("regularizer", function)

    @property
    def constraint(self) -> Callable[[Tensor], Tensor] | None:
        """The function that an optimizer applies to the value after each step."""
        return self._constraint

    @constraint.setter
    def constraint(self, function: Callable[[Tensor], Tensor] | None) -> None:
        self._constraint = self._function("constraint", function)

    def _function(self, name: str, value: Any) -> Any:
        if value is not None and not callable(value):
            raise ValueError(
                f"Variable {self.path!r}: Invalid value for attribute `{name}`: it must be a "
                f"function or None, got {value!r}"
            )
        return value

    def __repr__(self) -> str:
        resource = self._resource
        value = str(resource.read()) if resource.is_initialized else "<uninitialized>"
        return (
            f"<Variable path={self.path}, shape={tuple(self.shape)}, dtype={self.dtype.name}, "
            f"value={value}>"
        )
