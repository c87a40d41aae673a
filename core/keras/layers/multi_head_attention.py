"""MultiHeadAttention: parallel attentions over projections of query, value and key."""

from __future__ import annotations

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
from pinnace.keras.layers.attention_projections import (
    equations,
    projection_of,
    projection_options,
)
from pinnace.keras.layers.dropout import Dropout
from pinnace.ops.array import casting, reshaping
from pinnace.ops.math import arithmetic, einstein

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Tensor
    from pinnace.keras.layers.einsum_dense import EinsumDense


class MultiHeadAttention(Layer):
    """Multi-head attention over projections of query, value and key, with an output projection.

    Args:
        num_heads: number of attentions.
        key_dim: size of a projected query and key.
        value_dim: size of a projected value; key_dim if None.
        dropout: share of the scores that training drops.
        use_bias: whether the projections have biases.
        output_shape: size or sizes of the output; the query's if None.
        attention_axes: axes that steps are along; all but the first and the last if None.
        sliding_window: steps this far apart, or farther, do not see each other; None sets no bound.
        flash_attention: True has no effect, which a warning says.
        kernel_initializer: first value of the kernels.
        bias_initializer: first value of the biases.
        kernel_regularizer: penalty of the kernels.
        bias_regularizer: penalty of the biases.
        activity_regularizer: penalty of the output of each projection, and not of the whole.
        kernel_constraint: constraint applied to the kernels after each step.
        bias_constraint: constraint applied to the biases after each step.
        use_gate: whether what a head gives is multiplied by a gate, sigmoid of a projection of the
            query, before the last projection.
        seed: seed of the dropout.
        **options: see Layer.

    Call: (query, value, key=None, query_mask=None, value_mask=None, key_mask=None,
    attention_mask=None, return_attention_scores=False, training=None, use_causal_mask=False); masks
    carried by the tensors are used; attention_mask is [b, t, s].

    Shapes:
        query [b, t, d], value [b, s, e], key [b, s, f] → [b, t, d], and scores [b, heads, t, s].

    Source:
        Vaswani et al. 2017; Keras `MultiHeadAttention`.
    """

    _untracked = frozenset({"output_shape"})

    _takes_floats = True
    _penalizes_outputs = False

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
        """The attention outputs for projections, and the scores; subclasses may override it.

        Args:
            query: [batch, steps..., heads, key_dim], as `key`; `value` may have another last size.
            key: the keys that queries are compared with.
            value: the value to average.
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

    # Steps that packages call, or replace, under the names that Keras has for them.

    @property
    def _inverse_sqrt_key_dim(self) -> float:
        """The scale of the scores."""
        return float(self.key_dim**-0.5)

    def _get_common_kwargs_for_sublayer(self) -> dict[str, Any]:
        """The arguments of all projections: initializers, regularizers and constraints."""
        return projection_options(self)

    def _compute_causal_mask(self, query: Tensor, value: Tensor | None = None) -> Tensor:
        """[1, t, s]: whether step s of the values is not after step t of the query."""
        return causal_between(query, query if value is None else value)

    def _masked_softmax(self, attention_scores: Tensor, attention_mask: Any = None) -> Tensor:
        """Scores as weights, 0 for masked steps."""
        if attention_mask is not None:
            attention_mask = self._for_scores(attention_mask, len(attention_scores.shape))
        return self._softmax(attention_scores, mask=attention_mask)  # type: ignore[no-any-return]  # a tensor

    def _for_scores(self, mask: Any, rank: int) -> Any:
        """A mask [batch, steps of queries..., of keys...] broadcast to scores of this rank."""
        while len(mask.shape) < rank:
            mask = reshaping.expand_dims(mask, -len(self._attention_axes) * 2 - 1)
        return mask


def _also(name: str) -> property:
    """An attribute under another name."""

    def get(self: Any) -> Any:
        return getattr(self, name)

    def put(self: Any, value: Any) -> None:
        setattr(self, name, value)

    return property(get, put, doc=f"`{name}`.")


# Keras shows its settings with an underscore, and packages' layers of their own read them so.
for _setting in (
    *("num_heads", "key_dim", "value_dim", "dropout", "use_bias", "use_gate", "output_shape"),
    *("sliding_window", "flash_attention", "activity_regularizer"),
    *("kernel_initializer", "kernel_regularizer", "kernel_constraint"),
    *("bias_initializer", "bias_regularizer", "bias_constraint"),
):
    setattr(MultiHeadAttention, f"_{_setting}", _also(_setting))
