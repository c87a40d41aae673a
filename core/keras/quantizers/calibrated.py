"""Configurations of quantization that looks at what goes through a model: GPTQ and AWQ."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from pinnace.keras.quantizers.configs import QuantizationConfig


class CalibratedConfig(QuantizationConfig):
    """The base of configurations with samples: what GPTQ and AWQ have in common.

    Args:
        dataset: samples: strings, or token ids; None in a configuration that was read.
        tokenizer: makes ids of strings.
        weight_bits: of a weight.
        num_samples: how many samples are looked at.
        sequence_length: ids in each of them.
        group_size: so many rows have a scale and a zero of their own; -1 for all rows.
        quantization_layer_structure: "pre_block_layers" and "sequential_blocks", lists of layers;
            that of the model's `get_quantization_layer_structure` if None.

    Raises:
        ValueError: a number that is out of its range.
    """

    _mode: ClassVar[str]
    _bits: ClassVar[tuple[int, ...]]

    def __init__(
        self,
        dataset: Any,
        tokenizer: Any,
        weight_bits: int,
        num_samples: int,
        sequence_length: int,
        group_size: int,
        quantization_layer_structure: dict[str, Any] | None,
    ) -> None:
        super().__init__()
        who = type(self).__name__
        if weight_bits not in self._bits:
            supported = ", ".join(map(str, self._bits))
            raise ValueError(
                f"{who}: Unsupported weight_bits {weight_bits}: {self._mode.upper()} only supports "
                f"{supported}{'-bit quantization' if len(self._bits) == 1 else ''}"
            )
        for name, value in {"num_samples": num_samples, "sequence_length": sequence_length}.items():
            check_positive(who, name, value)
        if group_size < -1 or group_size == 0:
            raise ValueError(
                f"{who}: Invalid group_size. Supported values are -1 (all rows) or a positive "
                f"integer, got {group_size}"
            )
        self.dataset = dataset
        self.tokenizer = tokenizer
        self.weight_bits = weight_bits
        self.num_samples = num_samples
        self.sequence_length = sequence_length
        self.group_size = group_size
        self.quantization_layer_structure = quantization_layer_structure

    @property
    def mode(self) -> str:
        """`gptq` or `awq`."""
        return self._mode

    def dtype_policy_string(self) -> str:
        """The mode as names of dtype policies have it: `gptq/4/128`."""
        return f"{self._mode}/{self.weight_bits}/{self.group_size}"

    def get_config(self) -> dict[str, Any]:
        """What the constructor takes; samples, tokenizer and layers are not kept."""
        return {
            "dataset": None,
            "tokenizer": None,
            "weight_bits": self.weight_bits,
            "num_samples": self.num_samples,
            "sequence_length": self.sequence_length,
            "group_size": self.group_size,
            "quantization_layer_structure": None,  # its layers hold this configuration
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """The object with that configuration."""
        return cls(**config)


class GPTQConfig(CalibratedConfig):
    """GPTQ: what the rounding of a row loses is made up for in the rows after it.

    Args:
        dataset: samples: strings, or token ids.
        tokenizer: makes ids of strings.
        weight_bits: 2, 3, 4 or 8.
        num_samples: how many samples are looked at.
        per_channel: accepted for Keras' sake; columns always have scales of their own.
        sequence_length: ids in each sample.
        hessian_damping: what is added to the diagonal of the Hessian, as a part of its mean; from 0
            to 1.
        group_size: so many rows have a scale and a zero of their own; -1 for all rows.
        symmetric: whether zero is in the middle.
        activation_order: whether rows with large inputs are rounded first.
        quantization_layer_structure: "pre_block_layers" and "sequential_blocks", lists of layers.

    Raises:
        ValueError: a number that is out of its range.
    """

    _mode = "gptq"
    _bits = (2, 3, 4, 8)

    def __init__(
        self,
        dataset: Any,
        tokenizer: Any,
        *,
        weight_bits: int = 4,
        num_samples: int = 128,
        per_channel: bool = True,
        sequence_length: int = 512,
        hessian_damping: float = 0.01,
        group_size: int = 128,
        symmetric: bool = False,
        activation_order: bool = False,
        quantization_layer_structure: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(
            dataset,
            tokenizer,
            weight_bits,
            num_samples,
            sequence_length,
            group_size,
            quantization_layer_structure,
        )
        if not 0 <= hessian_damping <= 1:
            raise ValueError(
                f"GPTQConfig: hessian_damping must be between 0 and 1, got {hessian_damping}"
            )
        self.per_channel = per_channel
        self.hessian_damping = hessian_damping
        self.symmetric = symmetric
        self.activation_order = activation_order

    def get_config(self) -> dict[str, Any]:
        """What the constructor takes; samples, tokenizer and layers are not kept."""
        return {
            **super().get_config(),
            "per_channel": self.per_channel,
            "hessian_damping": self.hessian_damping,
            "symmetric": self.symmetric,
            "activation_order": self.activation_order,
        }


class AWQConfig(CalibratedConfig):
    """AWQ: rows with large inputs are scaled up before they are rounded.

    Args:
        dataset: samples: strings, or token ids.
        tokenizer: makes ids of strings.
        weight_bits: 4.
        num_samples: how many samples are looked at.
        sequence_length: ids in each sample.
        group_size: so many rows have a scale and a zero of their own; -1 for all rows.
        num_grid_points: how many exponents of the scales are tried.
        quantization_layer_structure: "pre_block_layers" and "sequential_blocks", lists of layers.

    Raises:
        ValueError: a number that is out of its range.
    """

    _mode = "awq"
    _bits = (4,)

    def __init__(
        self,
        dataset: Any,
        tokenizer: Any,
        *,
        weight_bits: int = 4,
        num_samples: int = 128,
        sequence_length: int = 512,
        group_size: int = 128,
        num_grid_points: int = 20,
        quantization_layer_structure: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(
            dataset,
            tokenizer,
            weight_bits,
            num_samples,
            sequence_length,
            group_size,
            quantization_layer_structure,
        )
        check_positive("AWQConfig", "num_grid_points", num_grid_points)
        self.num_grid_points = num_grid_points

    def get_config(self) -> dict[str, Any]:
        """What the constructor takes; samples, tokenizer and layers are not kept."""
        return {**super().get_config(), "num_grid_points": self.num_grid_points}


def check_positive(who: str, name: str, value: int) -> None:
    """Refuse a number below 1.

    Raises:
        ValueError: it is one.
    """
    if value <= 0:
        raise ValueError(f"{who}: {name} must be a positive integer, got {value}")
