"""Functions as layers: Lambda, Identity, and the operators of KerasTensors."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Unpack

from pinnace.framework.dispatch import operators
from pinnace.keras import registry, symbolic
from pinnace.keras.layer import Layer, LayerOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Tensor


class Lambda(Layer):
    """function(x, **arguments).

    Args:
        function: takes the inputs first; `training` too if it has such a parameter.
        output_shape: accepted for Keras' sake: shapes are inferred.
        mask: of the output, or a function of inputs and their mask that gives it.
        arguments: further keyword arguments.
        **options: see Layer.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        output_shape: Any = None,
        mask: Any = None,
        arguments: dict[str, Any] | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        self.function = function
        self.output_shape_given = output_shape
        self.mask = mask
        self.arguments = arguments or {}
        parameters = inspect.signature(function).parameters if callable(function) else {}
        self._takes_training = "training" in parameters
        self._takes_mask = "mask" in parameters
        self.supports_masking = True
        self.built = True

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """What `mask` says."""
        return self.mask(inputs, previous_mask) if callable(self.mask) else self.mask

    def call(self, x: Any, mask: Any = None, training: bool | None = None) -> Any:
        """What the function gives."""
        options = dict(self.arguments)
        if self._takes_mask:
            options["mask"] = mask
        if self._takes_training:
            options["training"] = training
        return self.function(x, **options)


class Identity(Layer):
    """The input itself."""

    def __init__(self, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self.supports_masking = True
        self.built = True

    def call(self, x: Any) -> Any:
        """The input itself."""
        return x


class Operator(Layer):
    """An operator of tensors as a layer of a functional model.

    Args:
        operator: name of its slot: `add`, `getitem`, ….
        **options: see Layer.
    """

    def __init__(self, operator: str, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self.operator = operator
        self.built = True

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> None:
        """None: what an operator gives is a plain tensor."""
        del inputs, previous_mask

    def call(self, *arguments: Any) -> Tensor:
        """What the operator gives."""
        return getattr(operators, self.operator)(*arguments)  # type: ignore[no-any-return]


def _operator(operator: str, *arguments: Any) -> Any:
    return Operator(operator, name=None)(*arguments)


symbolic.install_operator(_operator)
registry.register_keras_serializable("pinnace")(Operator)
