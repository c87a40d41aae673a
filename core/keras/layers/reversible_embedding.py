"""ReversibleEmbedding: a vector per number, and scores of the numbers per vector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.keras import constraints, initializers, ops, regularizers
from pinnace.keras.layers.embedding import Embedding

if TYPE_CHECKING:
    from pinnace.framework.specs import TensorSpec
    from pinnace.framework.tensor import Tensor
    from pinnace.keras.layer import LayerOptions


class ReversibleEmbedding(Embedding):
    """As `Embedding`; called with `reverse=True`: [..., output_dim] → scores [..., input_dim].

    Args:
        input_dim: number of rows of the table.
        output_dim: size of a row.
        tie_weights: whether both directions share the table; else there is another one.
        embeddings_initializer: first value of the tables.
        embeddings_regularizer: penalty of the table.
        embeddings_constraint: what the table is brought back to after a step.
        mask_zero: whether 0 stands for no value, and layers that follow skip it.
        reverse_dtype: what scores are computed in; the layer's if None.
        logit_soft_cap: c makes scores s into c tanh(s / c).
        **options: see Layer.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        tie_weights: bool = True,
        embeddings_initializer: initializers.InitializerLike = "uniform",
        embeddings_regularizer: regularizers.RegularizerLike = None,
        embeddings_constraint: constraints.ConstraintLike = None,
        mask_zero: bool = False,
        reverse_dtype: str | None = None,
        logit_soft_cap: float | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(
            input_dim,
            output_dim,
            embeddings_initializer,
            embeddings_regularizer,
            embeddings_constraint,
            mask_zero,
            **options,
        )
        self.tie_weights = tie_weights
        self.reverse_dtype = reverse_dtype
        self.logit_soft_cap = logit_soft_cap

    def build(self, x: TensorSpec | None = None) -> None:
        """Make the tables."""
        super().build(x)
        if not self.tie_weights:
            shape = [self.output_dim, self.input_dim]
            self.reverse_embeddings = self.add_weight(
                "reverse_embeddings", shape, self.embeddings_initializer
            )

    def call(self, x: Tensor, reverse: bool = False) -> Tensor:
        """The rows, or the scores."""
        if not reverse:
            return super().call(x)
        kind = self.reverse_dtype or self.compute_dtype
        if self.tie_weights:
            table = ops.transpose(ops.cast(self.embeddings, kind))
        else:
            table = ops.cast(self.reverse_embeddings, kind)
        scores = ops.matmul(ops.cast(x, kind), table)
        if self.logit_soft_cap is None:
            return scores
        return ops.tanh(scores / self.logit_soft_cap) * self.logit_soft_cap

    def compute_mask(self, inputs: Tensor, previous_mask: Any = None) -> Tensor | None:
        """Where the number is not 0, if 0 stands for none; vectors have no mask."""
        return super().compute_mask(inputs, previous_mask) if inputs.dtype.is_integer else None
