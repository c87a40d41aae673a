"""GroupQueryAttention: attention whose heads share keys and values in groups."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Unpack

from pinnace.framework.no_effect import no_effect
from pinnace.keras import constraints, initializers, masks, regularizers
from pinnace.keras.layer import Layer, PlainLayerOptions
from pinnace.keras.layers.activation import Softmax
from pinnace.keras.layers.attention_masks import (
    both,
    causal_between,
    check_window,
    joined_masks,
    near_between,
    zero_where_none,
)
from pinnace.keras.layers.attention_projections import projection_of, projection_options
from pinnace.keras.layers.dropout import Dropout
from pinnace.ops.array import reshaping, tiling
from pinnace.ops.math import arithmetic, einstein

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor
    from pinnace.keras.layers.einsum_dense import EinsumDense


class GroupedQueryAttention(Layer):
    """Attention with `num_query_heads` heads in groups that share a key and a value.

    Args:
        head_dim: size of each head.
        num_query_heads: number of heads; a multiple of the next.
        num_key_value_heads: number of groups.
        dropout: share of the scores that training drops.
        use_bias: whether the projections have a bias.
        sliding_window: steps this far apart, or farther, do not see each other; None sets no bound.
        flash_attention: True has no effect, which a warning says.
        kernel_initializer: first value of the kernels.
        bias_initializer: first value of the biases.
        kernel_regularizer: penalty of the kernels.
        bias_regularizer: penalty of the biases.
        activity_regularizer: penalty of the output of each projection, and of the whole.
        kernel_constraint: constraint applied to a kernel after each step.
        bias_constraint: constraint applied to a bias after each step.
        use_gate: whether what a head gives is multiplied by a gate, sigmoid of a projection of the
            query, before the last projection.
        seed: seed of the dropout.
        **options: see Layer.

    Shapes:
        query [b, t, d], value [b, s, e], key [b, s, f] → [b, t, d], and scores [b, heads, t, s].

    Call:
        As MultiHeadAttention.

    Source:
        Ainslie et al. 2023; Keras `GroupQueryAttention`.
    """

    _takes_floats = True

    # The name that Keras displays; weight files use the name above.
    _shown_as = "GroupQueryAttention"

    def __init__(
        self,
        head_dim: int,
        num_query_heads: int,
        num_key_value_heads: int,
        dropout: float = 0.0,
        use_bias: bool = True,
        sliding_window: int | None = None,
        flash_attention: Any = None,
        kernel_initializer: initializers.InitializerLike = "glorot_uniform",
        bias_initializer: initializers.InitializerLike = "zeros",
        kernel_regularizer: regularizers.RegularizerLike = None,
        bias_regularizer: regularizers.RegularizerLike = None,
        activity_regularizer: regularizers.RegularizerLike = None,
        kernel_constraint: constraints.ConstraintLike = None,
        bias_constraint: constraints.ConstraintLike = None,
        use_gate: bool = False,
        seed: int | None = None,
        **options: Unpack[PlainLayerOptions],
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **options)
        if flash_attention:
            no_effect("GroupQueryAttention", "flash_attention", "it runs on the processor")
        if num_key_value_heads < 1 or num_query_heads % num_key_value_heads:
            raise ValueError(
                "GroupQueryAttention: num_query_heads must be a multiple of num_key_value_heads, "
                f"got {num_query_heads} and {num_key_value_heads}"
            )
        check_window("GroupQueryAttention", sliding_window)
        self.head_dim = head_dim
        self.num_query_heads = num_query_heads
        self.num_key_value_heads = num_key_value_heads
        self.dropout = dropout
        self.use_bias = use_bias
        self.sliding_window = sliding_window
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.bias_constraint = constraints.get(bias_constraint)
        self.flash_attention = flash_attention
        self.use_gate = use_gate
        self.seed = seed
        self.supports_masking = True

    def build(self, query_shape: Any, value_shape: Any, key_shape: Any = None) -> None:  # type: ignore[override]  # as `call`
        """Create the projections."""
        key_shape = value_shape if key_shape is None else key_shape
        heads, groups = self.num_query_heads, self.num_key_value_heads
        self._query_dense = self._projection("query", "abc,cde->abde", query_shape, heads)
        self._key_dense = self._projection("key", "abc,cde->abde", key_shape, groups)
        self._gate_dense = None
        if self.use_gate:
            self._gate_dense = self._projection("gate", "abc,cde->abde", query_shape, heads)
        self._value_dense = self._projection("value", "abc,cde->abde", value_shape, groups)
        self._softmax = Softmax(axis=-1, dtype=self.dtype_policy)
        self._dropout_layer = Dropout(self.dropout, seed=self.seed, dtype=self.dtype_policy)
        between = type(query_shape)((*query_shape[:-1], heads, self.head_dim))
        self._output_dense = self._projection(
            "attention_output", "abcd,cde->abe", between, query_shape[-1]
        )

    def _projection(self, name: str, equation: str, shape: Any, size: Any) -> EinsumDense:
        if name == "attention_output":
            return projection_of(self, name, equation, [None, size], "e", shape)
        return projection_of(self, name, equation, [None, size, self.head_dim], "de", shape)

    def _get_common_kwargs_for_sublayer(self) -> dict[str, Any]:
        """The arguments of all projections: initializers, regularizers and constraints."""
        return projection_options(self)

    def call(
        self,
        query: Tensor,
        value: Tensor,
        key: Tensor | None = None,
        query_mask: Any = None,
        value_mask: Any = None,
        key_mask: Any = None,
        attention_mask: Any = None,
        return_attention_scores: bool = False,
        training: bool | None = None,
        use_causal_mask: bool = False,
    ) -> Any:
        """The projected attention output, and the scores if requested."""
        key = value if key is None else key
        query, value, key = (masks.without_mask(x) for x in (query, value, key))
        seen = joined_masks(attention_mask, query_mask, value_mask, key_mask)
        # A query attends at least to itself, or to the first key, unless other masks exclude all.
        # The result for a fully masked query depends on the implementation in Keras: the mean of
        # all values, or 0.
        zeros = (seen is not None or self.sliding_window is not None) and (
            return_attention_scores or self.dropout > 0
        )
        if use_causal_mask:
            seen = both(seen, causal_between(query, value))
        if self.sliding_window is not None:
            seen = both(seen, near_between(query, value, self.sliding_window))
        repeats = self.num_query_heads // self.num_key_value_heads
        keys = tiling.repeat(self._key_dense(key), repeats, axis=2)
        values = tiling.repeat(self._value_dense(value), repeats, axis=2)
        scaled = self._query_dense(query) * (1.0 / math.sqrt(self.head_dim))
        scores = einstein.einsum("bquh,bkuh->buqk", scaled, keys)
        if seen is not None:
            seen = reshaping.expand_dims(seen, -3)
        if seen is None or (zeros and return_attention_scores):
            scores = self._softmax(scores, mask=seen)
        else:
            # Attention in this form is one pass of the engine, and one operator of ONNX.
            scores = self._softmax.shares_where(scores, seen)
        kept = self._dropout_layer(scores, training=training)
        joined = einstein.einsum("buqk,bkuh->bquh", kept, values)
        if zeros and not return_attention_scores:
            joined = zero_where_none(joined, seen, 1)
        if self._gate_dense is not None:
            joined = arithmetic.multiply(joined, self._gate_dense(query))
        result = self._output_dense(joined)
        masks.attach(result, query_mask)
        return (result, scores) if return_attention_scores else result

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """The mask of the query; the scores have none."""
        del inputs
        return previous_mask


GroupQueryAttention = GroupedQueryAttention
