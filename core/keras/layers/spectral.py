"""SpectralNormalization: divides a kernel by its largest singular value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.framework.context import state
from pinnace.keras.initializers import TruncatedNormal
from pinnace.keras.layers.wrapper import Wrapper
from pinnace.ops.array import casting, constants, identities, reshaping, selecting
from pinnace.ops.math import arithmetic, comparison, exponents, products, reduction

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor
    from pinnace.keras.layer import Layer, LayerOptions


class SpectralNormalization(Wrapper):
    """The wrapped layer; training divides its kernel by the kernel's largest singular value.

    Args:
        layer: has a `kernel`, or `embeddings`.
        power_iterations: steps that find the singular value.
        **options: see Layer.

    Shapes:
        x → as the layer inside gives it.

    Source:
        Miyato et al. 2018; Keras `SpectralNormalization`.
    """

    def __init__(
        self, layer: Layer, power_iterations: int = 1, **options: Unpack[LayerOptions]
    ) -> None:
        super().__init__(layer, **options)
        if power_iterations <= 0:
            raise ValueError(
                "SpectralNormalization: `power_iterations` should be greater than zero. "
                f"Got {power_iterations}"
            )
        self.power_iterations = power_iterations

    def build(self, input_shape: Any = None) -> None:
        """Create the wrapped layer's weights, and the vector for the power iteration."""
        super().build(input_shape)
        # Keras: it is also among this layer's weights.
        self.kernel = kernel = self._kernel()
        self.vector_u = self.add_weight(
            "vector_u",
            (1, kernel.shape[-1]),
            TruncatedNormal(stddev=0.02),
            dtype=kernel.dtype,
            trainable=False,
        )

    def _kernel(self) -> Any:
        for name in ("kernel", "embeddings"):
            if hasattr(self.layer, name):
                return getattr(self.layer, name)
        raise ValueError(
            f"{self._described()}: {type(self.layer).__name__!r} object has no attribute 'kernel' "
            "nor 'embeddings': the layer inside must have one"
        )

    def call(self, x: Any, training: bool = False) -> Any:
        """The wrapped layer's output."""
        if training:
            # The variables change in the dtype that they have, not in the one of mixed precision.
            reads, state.autocast = state.autocast, None
            try:
                self._normalise()
            finally:
                state.autocast = reads
        y = self.layer(x)
        return casting.cast(y, x.dtype) if x.dtype.is_floating else y

    def _normalise(self) -> None:
        variable = self.kernel
        kernel = variable.value()
        weights = reshaping.reshape(kernel, [-1, kernel.shape[-1]])
        u = before = self.vector_u.value()
        for _ in range(self.power_iterations):
            v = _unit(products.matmul(u, weights, transpose_b=True))
            u = _unit(products.matmul(v, weights))
        u, v = identities.stop_gradient(u), identities.stop_gradient(v)
        sigma = reduction.reduce_sum(
            products.matmul(products.matmul(v, weights), u, transpose_b=True)
        )
        # A kernel of zeros has no direction, and stays.
        empty = reduction.reduce_all(comparison.equal(kernel, 0.0))
        divisor = selecting.where(empty, constants.ones_like(sigma), sigma)
        self.vector_u.assign(selecting.where(empty, before, u))
        variable.assign(kernel / divisor)

    def get_config(self) -> dict[str, Any]:
        """See Layer."""
        return {**super().get_config(), "power_iterations": self.power_iterations}


def _unit(x: Tensor) -> Tensor:
    size = exponents.sqrt(reduction.reduce_sum(arithmetic.square(x)))
    return x / arithmetic.maximum(size, 1e-7)
