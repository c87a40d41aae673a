"""Conversions of float32 to and from floats of 16 bits as machine code, to the nearest even.

NumPy converts number by number. The instructions here are those on integers that all processors'
vectors have, and select among results instead of branching. A part of the numbers is indexed from
0, so that LLVM vectorises (see `descents`).
"""

from __future__ import annotations

_BEGIN = """
from numba.types import uint16, uint32
from pinnace.engine.codegen.mathematics import as_bits, as_float

WORDS = types.Array(uint16, 1, "C"{readonly})
INFINITE = uint32(0x7F800000)


@njit([void(int64, int64, {types})], cache=True, nogil=True, error_model="numpy")
def kernel(start, stop, x, y):
    whole_vectors()
    given, made = x[start:stop], y[start:stop]
    for n in range(made.size):
"""
_READ = _BEGIN.format(readonly=", readonly=True", types="WORDS, WRITTEN")
_WRITE = _BEGIN.format(readonly="", types="READ, WORDS")

# A subnormal number is the difference of two normal ones with the same exponent, so that it is
# right also where the processor takes subnormal operands for 0.
_FROM_HALVES = f"""{_READ}
        half = uint32(given[n])
        size = uint32((half & uint32(0x7FFF)) << uint32(13))
        power = size & uint32(0x0F800000)
        least = uint32(size + uint32(0x38800000))
        small = uint32(as_bits(as_float(least) - as_float(uint32(0x38800000))))
        bits = small if power == uint32(0) else uint32(size + uint32(0x38000000))
        bits = uint32(size | INFINITE) if power == uint32(0x0F800000) else bits
        made[n] = as_float(uint32(bits | uint32((half & uint32(0x8000)) << uint32(16))))
"""

# Adding 0.5 rounds a number that becomes subnormal: the last bit of the sum is worth 2⁻²⁴.
_TO_HALVES = f"""{_WRITE}
        bits = uint32(as_bits(given[n]))
        size = uint32(bits & uint32(0x7FFFFFFF))
        shifted = uint32(size >> uint32(13))
        odd = uint32(shifted & uint32(1))
        half = uint32(uint32(size + uint32(0xC8000FFF) + odd) >> uint32(13))
        small = uint32(uint32(as_bits(as_float(size) + float32(0.5))) - uint32(0x3F000000))
        half = small if size < uint32(0x38800000) else half
        half = uint32(0x7C00) if size >= uint32(0x47800000) else half
        nan = uint32(uint32(0x7E00) | uint32(shifted & uint32(0x3FF)))
        half = nan if size > INFINITE else half
        made[n] = uint16(half | uint32(uint32(bits >> uint32(16)) & uint32(0x8000)))
"""

# ml_dtypes and Eigen keep the sign of a NaN only.
_TO_BFLOATS = f"""{_WRITE}
        bits = uint32(as_bits(given[n]))
        high = uint32(bits >> uint32(16))
        half = uint32(uint32(bits + uint32(0x7FFF) + uint32(high & uint32(1))) >> uint32(16))
        nan = uint32(uint32(high & uint32(0x8000)) | uint32(0x7FC0))
        made[n] = uint16(nan if uint32(bits & uint32(0x7FFFFFFF)) > INFINITE else half)
"""

_FROM_BFLOATS = f"""{_READ}
        made[n] = as_float(uint32(uint32(given[n]) << uint32(16)))
"""

TEXTS = {
    "from_halves": _FROM_HALVES,
    "to_halves": _TO_HALVES,
    "from_bfloats": _FROM_BFLOATS,
    "to_bfloats": _TO_BFLOATS,
}
