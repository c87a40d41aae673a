"""Winograd's convolution F(2×2, 3×3): four results of sixteen products instead of thirty-six.

A tile of 2×2 results depends on a patch of 4×4 pixels. Patch and filter are transformed, by
additions of whole channels; the transformed numbers are multiplied position by position, which for
all channels and tiles is sixteen matrix products; and the result is transformed back. Rounding
errors are some three times those of the direct sums, unless an intermediate result overflows: the
transformation returns the largest bits of its input (`patch_in`), and callers use the direct sums
if these are too large, infinite or NaN.

The transformations, for one axis, with patches d, filters g and products m:

    d0 - d2, d1 + d2, d2 - d1, d1 - d3;   g0, (g0 + g1 + g2) / 2, (g0 - g1 + g2) / 2, g2;
    m0 + m1 + m2, m1 - m2 - m3

Source: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2016.

Importing this module imports Numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import njit, types

from pinnace.engine.codegen.activations import ActivationWriter
from pinnace.engine.codegen.intrinsics import call_own, generated
from pinnace.engine.codegen.register_tiles import (
    EIGHT,
    PANEL,
    WIDE,
    clear,
    eight_fetching,
    four,
    one,
    two,
    wide_fetching,
)
from pinnace.engine.codegen.vectors import ADD, LANES, ROWS, integer

if TYPE_CHECKING:
    from collections.abc import Callable

# Pixels of a patch along an axis, results of a tile, and positions of the products.
PATCH, RESULTS = 4, 2
PLACES = PATCH * PATCH
_I32, _I64, _FLOAT = ir.IntType(32), ir.IntType(64), ir.FloatType()


class _Transformation(ActivationWriter):
    """Winograd's transformations, on vectors of channels."""

    def patch(self, d: list[Any]) -> list[Any]:
        """The transformed patch, [4, 4]."""
        return self._both(d, self._patch_axis, PATCH, PATCH)

    def _patch_axis(self, d: list[Any]) -> list[Any]:
        sub, add = self.builder.fsub, self.builder.fadd
        return [sub(d[0], d[2]), add(d[1], d[2]), sub(d[2], d[1]), sub(d[1], d[3])]

    def tile(self, m: list[Any]) -> list[Any]:
        """The results, [2, 2], from the sums at all positions, [4, 4]."""
        return self._both(m, self._tile_axis, PATCH, PATCH)

    def _tile_axis(self, m: list[Any]) -> list[Any]:
        sub, add = self.builder.fsub, self.builder.fadd
        return [add(add(m[0], m[1]), m[2]), sub(sub(m[1], m[2]), m[3])]

    def slope(self, y: list[Any]) -> list[Any]:
        """The gradient of the sums, [4, 4], from that of the results, [2, 2]: `tile` transposed."""
        return self._both(y, self._slope_axis, RESULTS, RESULTS)

    def _slope_axis(self, y: list[Any]) -> list[Any]:
        sub, add = self.builder.fsub, self.builder.fadd
        negative = self.builder.fneg
        return [y[0], add(y[0], y[1]), sub(y[0], y[1]), negative(y[1])]

    @staticmethod
    def _both(
        values: list[Any], axis: Callable[[list[Any]], list[Any]], rows: int, columns: int
    ) -> list[Any]:
        """Apply `axis` along columns, then along rows; values are [rows, columns], row by row."""
        down = [axis([values[i * columns + j] for i in range(rows)]) for j in range(columns)]
        made = len(down[0])
        across = [axis([down[j][i] for j in range(columns)]) for i in range(made)]
        return [one for line in across for one in line]


@generated(types.int64, "x down last_row along last_column v plane count")
def patch_in(builder: Any, *given: Any) -> Any:
    """Transform all channels of a patch; returns the largest bits of its numbers without signs.

    Arguments: addresses of x's first pixel and of v; offsets of the second and last row, of the
    second and last column, and between planes of v, in numbers; the number of channels. The last
    row and column may be any of the patch if the results that need them are unused.
    """
    return call_own(builder, "pinnace_winograd_patch", given, _write_patch, _I64)


def _write_patch(builder: Any, *arguments: Any) -> None:
    x, down, last_row, along, last_column, v, plane, count = arguments
    write = _Transformation(builder, LANES)
    bits = ir.VectorType(_I32, LANES)
    largest = builder.alloca(bits)
    builder.store(ir.Constant(bits, [0] * LANES), largest)
    x_at, v_at = write.number_pointer(x), write.number_pointer(v)
    twice = builder.shl(down, integer(1)), builder.shl(along, integer(1))
    rows = [integer(0), down, twice[0], last_row]
    columns = [integer(0), along, twice[1], last_column]

    def body(at: Any, mask: Any) -> None:
        most = builder.load(largest)
        pixels = []
        for row in rows:
            for column in columns:
                offset = builder.add(builder.add(row, column), at)
                pixel = write.load(builder.gep(x_at, [offset]), mask)
                pixels.append(pixel)
                most = _larger(builder, pixel, most)
        builder.store(most, largest)
        for place, value in enumerate(write.patch(pixels)):
            offset = builder.add(builder.mul(plane, integer(place)), at)
            write.store(value, builder.gep(v_at, [offset]), mask)

    write.loop(count, body)
    builder.ret(_most(builder, builder.load(largest)))


def _larger(builder: Any, pixel: Any, most: Any) -> Any:
    """The maximum of bits of a vector's numbers and of earlier ones, with the sign shifted out."""
    number = builder.bitcast(pixel, most.type)
    unsigned = builder.add(number, number)
    return builder.select(builder.icmp_unsigned(">", unsigned, most), unsigned, most)


def _most(builder: Any, vector: Any) -> Any:
    """The maximum of a vector of unsigned numbers without their sign, as int64."""
    found = builder.extract_element(vector, ir.Constant(_I32, 0))
    for lane in range(1, LANES):
        other = builder.extract_element(vector, ir.Constant(_I32, lane))
        found = builder.select(builder.icmp_unsigned(">", other, found), other, found)
    return builder.zext(builder.lshr(found, ir.Constant(_I32, 1)), _I64)


@generated(types.int64, "y down along v plane count rows columns")
def slope_in(builder: Any, *given: Any) -> Any:
    """Transform the gradient of a tile's results; returns the largest bits, like `patch_in`.

    Arguments: addresses of y's first pixel and of v; offsets of the second row, the second column,
    and between planes of v; the number of channels; the valid rows and columns of the tile, 1 or 2:
    the others are zeros.
    """
    return call_own(builder, "pinnace_winograd_slope", given, _write_slope, _I64)


def _write_slope(builder: Any, *arguments: Any) -> None:
    y, down, along, v, plane, count, rows, columns = arguments
    write = _Transformation(builder, LANES)
    bits = ir.VectorType(_I32, LANES)
    largest = builder.alloca(bits)
    builder.store(ir.Constant(bits, [0] * LANES), largest)
    y_at, v_at = write.number_pointer(y), write.number_pointer(v)
    zero = integer(0)
    two_rows = builder.icmp_signed(">", rows, integer(1))
    two_columns = builder.icmp_signed(">", columns, integer(1))
    nothing = ir.Constant(write.vector, [0.0] * LANES)

    def body(at: Any, mask: Any) -> None:
        most = builder.load(largest)
        pixels = []
        for i in range(RESULTS):
            for j in range(RESULTS):
                # Invalid pixels are read from the first pixel, and ignored.
                row = builder.select(two_rows, down, zero) if i else zero
                column = builder.select(two_columns, along, zero) if j else zero
                offset = builder.add(builder.add(row, column), at)
                pixel = write.load(builder.gep(y_at, [offset]), mask)
                if i:
                    pixel = builder.select(two_rows, pixel, nothing)
                if j:
                    pixel = builder.select(two_columns, pixel, nothing)
                pixels.append(pixel)
                most = _larger(builder, pixel, most)
        builder.store(most, largest)
        for place, value in enumerate(write.slope(pixels)):
            offset = builder.add(builder.mul(plane, integer(place)), at)
            write.store(value, builder.gep(v_at, [offset]), mask)

    write.loop(count, body)
    builder.ret(_most(builder, builder.load(largest)))


@generated(types.void, "m plane y down along rows columns count init mode z z_down z_along")
def tile_out(builder: Any, *given: Any) -> None:
    """Transform the sums of a tile back, add, rectify, and store the valid results.

    Arguments: addresses of the sums, of y's first pixel, of the bias, and of the operand added to
    the first pixel (`ADD` in the mode); offsets between positions of the sums, of the second row
    and column of y and z; the valid rows and columns of the tile; the number of channels.
    """
    call_own(builder, "pinnace_winograd_tile", given, _write_tile)


def _write_tile(builder: Any, *arguments: Any) -> None:
    m, plane, y, down, along, rows, columns, count, init, mode, z, z_down, z_along = arguments
    write = _Transformation(builder, LANES)
    m_at, y_at, z_at = (write.number_pointer(one) for one in (m, y, z))
    init_at = write.number_pointer(init)
    zero = integer(0)
    two_rows = builder.icmp_signed(">", rows, integer(1))
    two_columns = builder.icmp_signed(">", columns, integer(1))
    # Invalid results are written to the first pixel, before its own.
    y_down, y_along = builder.select(two_rows, down, zero), builder.select(two_columns, along, zero)
    z_down = builder.select(two_rows, z_down, zero)
    z_along = builder.select(two_columns, z_along, zero)

    def places(second_row: Any, second_column: Any, at: Any) -> list[Any]:
        across = [zero, second_column]
        return [
            builder.add(builder.add(row, column), at)
            for row in (zero, second_row)
            for column in across
        ]

    def body(at: Any, mask: Any) -> None:
        sums = [
            write.load(
                builder.gep(m_at, [builder.add(builder.mul(plane, integer(place)), at)]), mask
            )
            for place in range(PLACES)
        ]
        bias = write.load(builder.gep(init_at, [at]), mask)
        found = [builder.fadd(one, bias) for one in write.tile(sums)]

        def added() -> list[Any]:
            return [
                builder.fadd(value, write.load(builder.gep(z_at, [place]), mask))
                for value, place in zip(found, places(z_down, z_along, at), strict=True)
            ]

        found = write.either(mode, ADD, added, lambda: found)
        found = write.activated(found, mode)
        targets = places(y_down, y_along, at)
        for value, place in reversed(list(zip(found, targets, strict=True))):
            write.store(value, builder.gep(y_at, [place]), mask)

    write.loop(count, body)
    builder.ret_void()


@njit  # type: ignore[misc,unused-ignore] # Numba has no types
def transform_row(
    x: Any, x_row: Any, x_step: Any, y: Any, y_step: Any, z: Any, z_step: Any, rows: Any,
    columns: Any, channels: Any, v: Any, v_row: Any, v_plane: Any, t: Any, limit: Any, at: Any,
) -> Any:  # fmt: skip
    """Transform the patches of one row of tiles, and record their offsets in the table.

    Args:
        x: address of the row's first pixel.
        x_row: row stride of x, in numbers.
        x_step: pixel stride.
        y: offset of the row's first result.
        y_step: stride of the results.
        z: offset of the added operand.
        z_step: its stride.
        rows: valid rows of results, 1 or 2.
        columns: columns of results.
        channels: channels of x.
        v: address of the transformed numbers, [16, tiles, channels].
        v_row: stride between tiles.
        v_plane: stride between positions.
        t: the table: offsets in v, in the sums, in y and in z, and the size of each tile.
        limit: the table's capacity in tiles.
        at: the index of the row's first tile.

    Returns:
        The largest bits of any number read, without its sign.
    """
    most = 0
    last_row = (rows + 1) * x_row
    for w in range(0, columns, 2):
        there = min(2, columns - w)
        bits = patch_in(
            x + 4 * w * x_step, x_row, last_row, x_step, (there + 1) * x_step, v + 4 * at * v_row,
            v_plane, channels,
        )  # fmt: skip
        most = max(most, bits)
        t[at] = at * v_row
        t[limit + at] = at * PANEL
        t[2 * limit + at] = y + w * y_step
        t[3 * limit + at] = z + w * z_step
        t[4 * limit + at] = 2 * rows + there
        at += 1
    return most


@njit  # type: ignore[misc,unused-ignore]
def multiply(
    a: Any, t: Any, a_at: Any, c_at: Any, count: Any, c: Any, b: Any, b_step: Any, section: Any,
    length: Any, a_step: Any, width: Any, init: Any, mode: Any, ahead: Any,
) -> None:  # fmt: skip
    """c = a times b, by register tiles.

    Args:
        a: address of a.
        t: the table with the offsets of rows, those of the last row repeated for a tile.
        a_at: index of a's first offset.
        c_at: index of c's first offset.
        count: number of rows.
        c: address of c.
        b: address of b.
        b_step: row stride of b.
        section: address of a 0.
        length: terms of a sum.
        a_step: stride between terms in a.
        width: columns.
        init: address of the initial sums.
        mode: the mode of the tiles.
        ahead: address of the next b, which is prefetched; 128 bytes per term.
    """
    passes = (count + ROWS - 1) // ROWS * ((width + WIDE - 1) // WIDE)
    ahead_step = (128 + passes - 1) // passes
    for k in range(0, width, WIDE):
        some = min(WIDE, width - k)
        to, by = c + 4 * k, b + 4 * k
        i = 0
        while i < count:
            a_table, c_table = t[a_at + i :].ctypes.data, t[c_at + i :].ctypes.data
            left = count - i
            if left > EIGHT:
                wide_fetching(
                    a, a_table, to, c_table, by, b_step, section, 1, length, a_step, some, init,
                    mode, 0, 0, ahead, ahead_step,
                )  # fmt: skip
                ahead += length * ahead_step
                i += ROWS
            elif left > 4:
                eight_fetching(
                    a, a_table, to, c_table, by, b_step, section, 1, length, a_step, some, init,
                    mode, 0, 0, ahead, ahead_step,
                )  # fmt: skip
                ahead += length * ahead_step
                i += EIGHT
            elif left > 2:
                four(
                    a, a_table, to, c_table, by, b_step, section, 1, length, a_step, some, init,
                    mode, 0, 0,
                )  # fmt: skip
                i += 4
            elif left > 1:
                two(
                    a, a_table, to, c_table, by, b_step, section, 1, length, a_step, some, init,
                    mode, 0, 0,
                )  # fmt: skip
                i += 2
            else:
                one(
                    a, a_table, to, c_table, by, b_step, section, 1, length, a_step, some, init,
                    mode, 0, 0,
                )  # fmt: skip
                i += 1


@njit  # type: ignore[misc,unused-ignore]
def multiply_places(
    t: Any, limit: Any, count: Any, v: Any, v_plane: Any, m: Any, u: Any, channels: Any,
    first: Any, last: Any, y: Any, y_row: Any, y_step: Any, z: Any, z_row: Any, z_step: Any,
    init: Any, mode: Any,
) -> None:  # fmt: skip
    """Products of transformed patches and filters, transformed back.

    Args:
        t: the table from `transform_row`; its last number is 0.
        limit: the table's capacity in tiles.
        count: tiles in it.
        v: address of the transformed patches.
        v_plane: their stride between positions.
        m: address of memory for sums, [16, limit, 32] plus 32.
        u: address of the transformed filters, [panels, 16, channels, 32].
        channels: channels of x.
        first: column of y, a multiple of 32.
        last: end of the columns.
        y: address of y.
        y_row: row stride of y.
        y_step: pixel stride.
        z: address of the added operand.
        z_row: its row stride.
        z_step: its pixel stride.
        init: address of the bias.
        mode: the mode of the tiles.
    """
    for spare in range(count, count + ROWS):
        t[spare] = t[count - 1]
        t[limit + spare] = t[limit + count - 1]
    plane = limit * PANEL
    zeros = m + 4 * PLACES * plane
    clear(zeros, PANEL)
    section = t[5 * limit :].ctypes.data
    t[5 * limit] = 0
    for j in range(first, last, PANEL):
        width = min(PANEL, last - j)
        panel = u + 4 * (j // PANEL) * PLACES * channels * PANEL
        for place in range(PLACES):
            a = v + 4 * place * v_plane
            b = panel + 4 * place * channels * PANEL
            sums = m + 4 * place * plane
            multiply(
                a, t, 0, limit, count, sums, b, PANEL, section, channels, 1, width, zeros, 0,
                b + 4 * channels * PANEL,
            )  # fmt: skip
        for i in range(count):
            size = t[4 * limit + i]
            tile_out(
                m + 4 * i * PANEL, plane, y + 4 * (t[2 * limit + i] + j), y_row, y_step,
                (size - 1) // 2, 2 - size % 2, width, init + 4 * j, mode,
                z + 4 * (t[3 * limit + i] + j), z_row, z_step,
            )  # fmt: skip
