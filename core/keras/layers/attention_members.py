"""Members of attention layers that subclasses use, under Keras' names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras.layers.attention_masks import causal_between
from pinnace.ops.array import reshaping

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor


def _also(name: str) -> property:
    """An attribute under another name."""

    def get(self: Any) -> Any:
        return getattr(self, name)

    def put(self: Any, value: Any) -> None:
        setattr(self, name, value)

    return property(get, put, doc=f"`{name}`.")


class AttentionMembers:
    """Settings and steps of MultiHeadAttention that classes below it read, call and replace.

    Source:
        Keras: packages write layers of their own on these, which it shows with an underscore.
    """

    _num_heads = _also("num_heads")
    _key_dim = _also("key_dim")
    _value_dim = _also("value_dim")
    _dropout = _also("dropout")
    _use_bias = _also("use_bias")
    _use_gate = _also("use_gate")
    _output_shape = _also("output_shape")
    _sliding_window = _also("sliding_window")
    _flash_attention = _also("flash_attention")
    _kernel_initializer = _also("kernel_initializer")
    _bias_initializer = _also("bias_initializer")
    _kernel_regularizer = _also("kernel_regularizer")
    _bias_regularizer = _also("bias_regularizer")
    _activity_regularizer = _also("activity_regularizer")
    _kernel_constraint = _also("kernel_constraint")
    _bias_constraint = _also("bias_constraint")

    _softmax: Any
    _attention_axes: tuple[int, ...]

    @property
    def _inverse_sqrt_key_dim(self) -> float:
        """The scale of the scores."""
        return float(self._key_dim**-0.5)

    def _get_common_kwargs_for_sublayer(self) -> dict[str, Any]:
        """The arguments of a projection: initializers, regularizers and constraints."""
        return {
            "kernel_regularizer": self._kernel_regularizer,
            "bias_regularizer": self._bias_regularizer,
            "activity_regularizer": self._activity_regularizer,
            "kernel_constraint": self._kernel_constraint,
            "bias_constraint": self._bias_constraint,
            "dtype": self.dtype_policy,  # type: ignore[attr-defined]  # Layer's
            "kernel_initializer": of_same_kind(self._kernel_initializer),
            "bias_initializer": of_same_kind(self._bias_initializer),
        }

    def _compute_causal_mask(self, query: Tensor, value: Tensor | None = None) -> Tensor:
        """[1, t, s]: whether step s of the values is not after step t of the query."""
        return causal_between(query, query if value is None else value)

    def _masked_softmax(self, attention_scores: Tensor, attention_mask: Any = None) -> Tensor:
        """Scores as shares, none for steps that the mask hides."""
        if attention_mask is not None:
            attention_mask = self._for_scores(attention_mask, len(attention_scores.shape))
        return self._softmax(attention_scores, mask=attention_mask)  # type: ignore[no-any-return]  # a tensor

    def _for_scores(self, mask: Any, rank: int) -> Any:
        """A mask [batch, steps of queries..., of keys...] broadcast to scores of this rank."""
        while len(mask.shape) < rank:
            mask = reshaping.expand_dims(mask, -len(self._attention_axes) * 2 - 1)
        return mask


def of_same_kind(initializer: Any) -> Any:
    """Another one like it: it draws other values if it was given no seed."""
    return initializer.clone() if hasattr(initializer, "clone") else initializer


def equations(rank: int, steps: Sequence[int]) -> tuple[str, str]:
    """The Einstein sums of the scores from key and query, and of the result from scores and value.

    All operands are [batch, axes, heads, size]; attention is along the axes `steps`.
    """
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    query = [next(letters) for _ in range(rank + 1)]
    key = [next(letters) if axis in steps else query[axis] for axis in range(rank)] + [query[-1]]
    value = [*key[:-1], next(letters)]
    others = [query[axis] for axis in range(rank - 1) if axis not in steps]
    head = query[rank - 1]
    scores = [*others, head, *(query[a] for a in steps), *(key[a] for a in steps)]
    result = [*query[:-1], value[-1]]
    join = "".join
    return (
        f"{join(key)},{join(query)}->{join(scores)}",
        f"{join(scores)},{join(value)}->{join(result)}",
    )
