"""Weights that GPTQ or AWQ quantizes: floats until samples were looked at, integers after."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pinnace.keras import ops
from pinnace.keras.quantized_policies import CalibratedDTypePolicy
from pinnace.keras.quantizers import nibbles
from pinnace.keras.quantizers.calibrated import CalibratedConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pinnace.framework.tensor import Tensor
    from pinnace.keras.dtype_policy import DTypePolicy
    from pinnace.keras.layers.quantized import Form

METHODS = ("gptq", "awq")
_BITS_PACKED = 4


class Calibrated:
    """How a weight is kept, columns first: scales and zeros by column and group of rows.

    Args:
        form: how its layer quantizes.
        method: "gptq" or "awq".
        bits: of a weight.
        group_size: rows in a group; -1 for all.

    Attributes:
        is_done: whether the integers stand for the weight; the floats do until then.
        watch: is called with what the layer is called on, while samples go through.

    Raises:
        NotImplementedError: the summed axes are not the first of the weight.
    """

    def __init__(self, form: Form, method: str, bits: int, group_size: int) -> None:
        if form.rows_last or form.axes != tuple(range(len(form.axes))):
            raise NotImplementedError(
                f"quantize: {method} needs a weight whose summed axes come first, "
                f"got shape {form.shape} with axes {form.axes} summed"
            )
        self.form = form
        self.method = method
        self.bits = bits
        self.group_size = group_size
        self.is_done = False
        self.watch: Callable[[Any], None] | None = None

    def variables(self) -> dict[str, tuple[tuple[int, ...], str | None, Any]]:
        """Part -> shape, dtype (None for that of the layer's weights) and first value."""
        rows, columns = self.form.matrix
        groups = 1 if self.group_size == -1 else math.ceil(rows / self.group_size)
        packed = (columns + 1) // 2 if self.bits == _BITS_PACKED else columns
        found: dict[str, tuple[tuple[int, ...], str | None, Any]] = {
            "main": ((packed, rows), "uint8", "zeros"),
            "scale": ((columns, groups), None, "ones"),
            "zero": ((columns, groups), "uint8", "zeros"),
        }
        if self.method == "awq":
            found["awq_scales"] = ((rows,), None, "ones")
        return {**found, "g_idx": ((rows,), "float32", "zeros")}

    def integers(self, main: Any) -> Tensor:
        """The integers, a row for each column of the weight."""
        if self.bits != _BITS_PACKED:
            whole: Tensor = ops.convert_to_tensor(main)
            return whole
        return nibbles.unpack_int4(main, self.form.matrix[1], axis=0, dtype="uint8")

    def floats(self, parts: Mapping[str, Any], dtype: Any) -> Tensor:
        """The weight that the parts stand for."""
        group = ops.cast(parts["g_idx"], "int32")
        scale = ops.take(parts["scale"], group, axis=-1)
        zero = ops.cast(ops.take(parts["zero"], group, axis=-1), scale.dtype)
        integers = ops.cast(self.integers(parts["main"]), scale.dtype)
        found = ops.multiply(ops.subtract(integers, zero), scale)
        if self.method == "awq":
            found = ops.divide(found, parts["awq_scales"])
        return ops.cast(ops.reshape(ops.transpose(found), self.form.shape), dtype)


def calibrated(form: Form, method: str, config: Any, policy: DTypePolicy) -> Calibrated:
    """How a weight is kept, as a configuration or else a policy says.

    Raises:
        ValueError: neither says how many bits and rows.
    """
    told = config if isinstance(config, CalibratedConfig) else policy
    if not isinstance(told, (CalibratedConfig, CalibratedDTypePolicy)):
        raise ValueError(  # noqa: TRY004 (Keras raises it too)
            f"quantize: {method} needs a configuration or a dtype policy that says the bits and "
            f"the rows of a group, got {policy.name!r}"
        )
    return Calibrated(form, method, told.weight_bits, told.group_size)
