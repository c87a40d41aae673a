"""The scaling of image inputs: pixels of 0 to 255, or numbers derived from them.

A model that begins with `Rescaling` or `Normalization` scales pixels itself; the size of the factor
tells which pixels it takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError
from pinnace.graph.walk import ordered, users

if TYPE_CHECKING:
    from pinnace.framework.specs import TensorSpec
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Graph, Node, Value

# (mean, standard deviation): the input takes (pixel - mean) / standard deviation for pixels of 0 to
# 255; each with one number for all channels, or one per channel.
Scaling: TypeAlias = tuple[tuple[float, ...], tuple[float, ...]]

_CHANNELS = frozenset({1, 3, 4})
_PIXELS: Scaling = ((0.0,), (1.0,))
_SHARES: Scaling = ((0.0,), (255.0,))
# Networks compute with numbers within a few units; unscaled pixels span more.
_SPREAD = 16.0
_AFFINE = frozenset({"Mul", "RealDiv", "AddV2", "Sub"})


def is_picture(spec: TensorSpec) -> bool:
    """Whether an input has the shape of images: [batch, height, width, channels]."""
    shape = spec.shape
    whole = spec.dtype in (dtypes.uint8, dtypes.int8, dtypes.int32)
    return shape.rank == 4 and shape[3] in _CHANNELS and (spec.dtype.is_floating or whole)


def pixels_of(
    graph: Graph,
    inputs: Mapping[str, TensorSpec],
    given: Mapping[str, Scaling] | Scaling | None = None,
) -> dict[str, Scaling]:
    """The scaling of each image input for which it can be determined.

    Args:
        graph: the model, frozen and folded.
        inputs: name -> spec, in the graph's order.
        given: the user's scaling, for all image inputs or by name.

    Raises:
        InvalidArgumentError: the user's scaling is for an input that is not one of images.
    """
    pictures = [name for name, spec in inputs.items() if is_picture(spec)]
    if given is not None:
        told = given if isinstance(given, Mapping) else dict.fromkeys(pictures, given)
        others = [name for name in told if name not in inputs]
        if others or not told:
            raise InvalidArgumentError(
                f"export: a normalisation is for {others or 'images'}, which no input is: they "
                f"are {', '.join(f'{name} {spec.text}' for name, spec in inputs.items())}"
            )
        return {name: _checked(name, one, inputs[name]) for name, one in told.items()}
    found = {}
    consumers = users(ordered(graph))
    for (name, spec), value in zip(inputs.items(), graph.inputs, strict=False):
        if name in pictures and spec.dtype in (dtypes.uint8, dtypes.int32):
            found[name] = _PIXELS
        elif name in pictures:
            scale = _front(value, consumers)
            if scale is not None and 255 * scale <= _SPREAD:
                found[name] = _PIXELS
            elif scale is not None and scale <= _SPREAD:
                found[name] = _SHARES
    return found


def scaling_of(text: str) -> Scaling:
    """Parse a scaling from the command line: `MEAN:STD`, each with commas between channels.

    Raises:
        InvalidArgumentError: the text has another form.
    """
    try:
        mean, std = (tuple(float(one) for one in part.split(",")) for part in text.split(":"))
    except ValueError:
        raise InvalidArgumentError(
            f"export: a normalisation must be MEAN:STD, such as 127.5:127.5 or "
            f"123.7,116.3,103.5:58.4,57.1,57.4; got {text!r}"
        ) from None
    return mean, std


def _checked(name: str, given: Sequence[object], spec: TensorSpec) -> Scaling:
    try:
        mean, std = (tuple(float(x) for x in np.ravel(np.asarray(one))) for one in given)
    except (TypeError, ValueError):
        raise InvalidArgumentError(
            f"export: the normalisation of {name!r} must be a mean and a standard deviation, got "
            f"{given!r}"
        ) from None
    allowed = {1, spec.shape[-1]} if spec.shape.rank else {1}
    wrong = len(mean) not in allowed or len(std) not in allowed
    if wrong or not np.isfinite([*mean, *std]).all() or 0.0 in std:
        raise InvalidArgumentError(
            f"export: the normalisation of {name!r} must have one mean and one standard deviation "
            f"that is not 0, or one for each channel of {spec.text}; got {mean} and {std}"
        )
    return mean, std


def _front(value: Value, consumers: Mapping[Value, Sequence[Node]]) -> float | None:
    """The factor of a value before its other uses; None if it is not multiplied."""
    scale: Array = np.ones(1)
    seen = False
    while True:
        behind = consumers.get(value, ())
        if len(behind) != 1:
            break
        (node,) = behind
        if node.op.name in ("Identity", "Cast"):
            value = node.outputs[0]
            continue
        constants = [one for one in node.inputs if one.node.op.name == "Const"]
        is_turned = node.op.name in ("RealDiv", "Sub") and node.inputs[0] is not value
        if node.op.name not in _AFFINE or len(constants) != 1 or is_turned:
            break
        number = np.asarray(constants[0].node.attrs["value"], np.float64)
        if number.size > max(_CHANNELS):
            break  # not one factor per channel
        if node.op.name == "Mul":
            scale = scale * number.reshape(-1)
        elif node.op.name == "RealDiv":
            scale = scale / number.reshape(-1)
        seen = True
        value = node.outputs[0]
    size = float(np.max(np.abs(scale)))
    return size if seen and np.isfinite(size) and size > 0 else None
