"""Wrapper: the base of layers around another one; TimeDistributed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, Unpack

from pinnace.framework import structure
from pinnace.framework.shapes import Shape
from pinnace.functions.control import mapping
from pinnace.keras import registry
from pinnace.keras.call_signature import CallSignature
from pinnace.keras.layer import Layer, LayerOptions
from pinnace.keras.layers.normalization import BatchNormalization
from pinnace.ops.array import joining, permutations, reshaping, shapes

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


class Wrapper(Layer):
    """A layer around another one, whose weights are its own.

    Args:
        layer: the layer inside.
        **options: see Layer.

    Shapes:
        x → as `call` of the subclass gives it.
    """

    def __init__(self, layer: Layer, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        if not isinstance(layer, Layer):
            raise ValueError(  # noqa: TRY004 (Keras raises it too)
                f"Layer {layer!r} supplied to {type(self).__name__} isn't a supported layer type. "
                f"Please ensure wrapped layer is a valid Keras layer. Got {type(layer).__name__}"
            )
        self.layer = layer

    def build(self, input_shape: Any = None) -> None:
        """Create the wrapped layer's weights."""
        if not self.layer.built:
            self.layer.build_inside(input_shape)

    def get_config(self) -> dict[str, Any]:
        """See Layer."""
        return {**super().get_config(), "layer": registry.serialize_keras_object(self.layer)}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Self:
        """The layer with that configuration."""
        arguments = {
            key: registry.deserialize_keras_object(value, custom_objects)
            for key, value in config.items()
        }
        return cls(**arguments)


class TimeDistributed(Wrapper):
    """The wrapped layer applied to each step alike: [b, steps, ...] → [b, steps, ...].

    Args:
        layer: takes [b, ...].
        **options: see Layer.

    Shapes:
        x [b, steps, ...] → [b, steps, ...] as the layer inside gives it.
    """

    def __init__(self, layer: Layer, **options: Unpack[LayerOptions]) -> None:
        super().__init__(layer, **options)
        self.supports_masking = True

    def build(self, input_shape: Any = None) -> None:
        """Create the wrapped layer's weights, for one step."""
        if len(input_shape) < 3:
            raise ValueError(
                f"{self._described()}: takes inputs of rank 3 or more, [batch, steps, ...], got "
                f"{Shape(input_shape).text}"
            )
        super().build(Shape((input_shape[0], *input_shape[2:])))

    def call(self, x: Tensor, training: bool | None = None, mask: Any = None) -> Tensor:
        """The wrapped layer's output for each step."""
        options: dict[str, Any] = {}
        signature = CallSignature(type(self.layer).call)
        if signature.training is not None:
            options["training"] = training
        masked = mask is not None and "mask" in signature.masks
        if mask is not None and not mask.shape[:2].is_compatible_with(x.shape[:2]):
            raise ValueError(
                "The `mask` passed to the `TimeDistributed` layer has a shape "
                f"{mask.shape.text} that does not begin with the first two "
                f"sizes of the input {x.shape.text}"
            )
        if self._alike_for_all(training):
            return self._all_at_once(x, mask if masked else None, options)
        steps = _swapped(x)
        rows = (steps, _swapped(mask)) if masked else (steps,)

        def one(values: Any) -> Any:
            given = {"mask": values[1]} if masked else {}
            return self.layer(values[0], **given, **options)

        if x.shape[1] is None:
            like = self.layer.compute_output_spec(
                structure.map_structure(lambda row: row[0], rows)[0]
            )
            return _swapped(mapping.map_fn(one, rows, fn_output_signature=like))
        parts = zip(*(joining.unstack(row) for row in rows), strict=True)
        return joining.stack([one(values) for values in parts], axis=1)

    def _alike_for_all(self, training: bool | None) -> bool:
        """Whether the wrapped layer treats samples independently: then steps can be samples too."""
        return all(
            type(inner).__module__.startswith("pinnace.keras.")
            and not (isinstance(inner, BatchNormalization) and training)
            and not getattr(inner, "stateful", False)
            for inner in self.layer._flatten_layers()
        )

    def _all_at_once(self, x: Tensor, mask: Any, options: dict[str, Any]) -> Tensor:
        sizes = shapes.shape(x)
        flat = reshaping.reshape(x, _merged(x, sizes))
        if mask is not None:
            options["mask"] = reshaping.reshape(mask, _merged(mask, shapes.shape(mask)))
        y = self.layer(flat, **options)
        front = [sizes[i] if n is None else n for i, n in enumerate(x.shape.as_list()[:2])]
        own = shapes.shape(y)
        rest = [own[i + 1] if n is None else n for i, n in enumerate(y.shape.as_list()[1:])]
        out = reshaping.reshape(y, joining.stack([*front, *rest]) if _open(x, y) else front + rest)
        out.set_shape([*x.shape.as_list()[:2], *y.shape.as_list()[1:]])
        return out


def _open(x: Tensor, y: Tensor) -> bool:
    return None in x.shape.as_list()[:2] or None in y.shape.as_list()[1:]


def _merged(x: Tensor, sizes: Tensor) -> Any:
    """The shape of x with the batch and time axes merged."""
    known = x.shape.as_list()[2:]
    if None not in known:
        return [-1, *known]
    return joining.concat([joining.stack([-1]), sizes[2:]], 0)


def _swapped(x: Tensor) -> Tensor:
    return permutations.transpose(x, [1, 0, *range(2, x.shape.rank or 2)])
