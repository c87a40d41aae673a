"""Weights quantized to 8 or 4 bits: their components, dequantization, and products."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.functions.custom_gradients import custom_gradient
from pinnace.keras import ops
from pinnace.keras.quantized_policies import Int4DTypePolicy, QuantizedDTypePolicy
from pinnace.keras.quantizers import absolute, configs, nibbles

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pinnace.framework.tensor import Array, Tensor
    from pinnace.keras.dtype_policy import DTypePolicy

# Sums of this many products of two bytes are exact in float32: each is below 2**14.
_EXACT_IN_SINGLE = 1 << 10


@dataclass(frozen=True)
class Form:
    """The quantized form of a kind of layer's weight.

    Attributes:
        shape: shape of the weight as floats.
        axes: the axes that share one scale.
        scale_shape: shape of the scale in 8 bits, as it is kept.
        order: the axes of the weight in the order in which the kept scale has them.
        rows_last: whether groups of 4 bits are along the last axis rather than along the rows.
    """

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    scale_shape: tuple[int, ...]
    order: tuple[int, ...]
    rows_last: bool = False

    @property
    def matrix(self) -> tuple[int, int]:
        """The weight's matrix form, as it is stored in 4 bits."""
        if self.rows_last:
            return self.shape[0], self.shape[1]
        rows = math.prod(self.shape[axis] for axis in self.axes)
        return rows, math.prod(self.shape) // rows


class Stored:
    """A weight in few bits.

    Args:
        form: how its layer quantizes.
        mode: "int8" or "int4".
        block_size: rows in a group, in 4 bits; None for a scale by column alone.
        weights: quantizes the weight.
        inputs: quantizes inputs; None for floats.
    """

    def __init__(
        self, form: Form, mode: str, block_size: int | None, weights: Any, inputs: Any
    ) -> None:
        self.form = form
        self.mode = mode
        self.block_size = block_size
        self.inputs = inputs
        self._weights = weights

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the float weight."""
        return self.form.shape

    def variables(self) -> dict[str, tuple[tuple[int, ...], str | None, Any]]:
        """Component -> shape, dtype (None for the layer's dtype of weights) and initial value."""
        form = self.form
        if self.mode == "int8":
            return {
                "main": (form.shape, "int8", "zeros"),
                "scale": (form.scale_shape, None, "ones"),
            }
        rows, columns = form.matrix
        grouped = columns if form.rows_last else rows
        found: dict[str, tuple[tuple[int, ...], str | None, Any]] = {
            "main": ((rows, (columns + 1) // 2), "int8", "zeros")
        }
        if self.block_size is None:
            return {**found, "scale": ((rows if form.rows_last else columns,), None, "ones")}
        groups = math.ceil(grouped / self.block_size)
        shape = (rows, groups) if form.rows_last else (groups, columns)
        size = self.block_size

        def group_of(shape: Any, dtype: Any = None) -> Any:
            return ops.floor_divide(ops.arange(shape[0], dtype=dtype), size)

        return {
            **found,
            "scale": (shape, None, "ones"),
            "zero": (shape, "int8", "zeros"),
            "g_idx": ((grouped,), "float32", group_of),
        }

    def parts_of(self, value: Array) -> dict[str, Any]:
        """The components of a float weight."""
        if self.mode == "int8":
            integers, scale = self._weights(value, to_numpy=True)
            return {"main": integers, "scale": self.kept_scale(scale)}
        matrix = np.asarray(value).reshape(self.form.matrix)
        zero: Any = None
        if self.block_size is None:
            integers, scale = self._weights(matrix, to_numpy=True)
            scale = ops.reshape(scale, (-1,))
        else:
            turned = matrix.T if self.form.rows_last else matrix
            found = absolute.abs_max_quantize_grouped_with_zero_point(
                turned, self.block_size, to_numpy=True
            )
            integers, scale, zero = map(ops.transpose, found) if self.form.rows_last else found
        packed, _, _ = nibbles.pack_int4(integers, axis=-1)
        parts = {"main": packed, "scale": scale}
        return parts if zero is None else {**parts, "zero": zero}

    def kept_scale(self, scale: Any) -> Tensor:
        """The stored form of an 8-bit scale, whose reduced axes have size 1."""
        turned: Tensor = ops.transpose(scale, self.form.order)
        return ops.reshape(turned, self.form.scale_shape)

    def integers(self, main: Any) -> Tensor:
        """The weight's integers, unpacked, in its shape."""
        if self.mode == "int8":
            whole: Tensor = ops.convert_to_tensor(main)
            return whole
        unpacked = nibbles.unpack_int4(main, self.form.matrix[1], axis=-1)
        return ops.reshape(unpacked, self.shape)

    def floats(self, parts: Mapping[str, Any], dtype: Any) -> Tensor:
        """The dequantized weight."""
        if self.mode == "int8":
            order = self.form.order
            sizes = [1 if axis in self.form.axes else self.shape[axis] for axis in order]
            scale = ops.transpose(ops.reshape(parts["scale"], sizes), np.argsort(order).tolist())
            return ops.divide(ops.cast(parts["main"], dtype), scale)
        integers = nibbles.unpack_int4(parts["main"], self.form.matrix[1], axis=-1)
        if self.block_size is None:
            scale = ops.convert_to_tensor(parts["scale"])
            scale = ops.expand_dims(scale, -1) if self.form.rows_last else scale
            found = ops.divide(ops.cast(integers, dtype), scale)
        else:
            axis = -1 if self.form.rows_last else 0
            found = absolute.without_groups(
                integers, parts["scale"], parts["zero"], parts["g_idx"], axis
            )
        return ops.reshape(ops.cast(found, dtype), self.shape)


def stored(form: Form, mode: str, config: Any, policy: DTypePolicy) -> Stored:
    """The quantized form of a weight.

    Raises:
        NotImplementedError: unknown mode.
    """
    given = None if config is None else config.weight_quantizer
    if mode == "int8":
        inputs = absolute.AbsMaxQuantizer() if config is None else config.activation_quantizer
        return Stored(form, mode, None, given or absolute.AbsMaxQuantizer(axis=form.axes), inputs)
    if mode != "int4":
        raise NotImplementedError(
            f"quantized_build: Invalid quantization mode: must be 'int8' or 'int4', got {mode!r}"
        )
    size = block_size(config, policy)
    axis = -1 if form.rows_last else 0
    weights = given or absolute.AbsMaxQuantizer(axis=axis, value_range=(-8, 7))
    return Stored(
        form, mode, size, weights, None if config is None else config.activation_quantizer
    )


def block_size(config: Any, policy: DTypePolicy) -> int | None:
    """The rows of a group, from the configuration or else the policy; None without groups."""
    if isinstance(config, configs.Int4QuantizationConfig):
        return config.block_size if config.groups else None
    size = policy.block_size if isinstance(policy, Int4DTypePolicy) else -1
    return None if size == -1 else size


def policy_of(config: Any, before: DTypePolicy) -> DTypePolicy:
    """The policy of a layer quantized by this configuration."""
    if before.quantization_mode is not None:
        return before
    if config.mode == "int4":
        return Int4DTypePolicy(f"int4/{block_size(config, before) or -1}", before.name)
    return QuantizedDTypePolicy(config.mode, before.name)


def exact_product(
    product: Callable[[Any, Any], Tensor], x: Any, weight: Any, terms: int, dtype: Any
) -> Tensor:
    """A product of small integers, as their exact sum, in a float dtype.

    Args:
        product: the product of two float tensors.
        x: int8.
        weight: int8.
        terms: how many products are added up for each number.
        dtype: dtype of the result.
    """
    wide = "float32" if terms <= _EXACT_IN_SINGLE else "float64"
    return ops.cast(product(ops.cast(x, wide), ops.cast(weight, wide)), dtype)


def with_gradient(
    x: Any, value: Callable[[Any], Tensor], backward: Callable[[Any], Tensor]
) -> Tensor:
    """`value(x)`, whose gradient by x is `backward(dy)`."""

    def run(inputs: Any) -> Any:
        return value(inputs), backward

    return custom_gradient(run)(x)  # type: ignore[no-any-return]  # a tensor, as `value` gives
