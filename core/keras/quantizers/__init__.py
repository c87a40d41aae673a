"""`keras.quantizers`: weights and inputs as small integers."""

from __future__ import annotations

from typing import Any

from pinnace.keras import registry as _registry
from pinnace.keras.quantizers.absolute import AbsMaxQuantizer as AbsMaxQuantizer
from pinnace.keras.quantizers.absolute import Quantizer as Quantizer
from pinnace.keras.quantizers.absolute import abs_max_quantize as abs_max_quantize
from pinnace.keras.quantizers.absolute import (
    abs_max_quantize_grouped_with_zero_point as abs_max_quantize_grouped_with_zero_point,
)
from pinnace.keras.quantizers.configs import Float8QuantizationConfig as Float8QuantizationConfig
from pinnace.keras.quantizers.configs import Int4QuantizationConfig as Int4QuantizationConfig
from pinnace.keras.quantizers.configs import Int8QuantizationConfig as Int8QuantizationConfig
from pinnace.keras.quantizers.configs import QuantizationConfig as QuantizationConfig
from pinnace.keras.quantizers.nibbles import pack_int4 as pack_int4
from pinnace.keras.quantizers.nibbles import unpack_int4 as unpack_int4
from pinnace.keras.quantizers.rounding import (
    compute_float8_amax_history as compute_float8_amax_history,
)
from pinnace.keras.quantizers.rounding import compute_float8_scale as compute_float8_scale
from pinnace.keras.quantizers.rounding import (
    fake_quant_with_min_max_vars as fake_quant_with_min_max_vars,
)
from pinnace.keras.quantizers.rounding import quantize_and_dequantize as quantize_and_dequantize

_CLASSES = (
    *(Quantizer, AbsMaxQuantizer, QuantizationConfig),
    *(Int8QuantizationConfig, Int4QuantizationConfig, Float8QuantizationConfig),
)


def serialize(initializer: Any) -> Any:
    """The configuration of a quantizer.

    Args:
        initializer: the quantizer; Keras calls the argument so.
    """
    return _registry.serialize_keras_object(initializer)


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The quantizer with that configuration.

    Args:
        config: the result of `serialize`.
        custom_objects: classes by name, beside those of Keras and the registered ones.
    """
    return _registry.deserialize_keras_object(config, custom_objects)


def get(identifier: Any, **kwargs: Any) -> Any:
    """The quantizer that the argument denotes.

    Args:
        identifier: a quantizer, its configuration, its class or the name of one; None for None.
        **kwargs: arguments of the constructor, for a class.

    Raises:
        ValueError: no quantizer has that name.
    """
    if isinstance(identifier, str):
        table = _registry.named(*_CLASSES)
        if identifier not in table:
            raise ValueError(
                f"quantizers.get: Could not interpret quantizer identifier: {identifier!r}, must "
                f"be one of {', '.join(sorted(table))}"
            )
        identifier = table[identifier]
    if isinstance(identifier, dict):
        return deserialize(identifier)
    return identifier(**kwargs) if isinstance(identifier, type) else identifier
