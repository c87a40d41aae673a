"""The choice of layers to quantize, for `Model.quantize`."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pinnace.keras.models.model import Model


def quantize_layers(
    model: Model, mode: Any, config: Any, filters: Any, *, type_check: bool = True, **kwargs: Any
) -> None:
    """Quantize the layers of a model that support it; see `Model.quantize`."""
    from pinnace.keras.quantizers import configs  # few models are quantized

    if kwargs:
        raise ValueError(
            f"Model.quantize: Unrecognized keyword arguments: {', '.join(sorted(kwargs))}"
        )
    if filters is not None and not (isinstance(filters, (str, list, tuple)) or callable(filters)):
        raise ValueError(
            "Model.quantize: The `filters` argument must be a regex string, a list of regex "
            f"strings, or a callable, got {type(filters).__name__}"
        )
    chosen: Any = configs.resolved(mode, config)
    if chosen.mode == "float8":
        raise NotImplementedError(
            f"Model.quantize: mode must be one of int8, int4, got {chosen.mode!r}"
        )
    for layer in model._flatten_layers():
        if layer.layers_inside or not _is_meant(layer, filters):
            continue
        try:
            layer.quantize(chosen.mode, type_check=type_check, config=chosen)
        except NotImplementedError as error:
            warnings.warn(str(error), stacklevel=3)


def _is_meant(layer: Any, filters: Any) -> bool:
    if filters is None:
        return True
    if isinstance(filters, (str, list, tuple)):
        patterns = [filters] if isinstance(filters, str) else filters
        return any(re.search(pattern, layer.name) for pattern in patterns)
    return bool(filters(layer))
