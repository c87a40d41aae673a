"""GPTQ: what the rounding of a row loses, the rows after it make up for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.keras import ops
from pinnace.keras.quantizers import nibbles
from pinnace.keras.quantizers.groups import scale_and_zero, to_integers

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array
    from pinnace.keras.quantizers.calibrated import GPTQConfig

# So many rows are rounded before the rows after them are told.
_BLOCK = 128


class InputProducts:
    """Twice the mean of the products of what a layer is called on: the Hessian of its outputs.

    Args:
        rows: of the layer's weight.
    """

    def __init__(self, rows: int) -> None:
        self.samples = 0
        self.hessian = np.zeros((rows, rows), np.float32)

    def see(self, inputs: Any) -> None:
        """The layer is called on these."""
        x = np.asarray(ops.convert_to_numpy(inputs), np.float32).reshape(-1, len(self.hessian))
        total = self.samples + len(x)
        self.hessian = self.hessian * (self.samples / total) + x.T @ x * np.float32(2 / total)
        self.samples = total

    def parts(self, matrix: Array, config: GPTQConfig) -> dict[str, Any]:
        """The parts of the quantized weight, see `Calibrated`.

        Args:
            matrix: float[rows, columns], the weight.
            config: how.
        """
        importance = np.diagonal(self.hessian)
        importance = np.where(importance == 0, 1, importance)
        importance = importance + config.hessian_damping * importance.mean()
        damped = self.hessian.astype(np.float64)
        np.fill_diagonal(damped, importance)
        rows = len(matrix)
        order = np.arange(rows)
        if config.activation_order:
            order = np.argsort(-importance, kind="stable")
        inverse = np.linalg.inv(damped)[np.ix_(order, order)]
        found, scale, zero, group = _rounded(matrix.T[:, order], inverse, config)
        back = np.argsort(order)
        main: Any = found[:, back].astype(np.uint8)
        if config.weight_bits == 4:
            main, _, _ = nibbles.pack_int4(main, axis=0, dtype="uint8")
        return {"main": main, "scale": scale, "zero": zero, "g_idx": group[back]}


def _rounded(
    weight: Array, inverse: Array, config: GPTQConfig
) -> tuple[Array, Array, Array, Array]:
    """Integers, scales, zeros and groups of a weight, float[columns, rows].

    Source:
        Keras 3.15: the inverse of the Hessian as it is; the scales of a group from the weights as
        they were when the last block of rows was done.
    """
    columns, rows = weight.shape
    size = rows if config.group_size == -1 else config.group_size
    left = weight.astype(np.float64)
    found = np.zeros((columns, rows), np.float32)
    scales: list[Array] = []
    zeros: list[Array] = []
    for start in range(0, rows, _BLOCK):
        end = min(start + _BLOCK, rows)
        block = left[:, start:end].copy()
        errors = np.zeros_like(block)
        for place in range(start, end):
            if place % size == 0:
                group = left[:, place : place + size]
                scale, zero = scale_and_zero(
                    group,
                    config.weight_bits,
                    symmetric=config.symmetric,
                    per_row=config.per_channel,
                )
                scales.append(scale)
                zeros.append(zero)
            own = block[:, place - start, None]
            integers = to_integers(own, scales[-1], zeros[-1], config.weight_bits)
            found[:, place] = integers[:, 0]
            lost = (own - scales[-1] * (integers - zeros[-1])) / inverse[place, place]
            errors[:, place - start] = lost[:, 0]
            block[:, place - start + 1 :] -= lost * inverse[place, None, place + 1 : end]
        left[:, end:] -= errors @ inverse[start:end, end:]
    groups = np.floor(np.arange(rows) / size).astype(np.float32)
    return found, np.concatenate(scales, axis=1), np.concatenate(zeros, axis=1), groups
