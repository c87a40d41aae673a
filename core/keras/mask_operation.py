"""The mask of a KerasTensor as a tensor of a functional model."""

from __future__ import annotations

from typing import Any

from pinnace.keras import masks, ops, registry
from pinnace.keras.layer import Layer
from pinnace.keras.layers.embedding import Embedding
from pinnace.keras.layers.masking import Masking
from pinnace.keras.layers.recurrent.bidirectional import Bidirectional
from pinnace.keras.layers.recurrent.rnn import RNN
from pinnace.keras.names import unique_name
from pinnace.keras.operation import Operation
from pinnace.keras.symbolic import KerasTensor


# Keras has no such class: only this library can read files that contain it.
@registry.register_keras_serializable(package="pinnace")
class MaskOf(Operation):
    """The mask that its input carries or, for a KerasTensor, will carry."""

    def call(self, x: Any) -> Any:
        """The mask.

        Raises:
            ValueError: the tensor has no mask.
        """
        mask = masks.mask_of(x)
        if mask is None:
            raise ValueError(
                f"{self.name}: the tensor has no mask, and its KerasTensor had one\n"
                "  Try: give the model inputs with masks, as when it was made"
            )
        return mask

    def compute_output_spec(self, x: Any) -> Any:
        """The static type of the mask."""
        return x.mask_spec if isinstance(x, KerasTensor) else super().compute_output_spec(x)


def mask_of_keras_tensor(x: KerasTensor) -> KerasTensor:
    """The KerasTensor of the mask that `x` will carry.

    If the way in which a layer computes its mask is known, the mask is made of Keras' operations,
    as in Keras; else the mask is the one found on the tensor.
    """
    made = _of_operations(x)
    if made is None:
        made = MaskOf()(x)
    mask: KerasTensor = made
    return mask


KerasTensor._made_mask = mask_of_keras_tensor  # type: ignore[method-assign,assignment]


def _of_operations(x: KerasTensor) -> Any:
    node = x.node
    if node is None or len(node.args) != 1 or not isinstance(node.args[0], KerasTensor):
        return None
    layer, source = node.layer, node.args[0]
    if type(layer) is Embedding and not source.sparse:
        return _named(ops.not_equal(source, 0))
    if type(layer) is Masking:
        return _named(ops.any(_named(ops.not_equal(source, layer.mask_value)), axis=-1))
    if source.mask_spec is None:
        return None
    kind = type(layer).compute_mask
    if kind is Layer.compute_mask or (
        kind in {RNN.compute_mask, Bidirectional.compute_mask}
        and layer.return_sequences
        and (isinstance(layer, RNN) or layer.merge_mode)
    ):
        return source._keras_mask
    return None


def _named(mask: Any) -> Any:
    """An operation's mask, named differently from the next one that Keras would create.

    Keras computes masks itself when it reads a model, which may then contain a name twice.
    """
    mask.node.layer._name = unique_name(f"mask_{mask.node.layer.name}")
    return mask
