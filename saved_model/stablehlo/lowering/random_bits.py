"""Random bits of a counter, the same as XLA's on a processor: ThreeFry 2x32 and Philox 4x32."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework import dtypes
from pinnace.saved_model.stablehlo.lowering.elementwise import UNSIGNED, as_type, bits_of
from pinnace.saved_model.stablehlo.lowering.operands import constant, op
from pinnace.saved_model.stablehlo.lowering.registry import Call, lowers
from pinnace.saved_model.stablehlo.lowering.shapes import static

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor

_MOST_NUMBERS = 1 << 26
_PARITY = 0x1BD11BDA
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PHILOX = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)


def _word(value: int) -> Tensor:
    return constant(value & 0xFFFFFFFF, dtypes.uint32)


def _long(value: int) -> Tensor:
    return constant(value & 0xFFFFFFFFFFFFFFFF, dtypes.uint64)


def _low(x: Tensor) -> Tensor:
    return as_type(op("BitwiseAnd", x, _long(0xFFFFFFFF)), dtypes.uint32)


def _high(x: Tensor) -> Tensor:
    return as_type(op("RightShift", x, _long(32)), dtypes.uint32)


@lowers("rng_bit_generator")
def lower_rng_bit_generator(call: Call) -> Sequence[Tensor]:
    """The next state, and uniformly distributed bits."""
    algorithm = call.operation.text("rng_algorithm")
    shape, dtype = static(call, 1), call.result(1).dtype
    count = math.prod(shape)
    if count > _MOST_NUMBERS:
        call.refuse(f"more than {_MOST_NUMBERS} numbers at once are not translated")
    state = call.full(0)
    words = state
    if state.dtype is not dtypes.uint64:
        pairs = op("Reshape", state, [-1, 2])
        words = op("Bitcast", pairs, type=dtypes.uint64)
    length = words.shape[0]
    width = bits_of(dtype)
    if length not in {2, 3} or width not in UNSIGNED or dtype.is_complex:
        call.refuse("its state or its dtype does not match its algorithm")
    if algorithm != "THREE_FRY":
        numbers, after = _philox(words, int(length or 0), count, wide=width == 64)
        numbers = op("Reshape", numbers, constant(shape, dtypes.int32))
    else:
        numbers, after = _threefry(words, shape, wide=width == 64)
    numbers = as_type(numbers, UNSIGNED[width])
    if dtype is not numbers.dtype:
        numbers = op("Bitcast", numbers, type=dtype)
    if state.dtype is not dtypes.uint64:
        after = op("Reshape", op("Bitcast", after, type=state.dtype), [-1])
    return [after, numbers]


def _threefry(state: Tensor, shape: Sequence[int], *, wide: bool) -> tuple[Tensor, Tensor]:
    """A key and a counter, 20 rounds; two 32-bit words per counter."""
    half, split = list(shape), None
    if not wide:
        # Along an even axis, otherwise the largest, one half is first words, the other second.
        half = half or [1]
        even = [axis for axis, size in enumerate(half) if size % 2 == 0]
        split = even[0] if even and shape else int(np.argmax(half))
        half[split] = (half[split] + 1) // 2
    count = math.prod(half)
    numbers = op("AddV2", state[1], constant(np.arange(count, dtype=np.uint64), dtypes.uint64))
    x, y = _rounds(_low(state[0]), _high(state[0]), _low(numbers), _high(numbers))
    size = constant(half, dtypes.int32)
    x, y = op("Reshape", x, size), op("Reshape", y, size)
    after = op("Pack", [state[0], op("AddV2", state[1], _long(count))])
    if split is None:
        high = op("LeftShift", as_type(y, dtypes.uint64), _long(32))
        return op("BitwiseOr", as_type(x, dtypes.uint64), high), after
    if not shape:
        return op("Reshape", x, constant([], dtypes.int32)), after
    both = op("Pack", [x, y], axis=split + 1)
    half[split] *= 2
    joined = op("Reshape", both, constant(half, dtypes.int32))
    zeros = constant([0] * len(shape), dtypes.int32)
    return op("Slice", joined, zeros, constant(shape, dtypes.int32)), after


def _rounds(k0: Tensor, k1: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    keys = [k0, k1, op("BitwiseXor", op("BitwiseXor", k0, k1), _word(_PARITY))]
    x, y = op("AddV2", x, keys[0]), op("AddV2", y, keys[1])
    for turn in range(5):
        for amount in _ROTATIONS[turn % 2]:
            x = op("AddV2", x, y)
            left = op("LeftShift", y, _word(amount))
            rotated = op("BitwiseOr", left, op("RightShift", y, _word(32 - amount)))
            y = op("BitwiseXor", rotated, x)
        x = op("AddV2", x, keys[(turn + 1) % 3])
        y = op("AddV2", op("AddV2", y, keys[(turn + 2) % 3]), _word(turn + 1))
    return x, y


def _philox(state: Tensor, length: int, count: int, *, wide: bool) -> tuple[Tensor, Tensor]:
    """A key and a two-word counter, 10 rounds; four 32-bit words per counter."""
    words = count * 2 if wide else count
    blocks = -(-words // 4)
    # For a state of two words, the key is also the counter's upper half.
    upper = state[2] if length > 2 else state[0]
    low = op("AddV2", state[1], constant(np.arange(blocks, dtype=np.uint64), dtypes.uint64))
    high = op("AddV2", upper, _carry(low, state[1]))
    c = [_low(low), _high(low), _low(high), _high(high)]
    k0, k1 = _low(state[0]), _high(state[0])
    for _ in range(10):
        first = op("Mul", as_type(c[0], dtypes.uint64), _long(_PHILOX[0]))
        second = op("Mul", as_type(c[2], dtypes.uint64), _long(_PHILOX[1]))
        c = [
            op("BitwiseXor", op("BitwiseXor", _high(second), c[1]), k0),
            _low(second),
            op("BitwiseXor", op("BitwiseXor", _high(first), c[3]), k1),
            _low(first),
        ]
        k0, k1 = op("AddV2", k0, _word(_WEYL[0])), op("AddV2", k1, _word(_WEYL[1]))
    flat = op("Reshape", op("Pack", c, axis=1), [-1])
    numbers = op("Slice", flat, [0], [words])
    if wide:
        pairs = as_type(op("Reshape", numbers, [-1, 2]), dtypes.uint64)
        numbers = op("BitwiseOr", pairs[:, 0], op("LeftShift", pairs[:, 1], _long(32)))
    after_low = op("AddV2", state[1], _long(blocks))
    after = [state[0], after_low]
    if length > 2:
        after.append(op("AddV2", upper, _carry(after_low, state[1])))
    return numbers, op("Pack", after)


def _carry(after: Tensor, before: Tensor) -> Tensor:
    return as_type(op("Less", after, before), dtypes.uint64)
