"""Dense: a matrix product, a bias, an activation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from pinnace.keras import activations, constraints, initializers, regularizers
from pinnace.keras.input_spec import InputSpec
from pinnace.keras.layers import composite_inputs, quantized
from pinnace.keras.layers.adapted import Adapted
from pinnace.keras.layers.products import ProductLayer
from pinnace.ops.array import permutations
from pinnace.ops.math import products
from pinnace.ops.nn import biases

if TYPE_CHECKING:
    from pinnace.framework.specs import TensorSpec
    from pinnace.framework.tensor import Tensor
    from pinnace.keras.layer import Layer, PlainLayerOptions


class Dense(ProductLayer):
    """activation(x @ kernel + bias).

    Args:
        units: size of the last output axis, at least 1.
        activation: name or function; None applies nothing.
        use_bias: whether there is a bias.
        kernel_initializer: first value of the kernel.
        bias_initializer: first value of the bias.
        kernel_regularizer: penalty of the kernel.
        bias_regularizer: penalty of the bias.
        activity_regularizer: penalty of the output.
        kernel_constraint: constraint applied to the kernel after each step.
        bias_constraint: constraint applied to the bias after each step.
        lora_rank: see `enable_lora`; no adapter if None.
        lora_alpha: likewise.
        quantization_config: how it is quantized if its policy says that it is.
        **options: see Layer.

    Shapes:
        x [..., in] → [..., units]; kernel [in, units]; bias [units].

    Source:
        Keras `Dense`; weight names and their order are those of its SavedModels.
    """

    _takes_floats = True

    kernel = Adapted()

    def __init__(
        self,
        units: int,
        activation: activations.ActivationLike = None,
        use_bias: bool = True,
        kernel_initializer: initializers.InitializerLike = "glorot_uniform",
        bias_initializer: initializers.InitializerLike = "zeros",
        kernel_regularizer: regularizers.RegularizerLike = None,
        bias_regularizer: regularizers.RegularizerLike = None,
        activity_regularizer: regularizers.RegularizerLike = None,
        kernel_constraint: constraints.ConstraintLike = None,
        bias_constraint: constraints.ConstraintLike = None,
        lora_rank: int | None = None,
        lora_alpha: float | None = None,
        quantization_config: Any = None,
        **options: Unpack[PlainLayerOptions],
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **options)
        self._set_adapters(lora_rank, lora_alpha, quantization_config)
        self.units = whole_units("Dense", units)
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.bias_constraint = constraints.get(bias_constraint)
        self.input_spec = InputSpec(min_ndim=2)
        self.supports_masking = True

    def build(self, x: TensorSpec) -> None:
        """Create kernel and bias."""
        size = last_axis(self, x)
        self._make_main((size, self.units), self.kernel_initializer)
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                [self.units],
                self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        self.input_spec = InputSpec(min_ndim=2, axes={-1: size})
        self._make_adapter()

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        """activation(inputs @ kernel + bias)."""
        del training
        y = self._product(inputs, self.kernel)
        if self.bias is not None:
            y = biases.bias_add(y, self.bias)
        return y if self.activation is None else self.activation(y)

    # Required by ProductLayer and AdaptableLayer.

    def _product(self, x: Any, kernel: Any) -> Tensor:
        if composite_inputs.holds_sparse(x):
            return composite_inputs.product(x, kernel)
        rank = x.shape.rank
        if rank is not None and rank > 2:
            # One large product instead of one per leading index.
            return products.tensordot(x, kernel, [[rank - 1], [0]])
        return products.matmul(x, kernel)

    def _product_backward(self, dy: Any, kernel: Any) -> Tensor:
        return self._product(dy, permutations.transpose(kernel))

    def _input_axes(self, x: Any) -> tuple[int, ...]:
        del x
        return (-1,)

    def _form(self, shape: tuple[int, ...]) -> quantized.Form:
        return quantized.Form(shape, axes=(0,), scale_shape=(shape[1],), order=(0, 1))


def whole_units(who: str, units: Any) -> int:
    """The number of units.

    Raises:
        ValueError: no integer, or none of at least 1.
    """
    whole = isinstance(units, (int, float, np.number)) and not isinstance(units, bool)
    if not whole or int(units) != units or units < 1:
        raise ValueError(f"{who}: units must be a positive integer, got {units!r}")
    return int(units)


def last_axis(layer: Layer, x: TensorSpec) -> int:
    """The size of the last axis of a layer's input.

    Raises:
        ValueError: the size is unknown.
    """
    try:
        return x.axis_size(-1)
    except ValueError as error:
        raise ValueError(f"{layer._described()}: {error}") from None
