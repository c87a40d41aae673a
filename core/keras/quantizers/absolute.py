"""Quantizers to integers and a scale, by the largest value or by groups with a zero point."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.keras import ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array, Tensor


class Quantizer:
    """Maps a tensor to integers and their scale; the base class returns the tensor unchanged.

    Args:
        output_dtype: name of the dtype of the integers.
    """

    def __init__(self, output_dtype: str = "int8") -> None:
        self.output_dtype = output_dtype

    def __call__(self, x: Any) -> Any:
        """`x`, quantized."""
        return x

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments; a subclass that is stored defines it.

        Raises:
            NotImplementedError: the subclass does not define it.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement get_config()")

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """The quantizer with a configuration."""
        return cls(**config)


class AbsMaxQuantizer(Quantizer):
    """`abs_max_quantize` with these settings.

    Args:
        axis: default axes that share one scale; an integer or several.
        value_range: the least and the largest integer.
        epsilon: added to the largest absolute value.
        output_dtype: name of the dtype of the integers.

    Raises:
        ValueError: `value_range` is more than int8 has, for int8.
    """

    def __init__(
        self,
        axis: int | Sequence[int] | None = None,
        value_range: tuple[int, int] = (-127, 127),
        epsilon: float = 1e-7,
        output_dtype: str = "int8",
    ) -> None:
        super().__init__(output_dtype)
        self.axis = None if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
        self.value_range = tuple(value_range)
        self.epsilon = epsilon
        if output_dtype == "int8" and not -128 <= value_range[0] <= value_range[1] <= 127:
            raise ValueError(
                "AbsMaxQuantizer: Quantizer with output_dtype='int8' requires value_range to be "
                f"within the interval [-128, 127], got {value_range}"
            )

    def __call__(
        self, x: Any, axis: int | Sequence[int] | None = None, to_numpy: bool = False
    ) -> tuple[Tensor, Tensor]:
        """The integers and the scale.

        Args:
            x: [...], floating point.
            axis: axes that share one scale; those of the constructor if None, else the last.
            to_numpy: see `abs_max_quantize`.
        """
        chosen = self.axis if axis is None else axis
        return abs_max_quantize(
            x,
            -1 if chosen is None else chosen,
            self.value_range,
            self.output_dtype,
            self.epsilon,
            to_numpy,
        )

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        config: dict[str, Any] = {
            "value_range": self.value_range,
            "epsilon": self.epsilon,
            "output_dtype": self.output_dtype,
        }
        return config if self.axis is None else {**config, "axis": self.axis}


def abs_max_quantize(
    inputs: Any,
    axis: int | Sequence[int],
    value_range: Sequence[int] = (-127, 127),
    dtype: str = "int8",
    epsilon: float = 1e-7,
    to_numpy: bool = False,
) -> tuple[Tensor, Tensor]:
    """round(inputs * scale), with scale = value_range[1] / (max(abs(inputs)) + epsilon).

    Args:
        inputs: [...], floating point.
        axis: the axes over which the maximum is taken; they have size 1 in the scale.
        value_range: the least and the largest integer.
        dtype: dtype of the integers.
        epsilon: keeps the scale finite.
        to_numpy: whether it is computed by NumPy, at once: without gradients, outside of graphs.

    Returns:
        The integers [...], and the scale in the dtype of `inputs`, to divide them by.
    """
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    least, largest = value_range
    if to_numpy:
        array = np.asarray(ops.convert_to_numpy(inputs))
        scale = largest / (np.abs(array).max(axis=axes, keepdims=True) + epsilon)
        rounded = np.clip(np.round(array * scale), least, largest)
        return (
            convert_to_tensor(rounded.astype(dtypes.as_dtype(dtype).numpy)),
            convert_to_tensor(scale.astype(array.dtype)),
        )
    x = ops.convert_to_tensor(inputs)
    found = ops.divide(largest, ops.add(ops.max(ops.abs(x), axis=axes, keepdims=True), epsilon))
    found = ops.cast(found, x.dtype)
    integers = ops.clip(ops.round(ops.multiply(x, found)), least, largest)
    return ops.cast(integers, dtype), found


def abs_max_quantize_grouped_with_zero_point(
    inputs: Any,
    block_size: int,
    value_range: Sequence[int] = (-8, 7),
    dtype: str = "int8",
    epsilon: float = 1e-7,
    to_numpy: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """round(inputs / scale) + zero, with scale and zero for each group of rows.

    Args:
        inputs: [rows, columns], floating point.
        block_size: rows in a group; the last one may have fewer.
        value_range: the least and the largest integer.
        dtype: dtype of the integers.
        epsilon: keeps the scale above 0.
        to_numpy: whether NumPy computes it, at once, as layers are quantized. There a group of
            equal numbers gets a scale from `epsilon`, here one as if its range were 2: as in Keras.

    Returns:
        The integers [rows, columns]; scales [groups, columns], in the dtype of `inputs`, and zeros
        [groups, columns], int8: (integers - zero) * scale is nearly `inputs`.
    """
    x = np.asarray(ops.convert_to_numpy(inputs))
    rows, columns = x.shape
    groups = math.ceil(rows / block_size)
    padded = np.zeros((groups * block_size, columns), x.dtype)
    padded[:rows] = x
    grouped = padded.reshape(groups, block_size, columns)
    low, high = grouped.min(axis=1), grouped.max(axis=1)
    if not to_numpy:
        alike = low == high
        low, high = np.where(alike, low - 1, low), np.where(alike, high + 1, high)
    least, largest = value_range
    scale = ((high - low + x.dtype.type(epsilon)) / (largest - least)).astype(x.dtype)
    zero = np.clip(np.round(-low / scale) + least, least, largest)
    integers = np.round(grouped / scale[:, None]) + zero[:, None]
    integers = np.clip(integers, least, largest).reshape(-1, columns)[:rows]
    return (
        convert_to_tensor(integers.astype(dtypes.as_dtype(dtype).numpy)),
        convert_to_tensor(scale),
        convert_to_tensor(zero.astype(np.int8)),
    )


def without_groups(integers: Any, scale: Any, zero: Any, group_of: Array, axis: int) -> Any:
    """(integers - zero) * scale, with scale and zero of each element's group along an axis."""
    groups = ops.cast(group_of, "int32")
    scales = ops.take(scale, groups, axis=axis)
    zeros = ops.cast(ops.take(zero, groups, axis=axis), scales.dtype)
    return ops.multiply(ops.subtract(ops.cast(integers, scales.dtype), zeros), scales)
