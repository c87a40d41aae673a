"""Bidirectional: a recurrent layer run over a sequence in both directions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, Unpack

from pinnace.keras import registry
from pinnace.keras.call_signature import CallSignature
from pinnace.keras.layer import Layer, LayerOptions
from pinnace.ops.array import casting, joining, permutations
from pinnace.ops.math import arithmetic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor

_MODES = ("concat", "sum", "mul", "ave", None)


class Bidirectional(Layer):
    """Two copies of a recurrent layer, one of which runs backwards.

    Args:
        layer: an RNN, or a layer with its attributes; two new layers are made like it.
        merge_mode: how the two outputs become one: `concat`, `sum`, `mul`, `ave`; None gives both.
        weights: values of the weights, those of the forward layer first.
        backward_layer: the layer that goes backwards; made like `layer` if None.
        **options: see Layer.

    Shapes:
        x [b, steps, in] → as the layer's outputs, the last axis twice as long for `concat`; with
        `return_state` the forward states, then the backward ones.

    Raises:
        ValueError: unknown mode; layers that do not go in opposite directions or differ in what
            they return.
    """

    _untracked = frozenset({"_first_weights"})

    def __init__(
        self,
        layer: Any,
        merge_mode: str | None = "concat",
        weights: Sequence[Any] | None = None,
        backward_layer: Any = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        for name, given in (("layer", layer), ("backward_layer", backward_layer)):
            if not isinstance(given, Layer) and (name == "layer" or given is not None):
                raise ValueError(
                    f"Bidirectional: {name} must be a Layer, got {type(given).__name__}"
                )
        if merge_mode not in _MODES:
            raise ValueError(
                f"Bidirectional: merge_mode must be one of concat, sum, mul, ave or None, "
                f"got {merge_mode!r}"
            )
        super().__init__(**options)
        self.forward_layer: Any = _like(layer, "forward")
        if backward_layer is None:
            self.backward_layer: Any = _like(layer, "backward", go_backwards=not layer.go_backwards)
        else:
            self.backward_layer = backward_layer
        self._check_directions()
        for one in (self.forward_layer, self.backward_layer):
            if hasattr(one, "zero_output_for_mask"):
                one.zero_output_for_mask = one.return_sequences
        self.merge_mode = merge_mode
        self._first_weights = weights
        self.stateful = layer.stateful
        self.return_sequences = layer.return_sequences
        self.return_state = layer.return_state
        self.supports_masking = True
        self.input_spec = layer.input_spec

    def _check_directions(self) -> None:
        forward, backward = self.forward_layer, self.backward_layer
        if forward.go_backwards == backward.go_backwards:
            raise ValueError(
                "Bidirectional: layer and backward_layer must go in opposite directions, got "
                f"go_backwards={forward.go_backwards} for both"
            )
        for name in ("stateful", "return_sequences", "return_state"):
            one, other = getattr(forward, name), getattr(backward, name)
            if one != other:
                raise ValueError(
                    f"Bidirectional: {name} must be the same for both layers, got {one} and {other}"
                )

    @property
    def layer(self) -> Any:
        """The forward layer."""
        return self.forward_layer

    def build(self, sequences_shape: Any, initial_state_shape: Any = None) -> None:
        """Create the weights of both directions."""
        del initial_state_shape
        for one in (self.forward_layer, self.backward_layer):
            if not one.built:
                one.build_inside(sequences_shape)
        values = self._first_weights
        if values is not None:
            self.set_weights(values)

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """The mask of the sequences, if sequences are returned."""
        del inputs
        mask = previous_mask if self.return_sequences else None
        found = mask if self.merge_mode else [mask, mask]
        if not self.return_state:
            return found
        states = [None] * (2 * len(self.forward_layer.state_size))
        return [*found, *states] if isinstance(found, list) else [found, *states]

    def call(
        self,
        sequences: Any,
        initial_state: Any = None,
        mask: Any = None,
        training: bool | None = None,
    ) -> Any:
        """The merged outputs, then the states if requested."""
        half = len(initial_state) // 2 if initial_state is not None else 0
        parts = [None, None]
        if initial_state is not None:
            parts = [initial_state[:half], initial_state[half:]]
        results = []
        for one, states in zip((self.forward_layer, self.backward_layer), parts, strict=True):
            signature = CallSignature(type(one).call)
            options: dict[str, Any] = {} if states is None else {"initial_state": states}
            if signature.training is not None:
                options["training"] = training
            if "mask" in signature.masks:
                options["mask"] = mask
            results.append(one(sequences, **options))
        forward, backward = results
        states = ()
        if self.return_state:
            states = (*forward[1:], *backward[1:])
            forward, backward = forward[0], backward[0]
        # The layers' policy may be another.
        forward, backward = (casting.cast(x, self.compute_dtype) for x in (forward, backward))
        if self.return_sequences:
            backward = permutations.reverse(backward, [1])
        output = self._merged(forward, backward)
        if self.merge_mode is None:
            return (*output, *states)
        return (output, *states) if self.return_state else output

    def _merged(self, forward: Tensor, backward: Tensor) -> Any:
        if self.merge_mode == "concat":
            return joining.concat([forward, backward], -1)
        if self.merge_mode == "mul":
            return arithmetic.multiply(forward, backward)
        if self.merge_mode is None:
            return (forward, backward)
        total = arithmetic.add(forward, backward)
        return total / 2 if self.merge_mode == "ave" else total

    def reset_states(self) -> None:
        """Reset the states of both layers to zeros, if they are stateful."""
        self.forward_layer.reset_states()
        self.backward_layer.reset_states()

    def reset_state(self) -> None:
        """Keras 3's name of `reset_states`."""
        self.reset_states()

    def get_config(self) -> dict[str, Any]:
        """See Layer."""
        return {
            **super().get_config(),
            "merge_mode": self.merge_mode,
            "layer": registry.serialize_keras_object(self.forward_layer),
            "backward_layer": registry.serialize_keras_object(self.backward_layer),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Self:
        """The layer with that configuration."""
        arguments = {
            key: registry.deserialize_keras_object(value, custom_objects)
            for key, value in config.items()
        }
        return cls(**arguments)


def _like(layer: Any, direction: str, **changes: Any) -> Any:
    """A new layer with another one's configuration, with changes."""
    stored = registry.serialize_keras_object(layer)
    name = layer.name.removeprefix(f"{direction}_")
    stored["config"] = {**stored["config"], **changes, "name": f"{direction}_{name}"}
    return registry.deserialize_keras_object(stored, {type(layer).__name__: type(layer)})
