"""The names of weights in a layers model."""

from collections.abc import Iterator
from typing import Any

from pinnace.framework.errors import InvalidArgumentError


def named_weights(model: Any) -> dict[str, Any]:
    """The variables of a Keras model by the names that TensorFlow.js uses.

    Raises:
        InvalidArgumentError: two variables have the same name.
    """
    found: dict[str, Any] = {}
    for name, variable in _names(model):
        if name in found:
            raise InvalidArgumentError(
                f"export: two weights would be named {name!r} in TensorFlow.js: layers of models "
                "inside of models have the same names\n  Try: other names for these layers"
            )
        found[name] = variable
    return found


def _names(model: Any) -> Iterator[tuple[str, Any]]:
    for layer in model.layers:
        if hasattr(layer, "layers"):
            yield from _names(layer)
        elif type(layer).__name__ == "Bidirectional":
            base = layer.forward_layer.name.removeprefix("forward_")
            for way, part in (("forward", layer.forward_layer), ("backward", layer.backward_layer)):
                for variable in part.weights:
                    yield f"{layer.name}/{way}_{base}/{_own_name(variable)}", variable
        else:
            # Cells and wrapped layers are not part of the name.
            for variable in layer.weights:
                if "seed_generator" not in variable.path:
                    name = _OTHERS.get((type(layer).__name__, _own_name(variable)))
                    yield f"{layer.name}/{name or _own_name(variable)}", variable


# Weights that Keras 3 renamed.
_OTHERS = {("DepthwiseConv2D", "kernel"): "depthwise_kernel"}


def _own_name(variable: Any) -> str:
    return str(variable.path).rpartition("/")[2]
