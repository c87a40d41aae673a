"""Policies of quantized layers: how weights are stored, and the policy before quantization."""

from __future__ import annotations

from typing import Any

from pinnace.keras.dtype_policy import DTypePolicy, add_policies, dtype_policy

_MODES = ("int8", "float8", "int4")
# Modes of Keras that round weights by samples.
SAMPLED = ("gptq", "awq")


def refusal(mode: str) -> str:
    """The error text for modes that calibrate weights with samples, with a remedy."""
    return (
        f"{mode.upper()}, which rounds weights by samples, is not in pinnace\n"
        "  Try: 'int4' with Int4QuantizationConfig(block_size=128), which needs no samples"
    )


class QuantizedDTypePolicy(DTypePolicy):
    """Quantized weights, with computation by another policy.

    Args:
        mode: "int8", "int4" or "float8".
        source_name: the name of the other policy; that of layers that are given none if None.

    Raises:
        ValueError: unknown mode, or one that does not go with the policy's dtype.
    """

    __slots__ = ("_mode", "_source_name")

    def __init__(self, mode: str, source_name: str | None = None) -> None:
        source = dtype_policy().name if source_name is None else source_name
        super().__init__(source)
        if mode not in _MODES:
            raise ValueError(
                f"{type(self).__name__}: Invalid quantization mode. Expected one of "
                f"{', '.join(_MODES)}, got {mode!r}"
            )
        if mode == "int8" and self.compute_dtype == "float16":
            raise ValueError(
                f"{type(self).__name__}: Quantization mode='int8' doesn't work well with "
                "compute_dtype='float16'\n  Try: 'mixed_bfloat16'"
            )
        self._mode = mode
        self._source_name = source
        self._name = f"{mode}_from_{source}"

    @property
    def quantization_mode(self) -> str:
        """`int8`, `int4` or `float8`."""
        return self._mode

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"mode": self._mode, "source_name": self._source_name}

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.get_config() == other.get_config()

    def __hash__(self) -> int:
        return hash((type(self), self._name))

    def __repr__(self) -> str:
        return f'<{type(self).__name__} "{self._name}">'


class Int4DTypePolicy(QuantizedDTypePolicy):
    """4-bit weights, in groups of rows.

    Args:
        mode: "int4/N": N rows in a group, or -1 for a scale by column alone.
        source_name: the name of the policy for computations.

    Raises:
        ValueError: unknown form.
    """

    __slots__ = ("block_size",)

    def __init__(self, mode: str, source_name: str | None = None) -> None:
        base, _, size = mode.partition("/")
        if base != "int4" or not size.removeprefix("-").isdigit():
            raise ValueError(
                "Int4DTypePolicy: Invalid mode for Int4DTypePolicy. Expected format "
                f"'int4/<block_size>', but got {mode!r}"
            )
        if int(size) < -1 or not int(size):
            raise ValueError(
                "Int4DTypePolicy: Invalid block_size in mode: must be -1 or a positive integer, "
                f"got {mode!r}"
            )
        super().__init__(base, source_name)
        self.block_size = int(size)
        self._name = f"{mode}_from_{self._source_name}"

    @property
    def mode(self) -> str:
        """The name of the quantization mode, such as `int8`."""
        return self._mode

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"mode": f"int4/{self.block_size}", "source_name": self._source_name}


class QuantizedFloat8DTypePolicy(QuantizedDTypePolicy):
    """Training in float8.

    Args:
        mode: "float8".
        source_name: the name of the policy for computations.
        amax_history_length: how many largest values are kept, to choose the scales from.

    Raises:
        TypeError: `amax_history_length` is no integer.
    """

    __slots__ = ("amax_history_length",)

    default_amax_history_length = 1024

    def __init__(
        self, mode: str, source_name: str | None = None, amax_history_length: int = 1024
    ) -> None:
        super().__init__(mode, source_name)
        if not isinstance(amax_history_length, int):
            raise TypeError(
                "QuantizedFloat8DTypePolicy: `amax_history_length` must be an integer, "
                f"got {amax_history_length!r}"
            )
        self.amax_history_length = amax_history_length

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "amax_history_length": self.amax_history_length}


def of_name(name: str) -> QuantizedDTypePolicy | None:
    """The policy for a name such as `int8_from_float32`; None for other names.

    Raises:
        NotImplementedError: a policy of GPTQ or AWQ.
    """
    mode, parted, source = name.partition("_from_")
    if not parted:
        return None
    if mode == "float8":
        return QuantizedFloat8DTypePolicy(mode, source)
    method = mode.partition("/")[0]
    if method in SAMPLED:
        raise NotImplementedError(f"dtype policy {name!r}: {refusal(method)}")
    return Int4DTypePolicy(mode, source) if "/" in mode else QuantizedDTypePolicy(mode, source)


add_policies((QuantizedDTypePolicy, QuantizedFloat8DTypePolicy, Int4DTypePolicy), of_name)
