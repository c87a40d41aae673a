"""Embedding: a vector per index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from pinnace.framework import dtypes
from pinnace.keras import constraints, initializers, ops, regularizers
from pinnace.keras.layers import quantized
from pinnace.keras.layers.adapted import AdaptableLayer, Adapted
from pinnace.keras.layers.composite_inputs import densified
from pinnace.ops.array import casting
from pinnace.ops.math import comparison

if TYPE_CHECKING:
    from pinnace.framework.specs import TensorSpec
    from pinnace.framework.tensor import Tensor
    from pinnace.keras.layer import LayerOptions


class Embedding(AdaptableLayer):
    """Row x of a table: [...] → [..., output_dim].

    Args:
        input_dim: number of rows.
        output_dim: size of a row.
        embeddings_initializer: first value of the table.
        embeddings_regularizer: penalty of the table.
        embeddings_constraint: constraint applied to the table after each step.
        mask_zero: whether 0 is padding, which later layers skip.
        weights: values of the table.
        lora_rank: see `enable_lora`; no adapter if None.
        lora_alpha: likewise.
        quantization_config: how it is quantized if its policy says that it is.
        **options: see Layer.

    Shapes:
        x [...], integers → [..., output_dim]; embeddings [input_dim, output_dim].
    """

    _main = "embeddings"

    embeddings = Adapted()

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: initializers.InitializerLike = "uniform",
        embeddings_regularizer: regularizers.RegularizerLike = None,
        embeddings_constraint: constraints.ConstraintLike = None,
        mask_zero: bool = False,
        weights: Any = None,
        lora_rank: int | None = None,
        lora_alpha: float | None = None,
        quantization_config: Any = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        input_length = options.pop("input_length", None)  # type: ignore[typeddict-item]  # older programs
        super().__init__(**options)
        self._set_adapters(lora_rank, lora_alpha, quantization_config)
        if input_length is not None and self._given_input_shape is None:
            self.input_length = input_length
        for name, size in (("input_dim", input_dim), ("output_dim", output_dim)):
            whole = isinstance(size, (int, np.integer)) and not isinstance(size, bool)
            if not whole or size < 1:
                raise ValueError(
                    f"{type(self).__name__}: `{name}` must be a positive integer, got {size!r}"
                )
        self.input_dim = input_dim
        self.output_dim = output_dim
        self.embeddings_initializer = initializers.get(embeddings_initializer)
        self.embeddings_regularizer = regularizers.get(embeddings_regularizer)
        self.embeddings_constraint = constraints.get(embeddings_constraint)
        self.mask_zero = mask_zero
        self.supports_masking = mask_zero
        # Indices are not cast to the compute dtype.
        self._autocast = False
        if weights is not None:
            self.build(None)
            self.set_weights(weights if isinstance(weights, list) else [weights])

    def build(self, x: TensorSpec | None = None) -> None:
        """Create the table."""
        del x
        self._make_main((self.input_dim, self.output_dim), self.embeddings_initializer)
        self._make_adapter()

    def get_build_config(self) -> dict[str, Any] | None:
        """A marker without a shape if the layer is built; None if it is not."""
        return {"input_shape": None} if self.built else None

    def build_from_config(self, config: dict[str, Any]) -> None:
        """Create the table, which depends on no shape.

        Args:
            config: the result of `get_build_config`.
        """
        del config
        self.build(None)

    def call(self, x: Tensor) -> Tensor:
        """The rows of the table; missing elements of a sparse tensor have index 0."""
        rows: Tensor = ops.take(self.embeddings, _whole(x), axis=0)
        return ops.cast(rows, self.compute_dtype)

    def quantized_call(self, x: Tensor) -> Tensor:
        """`call` with a quantized table.

        Args:
            x: [...], numbers of rows.
        """
        stored, dtype, rows = self._stored, self.compute_dtype, _whole(x)
        assert stored is not None  # noqa: S101 (for the type checker: only then)
        parts = self._parts()
        if stored.mode == "int8":
            scale = ops.expand_dims(ops.take(parts["scale"], rows, axis=0), -1)
            y = ops.divide(ops.cast(ops.take(parts["main"], rows, axis=0), dtype), scale)
        else:
            y = ops.take(stored.floats(parts, dtype), rows, axis=0)
        if not self.lora_enabled:
            return y
        first, second = (getattr(self, name) for name in self._adapter_names)
        added = ops.matmul(ops.take(first, rows, axis=0), second)
        return ops.cast(ops.add(y, ops.multiply(self._adapter_factor, added)), dtype)

    def _form(self, shape: tuple[int, ...]) -> quantized.Form:
        return quantized.Form(
            shape, axes=(1,), scale_shape=(shape[0],), order=(0, 1), rows_last=True
        )

    def compute_mask(self, inputs: Tensor, previous_mask: Any = None) -> Tensor | None:
        """The mask that excludes index 0, with `mask_zero`."""
        del previous_mask
        return comparison.not_equal(densified(inputs), 0) if self.mask_zero else None


def _whole(x: Tensor) -> Tensor:
    """Indices as integers; a sparse tensor becomes dense, with zeros for missing elements."""
    x = densified(x)
    return x if x.dtype in {dtypes.int32, dtypes.int64} else casting.cast(x, dtypes.int32)
