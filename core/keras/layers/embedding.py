"""Embedding: a vector per number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.framework import dtypes
from pinnace.keras import constraints, initializers, regularizers
from pinnace.keras.layer import Layer, LayerOptions
from pinnace.keras.layers.composite_inputs import densified
from pinnace.ops.array import casting, gathering
from pinnace.ops.math import comparison

if TYPE_CHECKING:
    from pinnace.framework.specs import TensorSpec
    from pinnace.framework.tensor import Tensor


class Embedding(Layer):
    """Row x of a table: [...] → [..., output_dim].

    Args:
        input_dim: number of rows.
        output_dim: size of a row.
        embeddings_initializer: first value of the table.
        embeddings_regularizer: penalty of the table.
        embeddings_constraint: what the table is brought back to after a step.
        mask_zero: whether 0 stands for no value, and layers that follow skip it.
        weights: values of the table.
        **options: see Layer.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: initializers.InitializerLike = "uniform",
        embeddings_regularizer: regularizers.RegularizerLike = None,
        embeddings_constraint: constraints.ConstraintLike = None,
        mask_zero: bool = False,
        weights: Any = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        input_length = options.pop("input_length", None)  # type: ignore[typeddict-item]  # older programs
        super().__init__(**options)
        if input_length is not None and self._given_input_shape is None:
            self.input_length = input_length
        if input_dim < 1 or output_dim < 1:
            raise ValueError(
                f"Embedding: input_dim and output_dim must be at least 1, "
                f"got {input_dim} and {output_dim}"
            )
        self.input_dim = input_dim
        self.output_dim = output_dim
        self.embeddings_initializer = initializers.get(embeddings_initializer)
        self.embeddings_regularizer = regularizers.get(embeddings_regularizer)
        self.embeddings_constraint = constraints.get(embeddings_constraint)
        self.mask_zero = mask_zero
        self.supports_masking = mask_zero
        # Indices are no numbers to compute with: they are not cast.
        self._autocast = False
        if weights is not None:
            self.build(None)
            self.set_weights(weights if isinstance(weights, list) else [weights])

    def build(self, x: TensorSpec | None) -> None:
        """Make the table."""
        del x
        self.embeddings = self.add_weight(
            "embeddings",
            [self.input_dim, self.output_dim],
            self.embeddings_initializer,
            regularizer=self.embeddings_regularizer,
            constraint=self.embeddings_constraint,
        )

    def call(self, x: Tensor) -> Tensor:
        """The rows; what a sparse tensor leaves out is number 0."""
        x = densified(x)
        if x.dtype not in {dtypes.int32, dtypes.int64}:
            x = casting.cast(x, dtypes.int32)
        return gathering.gather(self.embeddings, x, axis=0)

    def compute_mask(self, inputs: Tensor, previous_mask: Any = None) -> Tensor | None:
        """Where the number is not 0, if 0 stands for none."""
        del previous_mask
        return comparison.not_equal(densified(inputs), 0) if self.mask_zero else None
