"""LayerOptions: the common arguments of all layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from pinnace.framework.close_names import arguments_of, unknown_arguments
from pinnace.framework.shapes import Shape

if TYPE_CHECKING:
    from collections.abc import Sequence

# Arguments that older programs give to a layer; all but the last two to the first of a model.
_OLDER = {"input_shape", "batch_input_shape", "input_dim", "batch_size", "dynamic", "weights"}


class PlainLayerOptions(TypedDict, total=False):
    """The arguments that a layer with its own `activity_regularizer` passes on to Layer.

    trainable: whether training changes its weights.
    dtype: a dtype or a DTypePolicy.
    autocast: whether float inputs are cast to the dtype it computes in.
    name: unique if None: the class in snake case, numbered.
    input_shape: shape of the first layer of a Sequential, without the batch.
    """

    trainable: bool
    dtype: Any
    autocast: bool
    name: str | None
    input_shape: Any


class LayerOptions(PlainLayerOptions, total=False):
    """The arguments that every layer takes.

    activity_regularizer: penalty of its output, added to the loss.
    """

    activity_regularizer: Any


def first_layer_shape(cls: type, kwargs: dict[str, Any]) -> Shape | None:
    """The input shape, with the batch axis, from the arguments of a model's first layer.

    Args:
        cls: the class of the layer.
        kwargs: the arguments that its constructor has no parameters for.

    Raises:
        ValueError: an argument that no layer takes.
    """
    if unknown := sorted(kwargs.keys() - _OLDER):
        own = arguments_of(cls.__init__)  # type: ignore[misc]
        own[1:1] = vars(cls).get("_names_of_new", ())
        known = [*own[1:], *(name for name in LayerOptions.__annotations__ if name not in own)]
        said = unknown_arguments(cls.__name__, unknown, known)
        raise ValueError(f"{said}\n  takes {', '.join(known)}")
    if kwargs.get("batch_input_shape") is not None:
        return Shape(kwargs["batch_input_shape"])
    shape = kwargs.get("input_shape")
    if shape is None and kwargs.get("input_dim") is not None:
        shape = (kwargs["input_dim"],)
    if shape is None:
        return None
    sizes: Sequence[Any] = (shape,) if isinstance(shape, int) else tuple(shape)
    return Shape((kwargs.get("batch_size"), *sizes))
