"""ReversibleEmbedding: vectors for indices, and scores over indices for vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.keras import (
    configuration,
    constraints,
    initializers,
    ops,
    registry,
    regularizers,
)
from pinnace.keras.layers.embedding import Embedding

if TYPE_CHECKING:
    from pinnace.framework.specs import TensorSpec
    from pinnace.framework.tensor import Tensor
    from pinnace.keras.layer import LayerOptions


class ReversibleEmbedding(Embedding):
    """An `Embedding`; with `reverse=True`: [..., output_dim] → scores [..., input_dim].

    Args:
        input_dim: number of rows of the table.
        output_dim: size of a row.
        tie_weights: whether both directions share the table; otherwise there are two.
        embeddings_initializer: first value of the tables.
        embeddings_regularizer: penalty of the table.
        embeddings_constraint: constraint applied to the table after each step.
        mask_zero: whether 0 is padding, which later layers skip.
        reverse_dtype: dtype that scores are computed in; the layer's if None.
        logit_soft_cap: c makes scores s into c tanh(s / c).
        **options: see Layer.

    Shapes:
        x [...], integers → [..., output_dim]; with `reverse`, x [..., output_dim] → [...,
        input_dim].
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
        """Create the tables."""
        super().build(x)
        if not self.tie_weights and self._stored is None:
            shape = [self.output_dim, self.input_dim]
            self.reverse_embeddings = self.add_weight(
                "reverse_embeddings", shape, self.embeddings_initializer
            )

    def call(self, x: Tensor, reverse: bool = False) -> Tensor:
        """The rows, or the scores if `reverse` is set."""
        if not reverse:
            return super().call(x)
        kind = self.reverse_dtype or self.compute_dtype
        if self.tie_weights:
            table = ops.transpose(ops.cast(self.embeddings, kind))
        else:
            table = ops.cast(self.reverse_embeddings, kind)
        return self._capped(ops.matmul(ops.cast(x, kind), table))

    def _capped(self, scores: Tensor) -> Tensor:
        if self.logit_soft_cap is None:
            return scores
        capped: Tensor = ops.tanh(scores / self.logit_soft_cap) * self.logit_soft_cap
        return capped

    # Quantized: the other table is stored like the first, transposed.

    def quantized_call(self, x: Tensor, reverse: bool = False) -> Tensor:
        """`call` with quantized tables.

        Args:
            x: [...], numbers of rows; [..., output_dim] for scores.
            reverse: whether scores are wanted.
        """
        if not reverse:
            return super().quantized_call(x)
        stored, dtype = self._stored, self.compute_dtype
        assert stored is not None  # noqa: S101 (for the type checker: only then)
        parts = self._parts() if self.tie_weights else self._reverse_parts()
        table = ops.transpose(stored.floats(parts, dtype))
        if self.inputs_quantizer is None:
            return self._capped(ops.matmul(ops.cast(x, dtype), table))
        inputs, scale = self.inputs_quantizer(ops.cast(x, dtype))
        return self._capped(ops.divide(ops.matmul(ops.cast(inputs, dtype), table), scale))

    def quantize(self, mode: Any = None, type_check: bool = True, config: Any = None) -> None:
        """Quantize the tables; see Embedding.

        Args:
            mode: "int8" or "int4"; that of `config` if None.
            type_check: whether subclasses, which may compute something else, are refused.
            config: the quantizers used; see `keras.quantizers`.
        """
        other = None
        if self.built and not self.tie_weights and self._stored is None:
            other = self.reverse_embeddings.numpy()
        super().quantize(mode, type_check, config)
        if other is None:
            return
        assert self._stored is not None  # noqa: S101 (for the type checker: made just now)
        for name, value in self._stored.parts_of(other.T).items():
            part = getattr(self, _other(name))
            part.assign(ops.cast(ops.transpose(value), part.dtype))

    def quantized_build(self, kernel_shape: Any, mode: str, config: Any = None) -> None:
        """Create the variables of quantized tables.

        Args:
            kernel_shape: shape of the first table as floats.
            mode: "int8" or "int4".
            config: the quantizers used; those of the mode if None.
        """
        super().quantized_build(kernel_shape, mode, config)
        if self.tie_weights:
            return
        if hasattr(self, "reverse_embeddings"):
            del self.reverse_embeddings
        assert self._stored is not None  # noqa: S101 (for the type checker: made just now)
        for name, (shape, dtype, initial) in self._stored.variables().items():
            if name != "g_idx":  # shared by both
                kind = None if name == "zero" else dtype
                full = _other(name)
                part = self.add_weight(full, shape[::-1], initial, dtype=kind, trainable=False)
                setattr(self, full, part)

    def _reverse_parts(self) -> dict[str, Any]:
        assert self._stored is not None  # noqa: S101 (for the type checker: only then)
        return {
            name: self._parts()[name]
            if name == "g_idx"
            else ops.transpose(getattr(self, _other(name)))
            for name in self._stored.variables()
        }

    @property
    def variable_serialization_spec(self) -> dict[str | None, list[str]]:
        """Mode -> the names of the variables, in the order in which files store them."""
        spec = super().variable_serialization_spec
        if self.tie_weights:
            return spec
        more = {"int8": ("main", "scale"), "int4": ("main", "scale", "zero")}
        return {
            mode: [*names, *map(_other, more.get(mode or "", ("main",)))]
            for mode, names in spec.items()
        }

    def get_config(self) -> dict[str, Any]:
        """See Layer."""
        later = {
            name: value
            if isinstance(value, (int, float))
            else registry.serialize_keras_object(value)
            for name in ("lora_rank", "lora_alpha", "quantization_config")
            if (value := getattr(self, name)) is not None
        }
        return {**super().get_config(), **configuration.constructor_config(self), **later}

    def compute_mask(self, inputs: Tensor, previous_mask: Any = None) -> Tensor | None:
        """The mask that excludes index 0, with `mask_zero`; vectors have no mask."""
        return super().compute_mask(inputs, previous_mask) if inputs.dtype.is_integer else None


def _other(part: str) -> str:
    """The attribute of a component of the other table."""
    return "reverse_embeddings" if part == "main" else f"reverse_embeddings_{part}"
