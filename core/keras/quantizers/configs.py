"""Configurations of quantization: the argument `config` of `quantize`."""

from __future__ import annotations

from typing import Any, Self

from pinnace.keras import registry
from pinnace.keras.quantized_policies import SAMPLED, refusal
from pinnace.keras.quantizers.absolute import AbsMaxQuantizer

MODES = ("int8", "float8", "int4")


class QuantizationConfig:
    """The base of configurations; subclasses define `mode`.

    Args:
        weight_quantizer: quantizer of weights; that of the mode if None.
        activation_quantizer: quantizer of inputs; they stay floats if None.
    """

    def __init__(self, weight_quantizer: Any = None, activation_quantizer: Any = None) -> None:
        self.weight_quantizer = weight_quantizer
        self.activation_quantizer = activation_quantizer

    @property
    def mode(self) -> str:
        """The mode that it configures.

        Raises:
            NotImplementedError: a subclass defines it.
        """
        raise NotImplementedError(
            "QuantizationConfig: Subclasses must implement this property: mode. Do not instantiate "
            "QuantizationConfig directly."
        )

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            "weight_quantizer": registry.serialize_keras_object(self.weight_quantizer),
            "activation_quantizer": registry.serialize_keras_object(self.activation_quantizer),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """The object with that configuration."""
        return cls(
            **{name: registry.deserialize_keras_object(value) for name, value in config.items()}
        )


class Int8QuantizationConfig(QuantizationConfig):
    """8 bits, for weights and inputs.

    Args:
        weight_quantizer: quantizer of weights, with int8; the largest absolute value by column if
            None.
        activation_quantizer: quantizer of inputs: "default" for AbsMaxQuantizer, None for floats.

    Raises:
        ValueError: `weight_quantizer` gives another dtype.
    """

    def __init__(self, weight_quantizer: Any = None, activation_quantizer: Any = "default") -> None:
        default = isinstance(activation_quantizer, str) and activation_quantizer == "default"
        super().__init__(weight_quantizer, AbsMaxQuantizer() if default else activation_quantizer)
        _check_bytes("Int8QuantizationConfig", weight_quantizer)

    @property
    def mode(self) -> str:
        """The name of the mode: `int8`."""
        return "int8"


class Int4QuantizationConfig(QuantizationConfig):
    """4 bits for weights; inputs stay floats unless a quantizer is given.

    Args:
        weight_quantizer: quantizer of weights, to int8 from -8 to 7; the largest absolute value by
            column if None.
        activation_quantizer: quantizer of inputs: "default" and None for floats.
        block_size: number of rows of a kernel that share a scale and a zero; None and -1 for one
            scale for a column.

    Raises:
        ValueError: a block size below 1; quantizers beside one; other integers.
    """

    def __init__(
        self,
        weight_quantizer: Any = None,
        activation_quantizer: Any = "default",
        block_size: int | None = 128,
    ) -> None:
        if isinstance(activation_quantizer, str) and activation_quantizer == "default":
            activation_quantizer = None
        super().__init__(weight_quantizer, activation_quantizer)
        if block_size is not None and block_size != -1 and block_size <= 0:
            raise ValueError(
                "Int4QuantizationConfig: block_size must be None, -1, or a positive integer, "
                f"got {block_size}"
            )
        self.block_size = block_size
        if self.groups and (weight_quantizer is not None or activation_quantizer is not None):
            raise ValueError(
                "Int4QuantizationConfig: Int4 sub-channel quantization (block_size > 0) does not "
                f"support custom quantizers, got block_size={block_size}\n  Try: block_size=-1"
            )
        _check_bytes("Int4QuantizationConfig", weight_quantizer)
        if weight_quantizer is not None and tuple(weight_quantizer.value_range) != (-8, 7):
            raise ValueError(
                "Int4QuantizationConfig requires a weight_quantizer with value_range=(-8, 7), "
                f"got {weight_quantizer.value_range}"
            )

    @property
    def groups(self) -> bool:
        """Whether rows are in groups."""
        return self.block_size is not None and self.block_size > 0

    @property
    def mode(self) -> str:
        """The name of the mode: `int4`."""
        return "int4"

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "block_size": self.block_size}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """The object with a configuration; older files have no block size."""
        return super().from_config({"block_size": None, **config})


class Float8QuantizationConfig(QuantizationConfig):
    """Training in float8, without quantizers."""

    def __init__(self) -> None:
        super().__init__(None, None)

    @property
    def mode(self) -> str:
        """The name of the mode: `float8`."""
        return "float8"

    def get_config(self) -> dict[str, Any]:
        """An empty dict: the configuration has no arguments."""
        return {}


def resolved(mode: str | None, config: Any) -> QuantizationConfig:
    """The configuration that the arguments of `quantize` mean.

    Raises:
        ValueError: neither, an unknown mode, or two that contradict each other.
        NotImplementedError: GPTQ or AWQ.
    """
    if isinstance(config, str):
        mode, config = config, None
    if mode in SAMPLED:
        raise NotImplementedError(f"quantize: {refusal(mode)}")
    if mode is not None and mode not in MODES:
        raise ValueError(
            f"quantize: Invalid quantization mode. Expected one of {', '.join(MODES)}, got {mode!r}"
        )
    if config is None:
        if mode is None:
            raise ValueError("quantize: You must provide either `mode` or `config` to `quantize`")
        config = {
            "int8": Int8QuantizationConfig,
            "int4": Int4QuantizationConfig,
            "float8": Float8QuantizationConfig,
        }[mode]()
    if not isinstance(config, QuantizationConfig):
        raise ValueError(  # noqa: TRY004 (Keras raises it too)
            "quantize: Argument `config` must be an instance of `QuantizationConfig`, "
            f"got {type(config).__name__}: {config!r:.100}"
        )
    if mode is not None and config.mode != mode:
        raise ValueError(
            f"quantize: Contradictory arguments: mode={mode!r} and config.mode={config.mode!r}"
        )
    return config


def _check_bytes(who: str, quantizer: Any) -> None:
    if quantizer is not None and quantizer.output_dtype != "int8":
        raise ValueError(
            f"{who} requires a weight_quantizer with output_dtype='int8', "
            f"got {quantizer.output_dtype!r}"
        )
