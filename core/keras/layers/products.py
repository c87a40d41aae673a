"""ProductLayer: a layer that multiplies by a float or quantized kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras import ops
from pinnace.keras.layers import quantized
from pinnace.keras.layers.adapted import AdaptableLayer

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


class ProductLayer(AdaptableLayer):
    """activation(a product of inputs and kernel + bias), the base of Dense and EinsumDense."""

    activation: Any
    bias: Any

    # Defined by each kind of product.

    def _product(self, x: Any, kernel: Any) -> Tensor:
        raise NotImplementedError

    def _product_backward(self, dy: Any, kernel: Any) -> Tensor:
        """The gradient by the inputs."""
        raise NotImplementedError

    def _input_axes(self, x: Any) -> tuple[int, ...]:
        """The axes of the inputs that are summed over."""
        raise NotImplementedError

    def _beside_outputs(self, scale: Any) -> Any:
        """A scale of the inputs, with size 1 for summed axes, in the order of the outputs' axes."""
        return scale

    def quantized_call(self, inputs: Any, training: bool | None = None) -> Any:
        """`call` with a quantized kernel.

        Args:
            inputs: inputs of `call`.
            training: likewise.
        """
        del training
        y = self._quantized_product(inputs)
        if self.lora_enabled:
            added = ops.multiply(self._adapter_factor, self._adapter_product(inputs))
            y = ops.cast(ops.add(y, added), self.compute_dtype)
        if self.bias is not None:
            y = ops.add(y, self.bias)
        return y if self.activation is None else self.activation(y)

    def _adapter_product(self, x: Any) -> Any:
        """The inputs times the adapter's two factors, one after the other."""
        first, second = (getattr(self, name) for name in self._adapter_names)
        return ops.matmul(self._product(x, ops.convert_to_tensor(first)), second)

    def _quantized_product(self, x: Any) -> Tensor:
        """The product; the gradient is that of the dequantized kernel."""
        stored, dtype = self._stored, self.compute_dtype
        if stored is None:
            raise NotImplementedError(
                f"{type(self).__name__}: dtype policies of mode {self.quantization_mode!r} are not "
                "computed with here\n  Try: 'int8' or 'int4'"
            )
        parts = {name: ops.convert_to_tensor(part) for name, part in self._parts().items()}
        terms = 1
        for axis in stored.form.axes:
            terms *= stored.shape[axis]

        def value(inputs: Any) -> Tensor:
            scale: Any = None
            if stored.inputs is not None:
                inputs, scale = stored.inputs(inputs, axis=self._input_axes(inputs))
                scale = self._beside_outputs(scale)
            if stored.mode == "int4":
                kernel = stored.floats(parts, dtype)
                y = self._product(ops.cast(inputs, dtype), kernel)
                return y if scale is None else ops.divide(y, scale)
            by = parts["scale"] if scale is None else ops.multiply(scale, parts["scale"])
            if scale is None:
                y = self._product(inputs, ops.cast(parts["main"], dtype))
            else:
                y = quantized.exact_product(self._product, inputs, parts["main"], terms, dtype)
            return ops.divide(y, by)

        def backward(dy: Any) -> Tensor:
            return self._product_backward(dy, stored.floats(parts, dtype))

        return quantized.with_gradient(x, value, backward)
