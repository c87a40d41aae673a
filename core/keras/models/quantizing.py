"""QuantizedMembers: the members of a model that quantize its layers."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class QuantizedMembers:
    """`quantize` of a model."""

    def quantize(
        self,
        mode: Any = None,
        config: Any = None,
        filters: str | Sequence[str] | Callable[[Any], bool] | None = None,
        **kwargs: Any,
    ) -> None:
        """Quantize the weights of all layers that support it; warns about the others.

        Args:
            mode: "int8" or "int4"; that of `config` if None.
            config: which quantizers are used; see `keras.quantizers`.
            filters: which layers: a regular expression that is found in their names, several, or a
                function of a layer; all if None.
            **kwargs: `type_check`: whether subclasses of such layers are left alone.

        Raises:
            ValueError: arguments that contradict each other; other ones.
            NotImplementedError: another mode.
        """
        from pinnace.keras.quantizers import configs  # few models are quantized

        type_check = kwargs.pop("type_check", True)
        if kwargs:
            raise ValueError(
                f"Model.quantize: Unrecognized keyword arguments: {', '.join(sorted(kwargs))}"
            )
        if filters is not None and not (
            isinstance(filters, (str, list, tuple)) or callable(filters)
        ):
            raise ValueError(
                "Model.quantize: The `filters` argument must be a regex string, a list of regex "
                f"strings, or a callable, got {type(filters).__name__}"
            )
        chosen: Any = configs.resolved(mode, config)
        if chosen.mode == "float8":
            raise NotImplementedError(
                f"Model.quantize: mode must be one of int8, int4, got {chosen.mode!r}"
            )
        for layer in self._flatten_layers():  # type: ignore[attr-defined]  # Layer's
            if layer.layers_inside or not _is_meant(layer, filters):
                continue
            try:
                layer.quantize(chosen.mode, type_check=type_check, config=chosen)
            except NotImplementedError as error:
                warnings.warn(str(error), stacklevel=2)
        self._step_functions.clear()  # type: ignore[attr-defined]  # Model's

    def get_quantization_layer_structure(
        self, mode: str | None = None
    ) -> dict[str, list[Any]] | None:
        """None: a model may override it with the layers before and in its blocks.

        Args:
            mode: of quantization.
        """
        del mode
        return None


def _is_meant(layer: Any, filters: Any) -> bool:
    if filters is None:
        return True
    if isinstance(filters, (str, list, tuple)):
        patterns = [filters] if isinstance(filters, str) else filters
        return any(re.search(pattern, layer.name) for pattern in patterns)
    return bool(filters(layer))
