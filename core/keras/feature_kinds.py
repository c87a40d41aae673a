"""Kinds of features and of crosses: which layer encodes one, and with which output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from pinnace.keras import registry
from pinnace.keras.layer import Layer
from pinnace.keras.layers.categories import Hashing
from pinnace.keras.layers.discretization import Discretization
from pinnace.keras.layers.lookups import IntegerLookup, StringLookup
from pinnace.keras.layers.preprocessing import Normalization, Rescaling
from pinnace.keras.names import unique_name
from pinnace.keras.ops.arrays import concatenate
from pinnace.ops.array import casting

if TYPE_CHECKING:
    from collections.abc import Sequence

_FEATURE_MODES = ("int", "one_hot", "float")
_CROSS_MODES = ("int", "one_hot")
# The kinds of features that have names.
KINDS = (
    *("float", "float_rescaled", "float_normalized", "float_discretized", "integer_categorical"),
    *("string_categorical", "integer_hashed", "string_hashed"),
)


def checked_mode(who: str, output_mode: Any, known: Sequence[str]) -> str:
    """`output_mode`, if it is one of `known`.

    Raises:
        ValueError: the mode is unknown.
    """
    if output_mode not in known:
        raise ValueError(
            f"{who}: Invalid value for argument `output_mode`. Expected one of "
            f"{', '.join(known)}, got output_mode={output_mode!r}"
        )
    return str(output_mode)


class TFDIdentity(Layer):
    """The numbers as floats, unchanged: the encoder of a `float` feature."""

    def call(self, x: Any) -> Any:
        """The input."""
        return casting.cast(x, self.compute_dtype)


class TFDConcat(Layer):
    """Concatenates features.

    Args:
        axis: the axis of concatenation.
        **options: see Layer.
    """

    def __init__(self, axis: int, **options: Any) -> None:
        super().__init__(**options)
        self.axis = axis

    def call(self, xs: Any) -> Any:
        """The joined features."""
        return concatenate(xs, self.axis)


class _Saved:
    """The part of a feature that is stored in configurations."""

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        raise NotImplementedError(f"{type(self).__name__} must define get_config")

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """The object with that configuration."""
        return cls(**config)


class Cross(_Saved):
    """A cross of features, whose joint values are encoded.

    Args:
        feature_names: names of the features.
        crossing_dim: number of categories that the combinations are hashed to.
        output_mode: "int" or "one_hot".

    Raises:
        ValueError: unknown mode.
    """

    def __init__(
        self, feature_names: Sequence[str], crossing_dim: int, output_mode: str = "one_hot"
    ) -> None:
        self.feature_names = tuple(feature_names)
        self.crossing_dim = crossing_dim
        self.output_mode = checked_mode("FeatureSpace.cross", output_mode, _CROSS_MODES)

    @property
    def name(self) -> str:
        """The names of the features, joined by _X_."""
        return "_X_".join(self.feature_names)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        names = ("feature_names", "crossing_dim", "output_mode")
        return {name: getattr(self, name) for name in names}


class Feature(_Saved):
    """The encoding of one feature.

    Args:
        dtype: dtype of the raw values.
        preprocessor: the layer that encodes them, or its configuration.
        output_mode: "int", "one_hot" or "float".

    Raises:
        ValueError: unknown mode.
    """

    def __init__(self, dtype: str, preprocessor: Any, output_mode: str) -> None:
        self.dtype = dtype
        self.preprocessor = registry.deserialize_keras_object(preprocessor)
        self.output_mode = checked_mode("FeatureSpace.feature", output_mode, _FEATURE_MODES)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            "dtype": self.dtype,
            "preprocessor": registry.serialize_keras_object(self.preprocessor),
            "output_mode": self.output_mode,
        }


class FeatureKinds:
    """FeatureSpace's methods that create features of a kind."""

    @classmethod
    def cross(
        cls, feature_names: Sequence[str], crossing_dim: int, output_mode: str = "one_hot"
    ) -> Cross:
        """The combination of features' values, hashed.

        Args:
            feature_names: names of the features.
            crossing_dim: number of categories.
            output_mode: "int" or "one_hot".
        """
        return Cross(feature_names, crossing_dim, output_mode=output_mode)

    @classmethod
    def feature(cls, dtype: str, preprocessor: Any, output_mode: str) -> Feature:
        """A feature that a layer of your own encodes.

        Args:
            dtype: dtype of the raw values.
            preprocessor: the layer; if it has `adapt`, `FeatureSpace.adapt` calls it.
            output_mode: "float": the layer gives floats; "int" or "one_hot": it gives the numbers
                of categories, which stay or become rows.
        """
        return Feature(dtype, preprocessor, output_mode)

    @classmethod
    def float(cls, name: str | None = None) -> Feature:
        """Numbers, unchanged."""
        return _made("float", name, "float32", "float", TFDIdentity, dtype="float32")

    @classmethod
    def float_rescaled(
        cls, scale: Any = 1.0, offset: Any = 0.0, name: str | None = None
    ) -> Feature:
        """Numbers, multiplied by `scale` and increased by `offset`."""
        options = {"scale": scale, "offset": offset}
        return _made("float_rescaled", name, "float32", "float", Rescaling, **options)

    @classmethod
    def float_normalized(cls, name: str | None = None) -> Feature:
        """Numbers, normalized to mean 0 and variance 1."""
        return _made("float_normalized", name, "float32", "float", Normalization, axis=-1)

    @classmethod
    def float_discretized(
        cls,
        num_bins: int | None,
        bin_boundaries: Sequence[Any] | None = None,
        output_mode: str = "one_hot",
        name: str | None = None,
    ) -> Feature:
        """Numbers replaced by the index of their range.

        Args:
            num_bins: how many `adapt` finds; None with `bin_boundaries`.
            bin_boundaries: ascending.
            output_mode: "int" or "one_hot".
            name: prefix of the layer's name.
        """
        options = {"num_bins": num_bins, "bin_boundaries": bin_boundaries}
        kind = "float_discretized"
        return _made(kind, name, "float32", output_mode, Discretization, **options)

    @classmethod
    def integer_categorical(
        cls,
        max_tokens: int | None = None,
        num_oov_indices: int = 1,
        output_mode: str = "one_hot",
        name: str | None = None,
    ) -> Feature:
        """Integers, looked up in a vocabulary that `adapt` learns; see `layers.IntegerLookup`."""
        options = {"max_tokens": max_tokens, "num_oov_indices": num_oov_indices}
        kind = "integer_categorical"
        return _made(kind, name, "int32", output_mode, IntegerLookup, **options)

    @classmethod
    def string_categorical(
        cls,
        max_tokens: int | None = None,
        num_oov_indices: int = 1,
        output_mode: str = "one_hot",
        name: str | None = None,
    ) -> Feature:
        """Texts, looked up in a vocabulary that `adapt` learns; see `layers.StringLookup`."""
        options = {"max_tokens": max_tokens, "num_oov_indices": num_oov_indices}
        return _made("string_categorical", name, "string", output_mode, StringLookup, **options)

    @classmethod
    def string_hashed(
        cls, num_bins: int, output_mode: str = "one_hot", name: str | None = None
    ) -> Feature:
        """Hashed texts; see `layers.Hashing`."""
        return _made("string_hashed", name, "string", output_mode, Hashing, num_bins=num_bins)

    @classmethod
    def integer_hashed(
        cls, num_bins: int, output_mode: str = "one_hot", name: str | None = None
    ) -> Feature:
        """Hashed integers; see `layers.Hashing`."""
        return _made("integer_hashed", name, "int32", output_mode, Hashing, num_bins=num_bins)


def _made(
    kind: str, name: str | None, raw: str, output_mode: str, layer: Any, **options: Any
) -> Feature:
    name = name or unique_name(kind)
    return Feature(raw, layer(name=f"{name}_preprocessor", **options), output_mode)
