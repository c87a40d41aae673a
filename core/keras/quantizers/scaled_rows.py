"""AWQ: rows with large inputs are scaled up before they are rounded, by the best of some powers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.keras import ops
from pinnace.keras.quantizers import nibbles
from pinnace.keras.quantizers.groups import scale_and_zero, to_integers

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array
    from pinnace.keras.quantizers.calibrated import AWQConfig

_SMALLEST = 1e-8
_SMALLEST_SCALE = 1e-4


class InputSizes:
    """The largest absolute value of what each row of a layer's weight is multiplied by.

    Args:
        rows: of the layer's weight.
    """

    def __init__(self, rows: int) -> None:
        self.samples = 0
        self.largest = np.zeros(rows, np.float32)

    def see(self, inputs: Any) -> None:
        """The layer is called on these."""
        x = np.asarray(ops.convert_to_numpy(inputs), np.float32).reshape(-1, len(self.largest))
        self.largest = np.maximum(self.largest, np.abs(x).max(axis=0, initial=0))
        self.samples += len(x)

    def parts(self, matrix: Array, config: AWQConfig) -> dict[str, Any]:
        """The parts of the quantized weight, see `Calibrated`.

        Args:
            matrix: float[rows, columns], the weight.
            config: how.
        """
        weight = matrix.T.astype(np.float32)
        sizes = np.where(self.largest < _SMALLEST, 1, self.largest).astype(np.float32)
        best, least = np.ones_like(sizes), np.inf
        for step in range(config.num_grid_points + 1):
            powers = np.maximum(sizes ** (step / config.num_grid_points), _SMALLEST_SCALE)
            middle = np.sqrt(powers.max() * powers.min())
            scales = (powers / np.maximum(middle, _SMALLEST)).astype(np.float32)
            integers, scale, zero, group = _rounded(weight * scales, config)
            back = (integers - zero[:, group]) * scale[:, group] / scales
            loss = np.mean((weight - back) ** 2 * sizes**2)
            if loss < least:
                best, least = scales, loss
        integers, scale, zero, group = _rounded(weight * best, config)
        main, _, _ = nibbles.pack_int4(integers.astype(np.uint8), axis=0, dtype="uint8")
        return {"main": main, "scale": scale, "zero": zero, "awq_scales": best, "g_idx": group}


def _rounded(weight: Array, config: AWQConfig) -> tuple[Array, Array, Array, Array]:
    """Integers, scales, zeros and groups of a weight, float[columns, rows]."""
    rows = weight.shape[1]
    size = rows if config.group_size == -1 else config.group_size
    found = [
        scale_and_zero(weight[:, start : start + size], config.weight_bits)
        for start in range(0, rows, size)
    ]
    scale, zero = (np.concatenate(each, axis=1) for each in zip(*found, strict=True))
    group = np.arange(rows) // size
    integers = to_integers(weight, scale[:, group], zero[:, group], config.weight_bits)
    return integers, scale, zero, group
