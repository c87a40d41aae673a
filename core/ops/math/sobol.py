"""Low-discrepancy points: SobolSample."""

from __future__ import annotations

import functools
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import as_dtype, float32, float64, int32
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.execute import execute_one
from pinnace.ops.kernels.primitive_polynomials import primitive_polynomials
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, typed
from pinnace.ops.registry import define

if TYPE_CHECKING:
    import numpy.typing as npt

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array, Tensor, TensorLike

    Table = npt.NDArray[np.int64]

__all__ = ["sobol_sample"]

_DIMENSIONS = 21200
# Points are counted in 32 bits.
_DIGITS = 31
_MOST = 2**31 - 1


def sobol_sample(
    dim: TensorLike,
    num_results: TensorLike,
    skip: TensorLike = 0,
    dtype: Any = float32,
    name: str | None = None,
) -> Tensor:
    """Points of the Sobol sequence, which cover the unit cube evenly for any number of points.

    Args:
        dim: how many numbers a point has, an int32 scalar from 1 to 21200.
        num_results: how many points, an int32 scalar.
        skip: how many points are left out before, an int32 scalar.
        dtype: float32 or float64.
        name: name of the node while tracing.

    Returns:
        [num_results, dim], `dtype`, in [0, 1). The sequence begins with its second point, 0.5
        everywhere, as TensorFlow's does.

    Raises:
        InvalidArgumentError: a number is out of range.

    Source:
        TensorFlow op `SobolSample` (math_ops.cc); Joe and Kuo, "Notes on generating Sobol
        sequences", 2008.
    """
    return execute_one(
        SOBOL_SAMPLE,
        *(convert_to_tensor(number, int32) for number in (dim, num_results, skip)),
        dtype=as_dtype(dtype),
        name=name,
    )


@functools.cache
def _bits() -> npt.NDArray[np.uint8]:
    """The bits of tools/sobol_numbers.py."""
    data = resources.files("pinnace.ops.math").joinpath("sobol_numbers.bin").read_bytes()
    return np.unpackbits(np.frombuffer(data, np.uint8))


def _numbers(bits: npt.NDArray[np.uint8]) -> Table:
    """[n, width] bits as n integers, highest bit first."""
    powers = np.left_shift(np.int64(1), np.arange(bits.shape[1])[::-1])
    return bits.astype(np.int64) @ powers


@functools.lru_cache(maxsize=4)
def _directions(dimensions: int) -> Table:
    """[dimensions, 31]: the direction number of each binary digit, as an integer.

    Source: Joe and Kuo, equation 2: the numbers of a polynomial of degree d follow from the d
    before.
    """
    out = np.ones((dimensions, _DIGITS), np.int64)
    bits = _bits()
    at, row, degree = 0, 1, 0
    while row < dimensions:
        degree += 1
        polynomials = primitive_polynomials(degree)
        count = polynomials.size
        taken = min(count, dimensions - row)
        polynomials = polynomials[:taken]
        # Bits of a dimension: 1, 2, … bits of each number.
        width = degree * (degree - 1) // 2
        block = bits[at : at + taken * width].reshape(taken, width)
        at, rows = at + count * width, out[row : row + taken]
        place = 0
        for digit in range(1, degree):
            rows[:, digit] = 2 * _numbers(block[:, place : place + digit]) + 1
            place += digit
        for digit in range(degree, _DIGITS):
            earlier = rows[:, digit - degree]
            found = earlier ^ (earlier << degree)
            for step in range(1, degree):
                found = found ^ (polynomials >> degree - step & 1) * (rows[:, digit - step] << step)
            rows[:, digit] = found
        row += taken
    return out


def _kernel(dim: Array, num_results: Array, skip: Array, *, dtype: DType) -> Array:
    dimensions, count, first = int(dim), int(num_results), int(skip)
    _check(dimensions, count, first)
    digits = (first + count + 1).bit_length()
    shifts = np.arange(digits - 1, -1, -1)
    directions = _directions(dimensions)[:, :digits] << shifts
    # Neighbours in Gray code differ in the digit after the trailing ones of the previous number.
    numbers = np.arange(first + 1, first + count, dtype=np.int64)
    turned = np.bitwise_count(numbers & ~(numbers + 1))
    changes = np.empty((count, dimensions), np.int64)
    changes[0] = _point(first + 1, directions)
    changes[1:] = directions.T[turned]
    np.bitwise_xor.accumulate(changes, axis=0, out=changes)
    scale = dtype.numpy.type(0.5**digits)
    return np.asarray(changes.astype(dtype.numpy) * scale)


def _point(number: int, directions: Table) -> Table:
    """The point with that number, as integers: combined from the set digits of its Gray code."""
    code = number ^ number >> 1
    chosen = [digit for digit in range(code.bit_length()) if code >> digit & 1]
    return np.asarray(np.bitwise_xor.reduce(directions[:, chosen], axis=1))


def _check(dimensions: int, count: int, first: int) -> None:
    if not 1 <= dimensions <= _DIMENSIONS:
        raise InvalidArgumentError(
            f"SobolSample: dim must be from 1 to {_DIMENSIONS}, got {dimensions}"
        )
    if count < 1:
        raise InvalidArgumentError(f"SobolSample: num_results must be at least 1, got {count}")
    if first < 0:
        raise InvalidArgumentError(f"SobolSample: skip must not be negative, got {first}")
    if first + count >= _MOST:
        raise InvalidArgumentError(
            f"SobolSample: num_results + skip must be less than {_MOST}, got {first + count}"
        )


def _infer(call: InferCall) -> Shape:
    for index in range(3):
        if call.spec(index).shape.rank not in {None, 0}:
            call.fail(f"{call.op.inputs[index].name} must be a scalar")
    sizes = [call.constant(index) for index in (1, 0)]
    return Shape([None if n is None else int(n) for n in sizes])


SOBOL_SAMPLE = define(
    name="SobolSample",
    signature="dim: int32, num_results: int32, skip: int32 -> samples: dtype",
    types={"dtype": typed({float32, float64}, float32)},
    infer=_infer,
    kernel=_kernel,
    gradient=NOT_DIFFERENTIABLE,
)
