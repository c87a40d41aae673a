"""The kernel that parses lists of JSON numbers to float32, many digits at once.

The result is that of parsing to float64, rounded to float32, bit for bit. If that needs more than
quotients of exact numbers, it returns nothing and the caller uses another parser: for numbers with
more than 19 digits, large or tiny ones, and the one in a hundred million whose float64 is within
three units of the midpoint between two float32 numbers.

`kernel(text, begin, numbers, found)`: `text` is uint8 [n], `numbers` float32 with enough room,
`found` int64 [3]. It reads from `begin`, after the bracket that opens a list of numbers or of such
lists, and returns the number of numbers; -1 if another parser must be used. Then `found` is: rows,
the size of each or -1 for a flat list, and the position after the closing bracket.
"""

from __future__ import annotations

NAME = "number lists"
_TEXT = """
from pinnace.engine.codegen.digits import bits_of, byte_at, digits_at, digits_before

BYTES = types.Array(types.uint8, 1, "C", readonly=True)
U = np.uint64
POWERS = 10.0 ** np.arange(23)
TENS = np.array([10**n for n in range(20)], U)
U0, U1, U3, U9, U10, U18, U24, U32 = U(0), U(1), U(3), U(9), U(10), U(18), U(24), U(32)
SPACE, MINUS, PLUS, POINT, COMMA, OPEN, CLOSE, E, ZERO = (U(ord(c)) for c in " -+.,[]e0")
HALF, LOW, MIDDLE, NEAR = U(10**8), U(2**29 - 1), U(2**28), U(3)
FULL = U(2**64 // 10)  # one digit more may be one too many
MOST = U(1843)  # eight digits before 16 more, in 64 bits


@njit(inline="always")
def after_blanks(at, end):
    while at < end:
        c = byte_at(at)
        if c > SPACE or (c != SPACE and c != U10 and c != U(13) and c != U9):
            break
        at += U1
    return at


@njit(inline="always")
def digits(at, end):
    if at + U32 <= end:
        return digits_at(at)
    count = U0
    while at + count < end and byte_at(at + count) - ZERO <= U9:
        count += U1
    return count


@njit(
    [int64(BYTES, int64, WRITTEN, types.Array(int64, 1, "C"))],
    cache=True, nogil=True, error_model="numpy",
)
def kernel(text, begin, numbers, found):
    start = U(text.ctypes.data)
    end = start + U(len(text))
    deep = start + U(33)  # before it, bytes that are looked back at may be missing
    at = after_blanks(start + U(begin), end)
    last = end - U1  # a number is never the end: a bracket follows
    nested = at < end and byte_at(at) == OPEN
    if nested:
        at += U1
    count, rows, width, room = 0, 0, -1, len(numbers)
    while True:
        at = after_blanks(at, end)
        if at >= last or count >= room:
            return -1
        negative = byte_at(at) == MINUS
        if negative:
            at += U1
            if at >= last:
                return -1
        first = byte_at(at) - ZERO
        if first > U9:
            return -1
        power = 0
        if byte_at(at + U1) == POINT and at > deep:
            at += U(2)
            behind = digits(at, end)
            if behind == U0 or behind > U24:
                return -1
            at += behind
            high, middle, low = digits_before(at, behind)
            if high > MOST:
                return -1
            whole = (high * HALF + middle) * HALF + low
            if first != U0:
                if behind > U18:
                    return -1
                whole += first * TENS[behind]
            power = -np.int64(behind)
        else:
            before = digits(at, end)
            if before > U18 or (first == U0 and before != U1):
                return -1
            whole = U0
            for _ in range(before):
                whole = whole * U10 + (byte_at(at) - ZERO)
                at += U1
            if at < end and byte_at(at) == POINT:
                at += U1
                behind = digits(at, end)
                if behind == U0 or behind > U24:
                    return -1
                for _ in range(behind):
                    if whole >= FULL:
                        return -1
                    whole = whole * U10 + (byte_at(at) - ZERO)
                    at += U1
                power = -np.int64(behind)
        if at >= end:
            return -1
        c = byte_at(at)
        if c == E or c == U(69):
            at += U1
            if at >= last:
                return -1
            c = byte_at(at)
            if c == PLUS or c == MINUS:
                at += U1
            size = digits(at, end)
            if size == U0 or size > U3:
                return -1
            exponent = 0
            for _ in range(size):
                exponent = exponent * 10 + np.int64(byte_at(at) - ZERO)
                at += U1
            power += -exponent if c == MINUS else exponent
            if at >= end:
                return -1
            c = byte_at(at)
        if power < -44 or power > 22 or (negative and whole == U0 and power == 0):
            return -1  # -0 is an integer, and no other zero
        number = np.float64(whole)
        if power < -22:
            number = number / POWERS[22] / POWERS[-power - 22]
            if whole != U0 and number < 2e-38:
                return -1  # float32 has fewer bits there
        else:
            number = number / POWERS[-power] if power < 0 else number * POWERS[power]
        # Three roundings are off by less than three units; only near the middle would that show.
        if (bits_of(number) & LOW) - MIDDLE + NEAR <= NEAR + NEAR:
            return -1
        numbers[count] = np.float32(-number if negative else number)
        count += 1
        if c != COMMA:
            at = after_blanks(at, end)
            if at >= end:
                return -1
            c = byte_at(at)
        at += U1
        if c == COMMA:
            continue
        if c != CLOSE:
            return -1
        rows += 1
        if not nested:
            found[0], found[1], found[2] = count, -1, np.int64(at - start)
            return count
        if width < 0:
            width = count
        if count != rows * width:
            return -1
        at = after_blanks(at, end)
        if at >= end:
            return -1
        c = byte_at(at)
        at += U1
        if c == CLOSE:
            found[0], found[1], found[2] = rows, width, np.int64(at - start)
            return count
        if c != COMMA:
            return -1
        at = after_blanks(at, end)
        if at >= end or byte_at(at) != OPEN:
            return -1
        at += U1
"""

TEXTS = {NAME: _TEXT}
