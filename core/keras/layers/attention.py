"""Attention: values averaged with weights from the similarity of keys and a query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.framework import dtypes
from pinnace.framework.no_effect import no_effect
from pinnace.keras import constraints, initializers, masks, regularizers
from pinnace.keras.layer import Layer, LayerOptions, PlainLayerOptions
from pinnace.keras.layers.activation import Softmax
from pinnace.keras.layers.attention_masks import (
    both,
    causal,
    causal_between,
    check_window,
    joined_masks,
    near_between,
    zero_where_none,
)
from pinnace.keras.layers.attention_members import AttentionMembers, equations, of_same_kind
from pinnace.keras.layers.dropout import Dropout
from pinnace.keras.layers.einsum_dense import EinsumDense
from pinnace.keras.seeds import SeedGenerator
from pinnace.ops.array import casting, reshaping, selecting
from pinnace.ops.math import (
    arithmetic,
    einstein,
    logic,
    products,
    reduction,
    trigonometry,
)
from pinnace.ops.nn import softmaxes
from pinnace.ops.nn.dropouts import stateless_dropout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Tensor


class Attention(Layer):
    """softmax(query @ keyᵀ) @ value, called on [query, value] or [query, value, key].

    Args:
        use_scale: whether the scores are multiplied by a weight.
        score_mode: `dot`, or `concat` for sums of tanh(query + key).
        dropout: share of the scores that training drops.
        seed: of the dropout.
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


class MultiHeadAttention(AttentionMembers, Layer):
    """Several attentions over projections of query, value and key, and a projection of them all.

    Args:
        num_heads: number of attentions.
        key_dim: size of a projected query and key.
        value_dim: size of a projected value; key_dim if None.
        dropout: share of the scores that training drops.
        use_bias: whether the projections have biases.
        output_shape: size or sizes of the output; the query's if None.
        attention_axes: axes that steps are along; all but the first and the last if None.
        sliding_window: steps this far apart, or farther, do not see each other; None sets no bound.
        flash_attention: True without effect, and told so.
        kernel_initializer: first value of the kernels.
        bias_initializer: first value of the biases.
        kernel_regularizer: penalty of the kernels.
        bias_regularizer: penalty of the biases.
        activity_regularizer: penalty of the output.
        kernel_constraint: what the kernels are brought back to after a step.
        bias_constraint: what the biases are brought back to after a step.
        use_gate: whether what a head gives is multiplied by a gate, sigmoid of a projection of the
            query, before the last projection.
        seed: of the dropout.
        **options: see Layer.

    Call:
        (query, value, key=None, query_mask=None, value_mask=None, key_mask=None,
        attention_mask=None, return_attention_scores=False, training=None, use_causal_mask=False);
        the masks that the tensors carry are found; attention_mask is [b, t, s].

    Shapes:
        query [b, t, d], value [b, s, e], key [b, s, f] → [b, t, d], and scores [b, heads, t, s].

    Source:
        Vaswani et al. 2017; Keras `MultiHeadAttention`.
    """

    _untracked = frozenset({"output_shape"})

    _takes_floats = True

    def __init__(
        self,
        num_heads: int,
        key_dim: int,
        value_dim: int | None = None,
        dropout: float = 0.0,
        use_bias: bool = True,
        output_shape: int | Sequence[int] | None = None,
        attention_axes: int | Sequence[int] | None = None,
        sliding_window: int | None = None,
        flash_attention: bool | None = None,
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
        sizes = {"num_heads": num_heads, "key_dim": key_dim, "value_dim": value_dim}
        for name, value in sizes.items():
            missing = name == "value_dim" and value is None
            if not missing and (not isinstance(value, int) or value < 1):
                raise ValueError(
                    f"MultiHeadAttention: argument `{name}` must be an integer of at least 1, "
                    f"got {value!r}"
                )
        if output_shape is not None and not isinstance(output_shape, (int, list, tuple)):
            raise ValueError(
                "MultiHeadAttention: Invalid `output_shape`: it must be an integer or a list of "
                f"them, got {output_shape!r}"
            )
        check_window("MultiHeadAttention", sliding_window)
        if flash_attention:
            no_effect("MultiHeadAttention", "flash_attention", "it runs on the processor")
        self.num_heads = num_heads
        self.key_dim = key_dim
        self.value_dim = key_dim if value_dim is None else value_dim
        self.dropout = dropout
        self.use_bias = use_bias
        if isinstance(output_shape, int):
            output_shape = [output_shape]
        self.output_shape = None if output_shape is None else list(output_shape)
        if isinstance(attention_axes, int):
            attention_axes = [attention_axes]
        self.attention_axes = None if attention_axes is None else list(attention_axes)
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.bias_constraint = constraints.get(bias_constraint)
        self.sliding_window = sliding_window
        self.flash_attention = flash_attention
        self.use_gate = use_gate
        self.seed = seed
        self.supports_masking = True

    # Building it.

    def build(self, query_shape: Any, value_shape: Any, key_shape: Any = None) -> None:  # type: ignore[override]  # as `call`
        """Create the projections."""
        key_shape = value_shape if key_shape is None else key_shape
        if tuple(value_shape[1:-1]) != tuple(key_shape[1:-1]):
            raise ValueError(
                f"{self._described()}: all sizes of value and key but the first and the last must "
                f"be equal, got {value_shape.text} and {key_shape.text}"
            )
        heads = [self.num_heads, self.key_dim]
        self._query_dense = self._projection("query", query_shape, 1, heads)
        self._key_dense = self._projection("key", key_shape, 1, heads)
        values = [self.num_heads, self.value_dim]
        self._gate_dense = None
        if self.use_gate:
            self._gate_dense = self._projection("gate", query_shape, 1, values)
        self._value_dense = self._projection("value", value_shape, 1, values)
        self._build_attention(len(query_shape) + 1)
        between = type(query_shape)((*query_shape[:-1], self.num_heads, self.value_dim))
        sizes = self.output_shape or [query_shape[-1]]
        self._output_dense = self._projection("attention_output", between, 2, sizes)

    def _build_attention(self, rank: int) -> None:
        """Create the layers between the projections, for queries of this rank, including heads."""
        rank, axes = rank - 1, self.attention_axes
        steps = tuple(range(1, rank - 1)) if axes is None else tuple(a % rank for a in axes)
        self._attention_axes = steps
        self._softmax = Softmax(axis=list(range(-len(steps), 0)), dtype=self.dtype_policy)
        self._dropout_layer = Dropout(self.dropout, seed=self.seed, dtype=self.dtype_policy)
        self._dot_product_equation, self._combine_equation = equations(rank, steps)

    def _projection(
        self, name: str, shape: Shape, folded: int, sizes: Sequence[int]
    ) -> EinsumDense:
        """A product over the last axes of an input."""
        free = len(shape) - folded
        letters = "abcdefghijklmnopqrstuvwxyz"
        front, inner = letters[:free], letters[free : free + folded]
        outer = letters[free + folded : free + folded + len(sizes)]
        equation = f"{front}{inner},{inner}{outer}->{front}{outer}"
        return projection_of(self, name, equation, [*[None] * (free - 1), *sizes], outer, shape)

    # Running it.

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
        may_see_none = seen is not None or self.sliding_window is not None
        if use_causal_mask:
            seen = both(seen, causal_between(query, value))
        if self.sliding_window is not None:
            seen = both(seen, near_between(query, value, self.sliding_window))
        between = self._query_dense(query), self._key_dense(key), self._value_dense(value)
        scores: Tensor | None
        if type(self)._compute_attention is MultiHeadAttention._compute_attention:
            # A query sees itself, or the first key: only other masks may leave it none.
            how = (may_see_none, training, return_attention_scores)
            joined, scores = self._attend(*between, seen, *how)
        else:
            joined, scores = self._compute_attention(
                *between, seen, training, return_attention_scores
            )
        if self._gate_dense is not None:
            joined = arithmetic.multiply(joined, self._gate_dense(query))
        result = self._output_dense(joined)
        masks.attach(result, query_mask)
        return (result, scores) if return_attention_scores else result

    def _compute_attention(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Any = None,
        training: bool | None = None,
        return_attention_scores: bool = False,
        use_causal_mask: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """The attentions of projections, and the scores: what classes below this one replace.

        Args:
            query: [batch, steps..., heads, key_dim], as `key`; `value` may have another last size.
            key: what queries are compared with.
            value: what is averaged.
            attention_mask: [batch, steps of queries..., steps of keys...], or with heads; or None.
            training: whether scores are dropped.
            return_attention_scores: whether the scores are wanted.
            use_causal_mask: whether a query sees no step after it.
        """
        if attention_mask is not None:
            attention_mask = casting.cast(attention_mask, "bool")
        hides = attention_mask is not None
        if use_causal_mask:
            attention_mask = both(attention_mask, causal_between(query, value))
        return self._attend(
            query, key, value, attention_mask, hides, training, return_attention_scores
        )

    def _attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        seen: Any,
        may_see_none: bool,
        training: bool | None,
        wants_scores: bool,
    ) -> tuple[Tensor, Tensor]:
        scaled = query * self._inverse_sqrt_key_dim
        scores = einstein.einsum(self._dot_product_equation, key, scaled)
        rank = scores.shape.rank or 4
        # The result for a fully masked query depends on the implementation in Keras: the mean of
        # all values, or 0.
        zeros = may_see_none and (wants_scores or self.dropout > 0 or rank != 4)
        if seen is not None:
            seen = self._for_scores(seen, rank)
        if seen is None or (zeros and wants_scores):
            scores = self._softmax(scores, mask=seen)
        else:
            # Attention in this form is one pass of the engine, and one operator of ONNX.
            scores = self._softmax.shares_where(scores, seen)
        kept = self._dropout_layer(scores, training=training)
        joined = einstein.einsum(self._combine_equation, kept, value)
        if zeros and not wants_scores:
            joined = zero_where_none(joined, seen, len(self._attention_axes))
        return joined, scores

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """The mask of the query; the scores have none."""
        del inputs
        return previous_mask

    @property
    def query_dense(self) -> EinsumDense:
        """The projection of the query."""
        return self._query_dense

    @property
    def key_dense(self) -> EinsumDense:
        """The projection of the key."""
        return self._key_dense

    @property
    def value_dense(self) -> EinsumDense:
        """The projection of the value."""
        return self._value_dense

    @property
    def output_dense(self) -> EinsumDense:
        """The projection of the attentions."""
        return self._output_dense


def projection_of(
    layer: Any, name: str, equation: str, sizes: Sequence[Any], bias_axes: str, shape: Any
) -> EinsumDense:
    """A built projection of an attention layer, with the layer's kernel and bias options."""
    made = EinsumDense(
        equation,
        sizes,
        bias_axes=bias_axes if layer.use_bias else None,
        kernel_initializer=of_same_kind(layer.kernel_initializer),
        bias_initializer=of_same_kind(layer.bias_initializer),
        kernel_regularizer=layer.kernel_regularizer,
        bias_regularizer=layer.bias_regularizer,
        kernel_constraint=layer.kernel_constraint,
        bias_constraint=layer.bias_constraint,
        activation="sigmoid" if name == "gate" else None,
        dtype=layer.dtype_policy,
        name=name,
    )
    made.build_inside(shape)
    return made
