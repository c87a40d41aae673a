"""Operators with kernels in int8 and int16, and the scales that they require.

int16 has no zero points. Weights are int8 in both cases. The lists are those of LiteRT 2.3; tests
run each operator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pinnace.deploy.lite.ir.model import Quantization
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array


@dataclass(frozen=True, slots=True)
class Width:
    """The integer type of quantised activations.

    Attributes:
        dtype: the type.
        bias: the type of biases.
        most: the largest bias, which leaves room for the sums.
        is_symmetric: whether all zero points are 0.
        fixed: operators whose kernels have a fixed output scale.
        same: operators whose outputs have the scale of their inputs.
        free: the other operators.
    """

    dtype: DType
    bias: DType
    most: int
    is_symmetric: bool
    fixed: Mapping[str, Quantization]
    same: frozenset[str]
    free: frozenset[str]

    @property
    def bits(self) -> int:
        """The number of bits."""
        return 8 * self.dtype.size

    def has(self, kind: str) -> bool:
        """Whether an operator has a kernel in this type."""
        return kind in self.same or kind in self.free or kind in self.fixed

    def for_range(self, low: float, high: float) -> Quantization:
        """The scale and zero point for the range [low, high], extended to contain 0."""
        least, most = self.dtype.min, self.dtype.max
        low, high = min(low, 0.0), max(high, 0.0)
        if self.is_symmetric:
            return Quantization((float(np.float32(max(-low, high) / most)) or 1.0,), (0,))
        scale = float(np.float32((high - low) / (most - least))) or 1.0
        zero = int(np.clip(np.rint(least - low / scale), least, most))
        return Quantization((scale,), (zero,))

    def levels(self, data: Array, how: Quantization) -> Array:
        """The nearest quantised integers."""
        found = np.rint(data / how.scales[0]) + how.zeros[0]
        levels: Array = np.clip(found, self.dtype.min, self.dtype.max).astype(self.dtype.numpy)
        return levels


_MOVES = {
    "AVERAGE_POOL_2D",
    "BATCH_TO_SPACE_ND",
    "CONCATENATION",
    "EXPAND_DIMS",
    "GATHER",
    "MAXIMUM",
    "MAX_POOL_2D",
    "MINIMUM",
    "MIRROR_PAD",
    "PACK",
    "PAD",
    "REDUCE_MAX",
    "REDUCE_MIN",
    "RESHAPE",
    "RESIZE_BILINEAR",
    "RESIZE_NEAREST_NEIGHBOR",
    "REVERSE_V2",
    "SLICE",
    "SPACE_TO_BATCH_ND",
    "SPLIT",
    "SQUEEZE",
    "STRIDED_SLICE",
    "TILE",
    "TRANSPOSE",
    "UNPACK",
}
_SUMS = {
    "ADD",
    "BATCH_MATMUL",
    "CONV_2D",
    "DEPTHWISE_CONV_2D",
    "FULLY_CONNECTED",
    "GELU",
    "LEAKY_RELU",
    "MEAN",
    "MUL",
    "RELU",
    "RELU6",
    "SUB",
    "SUM",
    "TRANSPOSE_CONV",
}

EIGHT = Width(
    dtype=dtypes.int8,
    bias=dtypes.int32,
    most=1 << 31,
    is_symmetric=False,
    fixed={
        "SOFTMAX": Quantization((1 / 256,), (-128,)),
        "LOGISTIC": Quantization((1 / 256,), (-128,)),
        "TANH": Quantization((1 / 128,), (0,)),
        "L2_NORMALIZATION": Quantization((1 / 128,), (0,)),
        "LOG_SOFTMAX": Quantization((16 / 256,), (127,)),
    },
    same=frozenset(_MOVES | {"DEPTH_TO_SPACE", "SPACE_TO_DEPTH"}),
    free=frozenset(_SUMS | {"ELU", "HARD_SWISH"}),
)
_UNIT = Quantization((1 / 32768,), (0,))
SIXTEEN = Width(
    dtype=dtypes.int16,
    bias=dtypes.int64,
    # Their kernels multiply by a scale in 48 bits.
    most=1 << 47,
    is_symmetric=True,
    fixed={"SOFTMAX": _UNIT, "LOGISTIC": _UNIT, "TANH": _UNIT},
    same=frozenset(_MOVES),
    free=frozenset(_SUMS),
)
WIDTHS = {"int8_static": EIGHT, "int16_static": SIXTEEN}
