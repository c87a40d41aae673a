"""Attention: values averaged with weights from the similarity of keys and a query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.framework import dtypes
from pinnace.keras.layer import Layer, LayerOptions
from pinnace.keras.layers.attention_masks import causal
from pinnace.keras.seeds import SeedGenerator
from pinnace.ops.array import casting, reshaping, selecting
from pinnace.ops.math import arithmetic, logic, products, reduction, trigonometry
from pinnace.ops.nn import softmaxes
from pinnace.ops.nn.dropouts import stateless_dropout

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


class Attention(Layer):
    """softmax(query @ keyᵀ) @ value, called on [query, value] or [query, value, key].

    Args:
        use_scale: whether the scores are multiplied by a weight.
        score_mode: `dot`, or `concat` for sums of tanh(query + key).
        dropout: share of the scores that training drops.
        seed: seed of the dropout.
        **options: see Layer.

    Call:
        (inputs, mask=None, training=False, return_attention_scores=False, use_causal_mask=False);
        `mask` is [query_mask, value_mask]; a step sees none after it with `use_causal_mask`.

    Shapes:
        query [b, t, d], value [b, s, e], key [b, s, d] → [b, t, e], and scores [b, t, s].

    Source:
        Luong et al. 2015; Keras `Attention`.
    """

    _takes_floats = True

    def __init__(
        self,
        use_scale: bool = False,
        score_mode: str = "dot",
        dropout: float = 0.0,
        seed: int | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        if score_mode not in {"dot", "concat"}:
            raise ValueError(
                f"{type(self).__name__}: Invalid value for argument score_mode. "
                f"Expected one of {{'dot', 'concat'}}, got {score_mode!r}"
            )
        self.use_scale = use_scale
        self.score_mode = score_mode
        self.dropout = dropout
        self.seed = seed
        if dropout > 0:
            self.seed_generator = SeedGenerator(seed)

    def build(self, input_shape: Any) -> None:
        """Create the weights of the scores."""
        self._check(input_shape)
        self.scale = self.add_weight("scale", (), "ones") if self.use_scale else None
        self.concat_score_weight = None
        if self.score_mode == "concat":
            self.concat_score_weight = self.add_weight("concat_score_weight", (), "ones")

    def _check(self, given: Any, mask: Any = None) -> None:
        who, forms = self._described(), "[query, value] or [query, value, key]"
        if not isinstance(given, (list, tuple)):
            raise ValueError(  # noqa: TRY004 (Keras raises it too)
                f"{who}: it must be called on a list, {forms}"
            )
        if not 2 <= len(given) <= 3:
            raise ValueError(
                f"{who}: its inputs must be a list of length 2 or 3, {forms}, got {len(given)}"
            )
        if mask is None:
            return
        if not isinstance(mask, (list, tuple)):
            raise ValueError(  # noqa: TRY004 (Keras raises it too)
                f"{who}: the layer mask must be a list, as the inputs are"
            )
        if not 2 <= len(mask) <= 3:
            raise ValueError(
                f"{who}: its mask must be a list of length 2 or 3, one for each input, "
                f"got {len(mask)}"
            )

    def _scores(self, query: Tensor, key: Tensor) -> Tensor:
        if self.score_mode == "dot":
            scores = products.matmul(query, key, transpose_b=True)
            return scores if self.scale is None else arithmetic.multiply(scores, self.scale)
        total = reshaping.expand_dims(query, -2) + reshaping.expand_dims(key, -3)
        if self.scale is not None:
            total = arithmetic.multiply(total, self.scale)
        sums = reduction.reduce_sum(trigonometry.tanh(total), -1)
        return sums * self.concat_score_weight  # type: ignore[operator]  # this mode has it

    def call(
        self,
        inputs: Any,
        mask: Any = None,
        training: bool = False,
        return_attention_scores: bool = False,
        use_causal_mask: bool = False,
    ) -> Any:
        """The averaged values, and the scores if requested."""
        self._check(inputs, mask)
        query, value = inputs[0], inputs[1]
        key = inputs[2] if len(inputs) > 2 else value
        query_mask, value_mask = (mask[0], mask[1]) if mask is not None else (None, None)
        scores = self._scores(query, key)
        seen = None if value_mask is None else reshaping.expand_dims(value_mask, -2)
        if use_causal_mask:
            before = causal(scores, -2, -1)
            seen = before if seen is None else logic.logical_and(seen, before)
        if seen is not None:
            low = 65504.0 if scores.dtype is dtypes.float16 else 1e9
            scores = selecting.where(seen, scores, scores - casting.cast(low, scores.dtype))
        weights = softmaxes.softmax(scores)
        if training and self.dropout > 0:
            weights = stateless_dropout(weights, self.dropout, self.seed_generator.next())
        result = products.matmul(weights, value)
        if query_mask is not None:
            counts = reshaping.expand_dims(casting.cast(query_mask, result.dtype), -1)
            result = arithmetic.multiply(result, counts)
        return (result, weights) if return_attention_scores else result

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the query."""
        del inputs
        return None if mask is None else mask[0]


class AdditiveAttention(Attention):
    """softmax(Σ scale tanh(query + key)) @ value, called on [query, value] or with a key.

    Args:
        use_scale: whether the sum is weighted, by glorot_uniform at first.
        dropout: share of the scores that training drops.
        **options: `seed`; see Layer. See Attention for the call.

    Shapes:
        query [b, t, d], value [b, s, e], key [b, s, d] → [b, t, e], and scores [b, t, s].

    Source:
        Bahdanau et al. 2015; Keras `AdditiveAttention`.
    """

    def __init__(self, use_scale: bool = True, dropout: float = 0.0, **options: Any) -> None:
        super().__init__(use_scale=use_scale, dropout=dropout, **options)

    def build(self, input_shape: Any) -> None:
        """Create the weights of the scores."""
        self._check(input_shape)
        size = input_shape[0][-1]
        self.scale = self.add_weight("scale", [size], "glorot_uniform") if self.use_scale else None

    def _scores(self, query: Tensor, key: Tensor) -> Tensor:
        total = reshaping.expand_dims(query, -2) + reshaping.expand_dims(key, -3)
        bent = trigonometry.tanh(total)
        if self.scale is not None:
            bent = arithmetic.multiply(bent, self.scale)
        return reduction.reduce_sum(bent, -1)
