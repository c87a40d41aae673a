"""Arrays of older files, converted to the form of today's layers.

Keras 1 stores a recurrence's gates separately and kernels of channels first as [out, in, rows,
columns]. Theano's convolutions flip kernels. `CuDNNLSTM` and `CuDNNGRU` store their kernels
transposed and two biases.

Source:
    Keras 2's own reader of such files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.keras.saving import hdf5_files

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array

_CONVOLUTIONS = ("Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose", "Conv3DTranspose", "ConvLSTM2D")
_GATES = {"LSTM": 4, "ConvLSTM2D": 4, "GRU": 3}
# Keras 1's gates in today's order: i, c, f, o become i, f, c, o.
_ORDER = {4: (0, 2, 1, 3), 3: (0, 1, 2)}
_BACKWARDS = frozenset({"theano", "cntk"})


@dataclass(frozen=True, slots=True)
class Form:
    """The format of a file's arrays.

    Attributes:
        is_of_keras_1: whether Keras 1 wrote it.
        is_backwards: whether convolutions read its kernels from the end.
    """

    is_of_keras_1: bool = False
    is_backwards: bool = False

    @property
    def is_todays(self) -> bool:
        """Whether only CuDNN layers need conversion."""
        return not (self.is_of_keras_1 or self.is_backwards)


def form_of(group: Any, names: Sequence[str]) -> Form:
    """The form of a group that lists weights.

    Args:
        group: group of the file.
        names: names of arrays in it; only those of Keras 1 have no slash.
    """
    version = hdf5_files.text(group, "keras_version")
    if version is None:
        version = hdf5_files.text(group.file, "keras_version")
    backend = hdf5_files.text(group, "backend") or hdf5_files.text(group.file, "backend")
    if version is None:
        is_first = bool(names) and not any("/" in name for name in names)
    else:
        is_first = version.startswith(("0.", "1."))
    return Form(is_first, backend in _BACKWARDS)


def is_of_cudnn(layer: Any, shapes: Sequence[tuple[int, ...]]) -> bool:
    """Whether arrays of these shapes are in the CuDNN format of a layer."""
    while hasattr(layer, "forward_layer"):
        layer, shapes = layer.forward_layer, shapes[: len(shapes) // 2]
    gates = _GATES.get(type(layer).__name__)
    if gates is None or len(shapes) != 3 or type(layer).__name__ == "ConvLSTM2D":
        return False
    return tuple(shapes[2]) == (2 * gates * layer.units,)


def converted(layer: Any, arrays: Sequence[Array], form: Form) -> list[Array]:
    """The arrays of a layer, or of a model, in today's form and in the same order.

    Args:
        layer: built.
        arrays: as the file lists them: what is trained of each layer, then the rest of each.
        form: format of the file.
    """
    left = list(arrays)
    made: list[Array] = []
    leaves = _leaves(layer, is_frozen=False)
    for leaf, is_frozen in leaves:
        if not is_frozen:
            made += _weights(leaf, left, len([v for v in leaf.weights if v.trainable]), form)
    for leaf, is_frozen in leaves:
        if is_frozen:
            made += _weights(leaf, left, len(leaf.weights), form)
        else:
            made += _taken(left, len([v for v in leaf.weights if not v.trainable]))
    return [*made, *left]


def _taken(left: list[Array], count: int) -> list[Array]:
    taken, left[:] = left[:count], left[count:]
    return taken


def _leaves(layer: Any, is_frozen: bool) -> list[tuple[Any, bool]]:
    """The innermost layers in the order in which files list weights, and whether each is frozen."""
    is_frozen = is_frozen or not layer.trainable
    if hasattr(layer, "_topology"):
        parts = layer.layers
    elif hasattr(layer, "forward_layer"):
        parts = [layer.forward_layer, layer.backward_layer]
    elif type(layer).__name__ == "TimeDistributed":
        parts = [layer.layer]
    else:
        return [(layer, is_frozen)]
    return [leaf for part in parts for leaf in _leaves(part, is_frozen)]


def _weights(layer: Any, left: list[Array], count: int, form: Form) -> list[Array]:
    """A layer's weights, taken from the remaining arrays."""
    kind = type(layer).__name__
    gates = _GATES.get(kind)
    if gates and form.is_of_keras_1 and len(left) > 2 and left[2].shape == (_width(layer),):
        arrays = _gates_together(_taken(left, 3 * gates), gates, axis=_axis_of_gates(layer))
    else:
        arrays = _taken(left, count)
    if gates and is_of_cudnn(layer, [a.shape for a in arrays]):
        arrays = _from_cudnn(arrays, gates)
    if kind in _CONVOLUTIONS and arrays:
        kernels = 2 if kind == "ConvLSTM2D" else 1
        for at in range(kernels):
            kernel = arrays[at]
            if form.is_of_keras_1:
                kernel = _spatial(kind, layer, kernel)
            if form.is_backwards:
                kernel = kernel[(slice(None, None, -1),) * (kernel.ndim - 2)]
            arrays[at] = kernel
    return arrays


def _width(layer: Any) -> int:
    return int(layer.filters if hasattr(layer, "filters") else layer.units)


def _axis_of_gates(layer: Any) -> int:
    is_first = getattr(layer, "data_format", None) == "channels_first"
    return 0 if is_first else -1


def _gates_together(arrays: list[Array], gates: int, axis: int) -> list[Array]:
    kinds = [[arrays[3 * gate + kind] for gate in _ORDER[gates]] for kind in range(3)]
    kernel, recurrent, bias = kinds
    return [
        np.concatenate(kernel, axis if kernel[0].ndim > 2 else -1),
        np.concatenate(recurrent, axis if recurrent[0].ndim > 2 else -1),
        np.concatenate(bias),
    ]


def _spatial(kind: str, layer: Any, kernel: Array) -> Array:
    """Keras 1's kernel as [rows, columns, …, in, out], or [..., out, in] if it is transposed."""
    is_first = getattr(layer, "data_format", None) == "channels_first"
    if kind == "Conv1D" and kernel.ndim == 4:
        if kernel.shape[1] != 1:  # Keras 1.0 and 1.1: [out, in, length, 1]
            kernel = kernel.transpose(2, 3, 1, 0)
        return kernel[:, 0]
    if kind == "Conv2DTranspose":
        return kernel.transpose(2, 3, 0, 1) if is_first else kernel.transpose(0, 1, 3, 2)
    if is_first and kernel.ndim > 3:
        return kernel.transpose(*range(2, kernel.ndim), 1, 0)
    return kernel


def _from_cudnn(arrays: list[Array], gates: int) -> list[Array]:
    kernel, recurrent, bias = arrays
    kernels = [part.T.reshape(part.shape, order="F") for part in np.split(kernel, gates, 1)]
    recurrents = [part.T for part in np.split(recurrent, gates, 1)]
    halves = bias.reshape(2, -1)
    return [
        np.concatenate(kernels, 1),
        np.concatenate(recurrents, 1),
        halves.sum(0) if gates == 4 else halves,
    ]
