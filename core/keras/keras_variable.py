"""KerasVariable: what layers, metrics, optimizers and `keras.Variable` keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Tensor


class KerasVariable(Variable):
    """A variable with the names of Keras 3, and with its `value` as a property.

    Keras 3 wraps a `tf.Variable`, and gives that by `value`; here it is one itself, so that both
    ways of writing work: `value.numpy()`, and `value()` of programs that know `tf.Variable`s.

    Attributes:
        overwrite_with_gradient: whether an optimizer puts the gradient in the place of the value.
        regularizer: what adds a penalty for its value, or None.
    """

    overwrite_with_gradient = False
    regularizer: Any = None

    @property
    def name(self) -> str:
        """The last part of `path`."""
        return self._name.rpartition("/")[2]

    @property
    def path(self) -> str:
        """Its name below those of the layers it is in, parted by slashes."""
        return self._name

    @property
    def value(self) -> KerasVariable:
        """The variable itself, which is its present value wherever it is used."""
        return self

    def __call__(self) -> Tensor:
        """The present value."""
        return self.read_value()

    @property
    def constraint(self) -> Callable[[Tensor], Tensor] | None:
        """The function that an optimizer applies to the value after each step."""
        return self._constraint

    @constraint.setter
    def constraint(self, function: Callable[[Tensor], Tensor] | None) -> None:
        if function is not None and not callable(function):
            raise ValueError(
                f"Variable {self.path!r}: constraint must be a function or None: Invalid value "
                f"for attribute `constraint`, got {function!r}"
            )
        self._constraint = function

    def __repr__(self) -> str:
        resource = self._resource
        value = str(resource.read()) if resource.is_initialized else "<uninitialized>"
        return (
            f"<Variable path={self.path}, shape={tuple(self.shape)}, dtype={self.dtype.name}, "
            f"value={value}>"
        )
