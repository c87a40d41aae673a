"""64-bit fingerprints of bytes: FarmHash and SipHash.

One string takes Python integers; many short ones take arrays, a word of each string at a time.

Source:
    FarmHash's `farmhashna::Hash64`, which is `Fingerprint64`, as published; SipHash-2-4,
    Aumasson and Bernstein 2012.
"""

import struct
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from pinnace.framework.tensor import Array

_Word: TypeAlias = Any  # an integer, or an array of uint64

_FEW = 64  # strings; fewer are faster one by one
_LONG = 256  # bytes

_MASK = (1 << 64) - 1
_K0 = 0xC3A5C85C97CB3127
_K1 = 0xB492B66FBE98F273
_K2 = 0x9AE16A3B2F90404F


def _rotate_right(x: _Word, by: int) -> _Word:
    return ((x >> by) | (x << (64 - by))) & _MASK


def _mixed(x: _Word) -> _Word:
    return x ^ (x >> 47)


def _word(data: bytes, place: int) -> int:
    return int.from_bytes(data[place : place + 8], "little")


def _half_word(data: bytes, place: int) -> int:
    return int.from_bytes(data[place : place + 4], "little")


def _joined(u: _Word, v: _Word, factor: _Word) -> _Word:
    """Two words combined to one hash."""
    a = _mixed(((u ^ v) * factor) & _MASK)
    b = _mixed(((v ^ a) * factor) & _MASK)
    return (b * factor) & _MASK


def farm64(data: bytes) -> int:
    """TensorFlow's `Fingerprint64`, an integer in [0, 2⁶⁴)."""
    size = len(data)
    if size > 64:
        return _longer(data)
    if size > 16:
        places = (0, 8, size - 16, size - 8, 16, 24, size - 32, size - 24)
        words = [_word(data, place) for place in places[: 4 if size <= 32 else 8]]
        return int((_up_to_32 if size <= 32 else _up_to_64)(size, *words))
    if size >= 8:
        return int(_up_to_16(size, _word(data, 0), _word(data, size - 8)))
    if size >= 4:
        return int(_up_to_7(size, _half_word(data, 0), _half_word(data, size - 4)))
    return int(_up_to_3(size, data[0], data[size >> 1], data[-1])) if size else _K2


# Each formula takes integers, or arrays of uint64 for many strings, whose products wrap around.


def _up_to_3(size: _Word, first: _Word, middle: _Word, last: _Word) -> _Word:
    y = first + (middle << 8)
    z = size + (last << 2)
    return (_mixed(((y * _K2) ^ (z * _K0)) & _MASK) * _K2) & _MASK


def _up_to_7(size: _Word, first: _Word, last: _Word) -> _Word:
    return _joined(size + (first << 3), last, (_K2 + size * 2) & _MASK)


def _up_to_16(size: _Word, first: _Word, last: _Word) -> _Word:
    factor = (_K2 + size * 2) & _MASK
    a = (first + _K2) & _MASK
    c = (_rotate_right(last, 37) * factor + a) & _MASK
    d = ((_rotate_right(a, 25) + last) * factor) & _MASK
    return _joined(c, d, factor)


def _up_to_32(size: _Word, a: _Word, b: _Word, c: _Word, d: _Word) -> _Word:
    factor = (_K2 + size * 2) & _MASK
    a = (a * _K1) & _MASK
    d = (d * factor) & _MASK
    return _joined(
        (_rotate_right((a + b) & _MASK, 43) + _rotate_right(d, 30) + c * _K2) & _MASK,
        (a + _rotate_right((b + _K2) & _MASK, 18) + d) & _MASK,
        factor,
    )


def _up_to_64(size: _Word, a: _Word, b: _Word, c: _Word, d: _Word, *others: _Word) -> _Word:
    factor = (_K2 + size * 2) & _MASK
    a = (a * _K2) & _MASK
    d = (d * factor) & _MASK
    y = (_rotate_right((a + b) & _MASK, 43) + _rotate_right(d, 30) + c * _K2) & _MASK
    z = _joined(y, (a + _rotate_right((b + _K2) & _MASK, 18) + d) & _MASK, factor)
    e, f, g, h = others
    e = (e * factor) & _MASK
    g = ((y + g) * factor) & _MASK
    h = ((z + h) * factor) & _MASK
    return _joined(
        (_rotate_right((e + f) & _MASK, 43) + _rotate_right(g, 30) + h) & _MASK,
        (e + _rotate_right((f + a) & _MASK, 18) + g) & _MASK,
        factor,
    )


def _longer(data: bytes) -> int:
    size = len(data)
    x = 81
    y = (81 * _K1 + 113) & _MASK
    z = (_mixed((y * _K2 + 113) & _MASK) * _K2) & _MASK
    x = (x * _K2 + _word(data, 0)) & _MASK
    state = (x, y, z, 0, 0, 0, 0)
    end = (size - 1) // 64 * 64
    state = _blocks(memoryview(data)[:end], state, _K1, 1)
    v0, v1, w0, w1 = state[3:]
    factor = (_K1 + ((state[2] & 0xFF) << 1)) & _MASK
    w0 = (w0 + ((size - 1) & 63)) & _MASK
    v0 = (v0 + w0) & _MASK
    w0 = (w0 + v0) & _MASK
    state = (*state[:3], v0, v1, w0, w1)
    x, y, z, v0, v1, w0, w1 = _blocks(memoryview(data)[size - 64 :], state, factor, 9)
    return int(
        _joined(
            (_joined(v0, w0, factor) + _mixed(y) * _K0 + z) & _MASK,
            (_joined(v1, w1, factor) + x) & _MASK,
            factor,
        )
    )


_State: TypeAlias = tuple[int, int, int, int, int, int, int]


def _blocks(data: memoryview, state: _State, factor: int, weight: int) -> _State:
    """Mix blocks of 64 bytes into the state; two of its words are multiplied by `weight`.

    Megabytes go through this loop: it calls nothing, and cuts to 64 bits only where bits would come
    back, before a rotation and at the end.
    """
    mask = _MASK
    x, y, z, v0, v1, w0, w1 = state
    for a, b, c, d, e, f, g, h in struct.iter_unpack("<8Q", data):
        t = (x + y + v0 + b) & mask
        x = ((t >> 37 | t << 27) * factor ^ w1 * weight) & mask
        t = (y + v1 + g) & mask
        y = (t >> 42 | t << 22) * factor + v0 * weight + f
        t = (z + w0) & mask
        z = (t >> 33 | t << 31) * factor & mask
        first = v1 * factor + a
        t = (x + w0 + first + d) & mask
        total = first + b + c
        u = total & mask
        v0 = (total + d) & mask
        v1 = ((t >> 21 | t << 43) + (u >> 44 | u << 20) + first) & mask
        first = z + w1 + e
        t = (y + c + first + h) & mask
        total = first + f + g
        u = total & mask
        w0 = (total + h) & mask
        w1 = ((t >> 21 | t << 43) + (u >> 44 | u << 20) + first) & mask
        x, z = z, x
    return x, y & mask, z, v0, v1, w0, w1


def joined_hash(first: int, second: int) -> int:
    """Two 64-bit hashes combined to one; the order matters."""
    # Source: the published FingerprintCat64 of FarmHash's users: ShiftMix and Murmur's constant.
    mixed = first ^ _MURMUR
    mixed ^= _mixed(second * _MURMUR & _MASK) * _MURMUR & _MASK
    mixed = mixed * _MURMUR & _MASK
    mixed = _mixed(mixed) * _MURMUR & _MASK
    return int(_mixed(mixed))


def _rotate_left(x: _Word, by: int) -> _Word:
    return ((x << by) | (x >> (64 - by))) & _MASK


def sip64(data: bytes, key: tuple[int, int]) -> int:
    """SipHash-2-4 of `data` with a key of two 64-bit words, an integer in [0, 2⁶⁴)."""
    state: list[_Word] = [first ^ second for first, second in zip(key * 2, _SIP, strict=True)]
    tail = len(data) % 8
    padded = data + bytes(7 - tail) + bytes([len(data) & 0xFF])
    for place in range(0, len(padded), 8):
        word = _word(padded, place)
        state[3] ^= word
        state = _round(_round(state))
        state[0] ^= word
    return int(_finished(state))


_SIP = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)


def _finished(state: list[_Word]) -> _Word:
    state[2] = state[2] ^ 0xFF
    for _ in range(4):
        state = _round(state)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _round(state: list[_Word]) -> list[_Word]:
    a, b, c, d = state
    a = (a + b) & _MASK
    b = _rotate_left(b, 13) ^ a
    a = _rotate_left(a, 32)
    c = (c + d) & _MASK
    d = _rotate_left(d, 16) ^ c
    a = (a + d) & _MASK
    d = _rotate_left(d, 21) ^ a
    c = (c + b) & _MASK
    b = _rotate_left(b, 17) ^ c
    return [a, b, _rotate_left(c, 32), d]


_MURMUR = 0xC6A4A7935BD1E995
_MURMUR_SEED = 0xDECAFCAFFE


def murmur64(data: bytes) -> int:
    """MurmurHash64A (Appleby) with TensorFlow's seed."""
    mask = (1 << 64) - 1
    whole = len(data) // 8 * 8
    found = _MURMUR_SEED ^ (len(data) * _MURMUR & mask)
    for at in range(0, whole, 8):
        word = int.from_bytes(data[at : at + 8], "little") * _MURMUR & mask
        word = (word ^ (word >> 47)) * _MURMUR & mask
        found = (found ^ word) * _MURMUR & mask
    if whole < len(data):
        found = (found ^ int.from_bytes(data[whole:], "little")) * _MURMUR & mask
    found = (found ^ (found >> 47)) * _MURMUR & mask
    return found ^ (found >> 47)


class _Strings:
    """Strings in one buffer, of which a word anywhere can be taken from all at once."""

    def __init__(self, items: list[bytes]) -> None:
        self.sizes = np.fromiter(map(len, items), np.int64, len(items))
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.letters = np.frombuffer(b"".join(items) + bytes(8), np.uint8)
        count = len(self.letters) - 7
        self._words = np.ndarray((count,), "<u8", self.letters, strides=(1,))

    def words(self, places: Array) -> Array:
        return self._words[places].astype(np.uint64)


def _each(
    items: list[bytes], most: int, one: Callable[[bytes], int], many: Callable[[_Strings], Array]
) -> Array:
    """The hash of each string, where those of at most `most` bytes are many."""
    sizes = np.fromiter(map(len, items), np.int64, len(items))
    short = sizes <= most
    if short.sum() < _FEW:
        return np.array([one(item) for item in items], np.uint64)
    if short.all():
        return many(_Strings(items))
    found = np.empty(len(items), np.uint64)
    found[short] = many(_Strings([item for item in items if len(item) <= most]))
    found[~short] = [one(item) for item in items if len(item) > most]
    return found


def farm64s(items: list[bytes]) -> Array:
    """`farm64` of each string, uint64."""
    return _each(items, 64, farm64, _farm)


def _farm(x: _Strings) -> Array:
    found = np.full(len(x.sizes), _K2, np.uint64)
    for least, most in ((1, 3), (4, 7), (8, 16), (17, 32), (33, 64)):
        (of,) = np.nonzero((x.sizes >= least) & (x.sizes <= most))
        if not of.size:
            continue
        start, size = x.starts[of], x.sizes[of]
        end, length = start + size, size.astype(np.uint64)
        if most == 3:
            letters = x.letters.astype(np.uint64)
            found[of] = _up_to_3(
                length, letters[start], letters[start + (size >> 1)], letters[end - 1]
            )
        elif most == 7:
            first, last = x.words(start) & 0xFFFFFFFF, x.words(end - 4) & 0xFFFFFFFF
            found[of] = _up_to_7(length, first, last)
        elif most == 16:
            found[of] = _up_to_16(length, x.words(start), x.words(end - 8))
        else:
            places = [start, start + 8, end - 16, end - 8]
            if most == 64:
                places += [start + 16, start + 24, end - 32, end - 24]
            formula = _up_to_32 if most == 32 else _up_to_64
            found[of] = formula(length, *map(x.words, places))
    return found


def sip64s(items: list[bytes], key: tuple[int, int]) -> Array:
    """`sip64` of each string, uint64."""
    return _each(items, _LONG, lambda item: sip64(item, key), lambda x: _sip(x, key))


def _sip(x: _Strings, key: tuple[int, int]) -> Array:
    # The longest strings first: those that have another word are the first ones.
    order = np.argsort(-x.sizes, kind="stable")
    starts, sizes = x.starts[order], x.sizes[order]
    state = [
        np.full(len(order), first ^ second, np.uint64)
        for first, second in zip(key * 2, _SIP, strict=True)
    ]
    for place in range(0, int(sizes[0]) // 8 * 8 + 1, 8):
        count = int(np.searchsorted(-sizes, -place, "right"))
        word = x.words(starts[:count] + place)
        whole = int(np.searchsorted(-sizes, -place - 8, "right"))
        left = (sizes[whole:count] - place).astype(np.uint64) * 8
        word[whole:] &= (np.uint64(1) << left) - np.uint64(1)
        word[whole:] |= sizes[whole:count].astype(np.uint64) << np.uint64(56)
        a, b, c, d = (part[:count] for part in state)
        mixed = _round(_round([a, b, c, d ^ word]))
        mixed[0] = mixed[0] ^ word
        for part, new in zip(state, mixed, strict=True):
            part[:count] = new
    found = np.empty(len(order), np.uint64)
    found[order] = _finished(state)
    return found


def murmur64s(items: list[bytes]) -> Array:
    """`murmur64` of each string, uint64."""
    return _each(items, _LONG, murmur64, _murmur)


def _murmur(x: _Strings) -> Array:
    found = _MURMUR_SEED ^ (x.sizes.astype(np.uint64) * _MURMUR)
    for place in range(0, int(x.sizes.max()) - 7, 8):
        (of,) = np.nonzero(x.sizes >= place + 8)
        word = _mixed(x.words(x.starts[of] + place) * _MURMUR) * _MURMUR
        found[of] = (found[of] ^ word) * _MURMUR
    (of,) = np.nonzero(x.sizes % 8)
    left = x.sizes[of] % 8
    word = x.words(x.starts[of] + x.sizes[of] - left)
    word &= (np.uint64(1) << left.astype(np.uint64) * 8) - np.uint64(1)
    found[of] = (found[of] ^ word) * _MURMUR
    return np.asarray(_mixed(_mixed(found) * _MURMUR))
