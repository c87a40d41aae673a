"""64-bit fingerprints of bytes: FarmHash and SipHash, with Python integers.

Source:
    FarmHash's `farmhashna::Hash64`, which is `Fingerprint64`, as published; SipHash-2-4,
    Aumasson and Bernstein 2012.
"""

import struct
from typing import TypeAlias

_MASK = (1 << 64) - 1
_K0 = 0xC3A5C85C97CB3127
_K1 = 0xB492B66FBE98F273
_K2 = 0x9AE16A3B2F90404F


def _rotate_right(x: int, by: int) -> int:
    return ((x >> by) | (x << (64 - by))) & _MASK


def _mixed(x: int) -> int:
    return x ^ (x >> 47)


def _word(data: bytes, place: int) -> int:
    return int.from_bytes(data[place : place + 8], "little")


def _half_word(data: bytes, place: int) -> int:
    return int.from_bytes(data[place : place + 4], "little")


def _joined(u: int, v: int, factor: int) -> int:
    """Two words combined to one hash."""
    a = _mixed(((u ^ v) * factor) & _MASK)
    b = _mixed(((v ^ a) * factor) & _MASK)
    return (b * factor) & _MASK


def farm64(data: bytes) -> int:
    """TensorFlow's `Fingerprint64`, an integer in [0, 2⁶⁴)."""
    size = len(data)
    if size <= 16:
        return _up_to_16(data)
    if size <= 32:
        return _up_to_32(data)
    if size <= 64:
        return _up_to_64(data)
    return _longer(data)


def _up_to_16(data: bytes) -> int:
    size = len(data)
    if size >= 8:
        factor = (_K2 + size * 2) & _MASK
        a = (_word(data, 0) + _K2) & _MASK
        b = _word(data, size - 8)
        c = (_rotate_right(b, 37) * factor + a) & _MASK
        d = ((_rotate_right(a, 25) + b) * factor) & _MASK
        return _joined(c, d, factor)
    if size >= 4:
        factor = (_K2 + size * 2) & _MASK
        return _joined(size + (_half_word(data, 0) << 3), _half_word(data, size - 4), factor)
    if size:
        y = data[0] + (data[size >> 1] << 8)
        z = size + (data[-1] << 2)
        return (_mixed(((y * _K2) ^ (z * _K0)) & _MASK) * _K2) & _MASK
    return _K2


def _up_to_32(data: bytes) -> int:
    size = len(data)
    factor = (_K2 + size * 2) & _MASK
    a = (_word(data, 0) * _K1) & _MASK
    b = _word(data, 8)
    c = (_word(data, size - 8) * factor) & _MASK
    d = (_word(data, size - 16) * _K2) & _MASK
    return _joined(
        (_rotate_right((a + b) & _MASK, 43) + _rotate_right(c, 30) + d) & _MASK,
        (a + _rotate_right((b + _K2) & _MASK, 18) + c) & _MASK,
        factor,
    )


def _up_to_64(data: bytes) -> int:
    size = len(data)
    factor = (_K2 + size * 2) & _MASK
    a = (_word(data, 0) * _K2) & _MASK
    b = _word(data, 8)
    c = (_word(data, size - 8) * factor) & _MASK
    d = (_word(data, size - 16) * _K2) & _MASK
    y = (_rotate_right((a + b) & _MASK, 43) + _rotate_right(c, 30) + d) & _MASK
    z = _joined(y, (a + _rotate_right((b + _K2) & _MASK, 18) + c) & _MASK, factor)
    e = (_word(data, 16) * factor) & _MASK
    f = _word(data, 24)
    g = ((y + _word(data, size - 32)) * factor) & _MASK
    h = ((z + _word(data, size - 24)) * factor) & _MASK
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
    return _joined(
        (_joined(v0, w0, factor) + _mixed(y) * _K0 + z) & _MASK,
        (_joined(v1, w1, factor) + x) & _MASK,
        factor,
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
    return _mixed(mixed)


def _rotate_left(x: int, by: int) -> int:
    return ((x << by) | (x >> (64 - by))) & _MASK


def sip64(data: bytes, key: tuple[int, int]) -> int:
    """SipHash-2-4 of `data` with a key of two 64-bit words, an integer in [0, 2⁶⁴)."""
    state = [
        key[0] ^ 0x736F6D6570736575,
        key[1] ^ 0x646F72616E646F6D,
        key[0] ^ 0x6C7967656E657261,
        key[1] ^ 0x7465646279746573,
    ]
    tail = len(data) % 8
    padded = data + bytes(7 - tail) + bytes([len(data) & 0xFF])
    for place in range(0, len(padded), 8):
        word = _word(padded, place)
        state[3] ^= word
        _round(state)
        _round(state)
        state[0] ^= word
    state[2] ^= 0xFF
    for _ in range(4):
        _round(state)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _round(state: list[int]) -> None:
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
    c = _rotate_left(c, 32)
    state[:] = [a, b, c, d]


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
