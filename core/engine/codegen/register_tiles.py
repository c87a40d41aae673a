"""Register tiles: accumulators of products that stay in vector registers.

A tile is some rows by some vectors of columns. For each step k of the sum one vector of b is
loaded, and each row's number of a is broadcast and multiplied into that row. Each row of a has an
offset, so that one tile serves matrix products, convolutions (rows are windows) and their filter
gradients (rows are taps). `channelwise` tiles load a vector of a instead, for the gradients of
depthwise filters; depthwise convolutions have `channel_tiles`. The number of rows follows from the
processor's registers.

Importing this module imports Numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import njit, types

from pinnace.engine.codegen.activations import ActivationWriter
from pinnace.engine.codegen.chains import CHAIN, Rest
from pinnace.engine.codegen.intrinsics import call_own, generated
from pinnace.engine.codegen.vectors import (
    ACCUMULATE,
    ADD,
    LANES,
    PACKED,
    ROWS,
    VECTORS,
    integer,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_I32, _I64, _BYTE = ir.IntType(32), ir.IntType(64), ir.IntType(8)
WIDE, NARROW = LANES * VECTORS, LANES
# For few columns: half a vector takes half the time on some processors, if the rows' addresses also
# stay in registers. Two such tiles replace one of the others.
HALF, HALF_ROWS = min(LANES, 8), ROWS // 2
EIGHT = min(8, ROWS)
# Where one or two rows more than ROWS are left, the rows of the first of two tiles of about equal
# size: a tile of two has too few sums to keep the multipliers busy.
EVEN = 8 if EIGHT == 8 else 4
# How many more of these tiles than of the one that they replace have five rows or more.
EVEN_FETCHING = (EVEN > 4) + (ROWS + 1 - EVEN > 4) - 1
PANEL = 32  # contiguous columns of packed weights
# Columns of a single row that keep all multipliers busy: the sums of one column are a dependency
# chain.
ACROSS = min(64, 8 * LANES)


class Tile(ActivationWriter):
    """One tile."""

    def __init__(
        self, builder: Any, rows: int, vectors: int, lanes: int, channelwise: bool
    ) -> None:
        super().__init__(builder, lanes)
        self.rows, self.vectors = rows, vectors
        self.channelwise = channelwise

    def _rows(self, pointer: Any, table: Any) -> list[Any]:
        """The pointer plus a row's entry of the table."""
        offsets = self.builder.inttoptr(table, _I64.as_pointer())
        loaded = [
            self.builder.load(self.builder.gep(offsets, [integer(row)])) for row in range(self.rows)
        ]
        return [self.builder.gep(pointer, [offset]) for offset in loaded]

    def _column_masks(self, columns: Any) -> list[Any]:
        """The column mask of each vector."""
        builder, numbers = self.builder, ir.VectorType(_I32, self.lanes)
        positions = ir.Constant(numbers, list(range(self.lanes)))
        masks = []
        for j in range(self.vectors):
            left = builder.trunc(builder.sub(columns, integer(j * self.lanes)), _I32)
            masks.append(builder.icmp_signed("<", positions, self.spread(left, numbers)))
        return masks

    def write(self, arguments: list[Any]) -> None:
        """Generate the body of `tile`; see `_tile`.

        Full tiles have no masks: on AMD's processors, masked loads from memory are half as fast or
        less (26 instead of 47 GB/s); without AVX-512, masks take two vector registers; masked
        stores take tens of cycles on some processors; and masked loads occupy the multipliers. So
        the sums of other tiles have none either if b is packed in panels.
        """
        builder, columns = self.builder, arguments[10]
        whole, cut = (builder.append_basic_block(name) for name in ("whole", "cut"))
        width = integer(self.vectors * self.lanes)
        builder.cbranch(builder.icmp_signed(">=", columns, width), whole, cut)
        builder.position_at_end(whole)
        self.write_masked(arguments, [None] * self.vectors)
        builder.ret_void()
        builder.position_at_end(cut)
        self.write_masked(arguments, self._column_masks(columns))
        builder.ret_void()

    def write_masked(self, arguments: list[Any], masks: list[Any]) -> None:
        """Generate a tile with these column masks; None for all columns."""
        (
            a,
            a_table,
            c,
            c_table,
            b,
            b_step,
            sections,
            count,
            length,
            a_step,
            _,
            init,
            mode,
            z,
            z_table,
            *ahead,
        ) = arguments
        builder = self.builder
        a_pointer, b_pointer = self.number_pointer(a), self.number_pointer(b)
        a_rows = self._rows(a_pointer, a_table)
        c_rows = self._rows(self.number_pointer(c), c_table)
        starts = self.starts(init, masks, mode)
        section_table = builder.inttoptr(sections, _I64.as_pointer())
        rest = Rest(self, len(starts))
        before = builder.block
        section, chunk, full, chain, after, end, done = (
            builder.append_basic_block(name)
            for name in ("section", "chunk", "full", "chain", "after", "end", "done")
        )
        # The loop over the terms of a chain: for each way of reading b.
        ways = [[None] * self.vectors] if masks[0] is None else [masks, [None] * self.vectors]
        inner = [builder.append_basic_block("k") for _ in ways]
        builder.branch(section)
        zero = integer(0)

        # Loop state besides the sums: terms of this chain, whether there were others, addresses of
        # b and of the prefetch.
        builder.position_at_end(section)
        (s,) = self._carried([zero], before)
        section_state = self._carried([zero, zero, b_pointer, *ahead[:1]], before)
        section_sums = self._carried(starts, before)
        offset = builder.load(builder.gep(section_table, [s]))
        builder.branch(chunk)

        # The part of a section that fits in the chain.
        builder.position_at_end(chunk)
        chunk_place = self._carried([zero, offset], section)
        chunk_state = self._carried(section_state, section)
        chunk_sums = self._carried(section_sums, section)
        is_full = builder.icmp_signed(">=", chunk_state[0], integer(CHAIN))
        builder.cbranch(is_full, full, chain)
        builder.position_at_end(full)
        rest.add(chunk_sums, chunk_state[1])
        builder.branch(chain)

        builder.position_at_end(chain)
        taken, others = self._carried(chunk_state[:2], chunk)
        self.join([taken, others], [zero, integer(1)], full)
        sums = self._carried(chunk_sums, chunk)
        self.join(sums, [self.nothing()] * len(sums), full)
        left, room = builder.sub(length, chunk_place[0]), builder.sub(integer(CHAIN), taken)
        some = builder.select(builder.icmp_signed("<", left, room), left, room)
        last = builder.add(chunk_place[0], some)
        if len(inner) == 1:
            builder.branch(inner[0])
        else:
            builder.cbranch(self.has(mode, PACKED), inner[1], inner[0])

        found: list[list[Any]] = []
        for block, way in zip(inner, ways, strict=True):
            builder.position_at_end(block)
            k, at = place = self._carried(chunk_place, chain)
            b_at, *fetched = reading = self._carried(chunk_state[2:], chain)
            before_term = self._carried(sums, chain)
            for address in fetched:
                self.fetch(address)
            with_term = self._multiplied(before_term, a_rows, at, b_at, way, masks)
            next_ones = [builder.add(k, integer(1)), builder.add(at, a_step)]
            next_ones += [builder.gep(b_at, [b_step])]
            next_ones += [builder.add(address, ahead[1]) for address in fetched]
            found.append([*next_ones, *with_term])
            self.join([*place, *reading, *before_term], found[-1], block)
            builder.cbranch(builder.icmp_signed("<", next_ones[0], last), block, after)

        builder.position_at_end(after)
        behind = self._carried(found[0], inner[0])
        for values, block in zip(found[1:], inner[1:], strict=True):
            self.join(behind, values, block)
        place_next, made = behind[:2], behind[-len(sums) :]
        reading_next = behind[2 : -len(sums)]
        state = [builder.add(taken, some), others, *reading_next]
        self.join([*chunk_place, *chunk_state, *chunk_sums], [*place_next, *state, *made], after)
        builder.cbranch(builder.icmp_signed("<", place_next[0], length), chunk, end)

        builder.position_at_end(end)
        s_next = builder.add(s, integer(1))
        self.join([s, *section_state, *section_sums], [s_next, *state, *made], end)
        builder.cbranch(builder.icmp_signed("<", s_next, count), section, done)

        builder.position_at_end(done)
        made = self.either(others, 1, lambda: rest.added_to(made), lambda: made)
        z_pointer = self.number_pointer(z)
        self.finish(made, c_rows, lambda: self._rows(z_pointer, z_table), masks, mode)

    def _carried(self, values: list[Any], block: Any) -> list[Any]:
        """Phi nodes with these values from this block."""
        made = [self.builder.phi(value.type) for value in values]
        self.join(made, values, block)
        return made

    def _multiplied(
        self,
        sums: list[Any],
        a_rows: list[Any],
        at: Any,
        b_at: Any,
        b_masks: list[Any],
        masks: list[Any],
    ) -> list[Any]:
        """The sums plus one more term each."""
        builder, vectors = self.builder, range(self.vectors)
        fma = self.function(f"llvm.fma.v{self.lanes}f32", self.vector, [self.vector] * 3)
        b_vectors = [
            self.load(builder.gep(b_at, [integer(j * self.lanes)]), b_masks[j]) for j in vectors
        ]
        made = []
        for i, row in enumerate(a_rows):
            pointer = builder.gep(row, [at])
            if self.channelwise:
                factor = self.load(pointer, masks[0])
            else:
                factor = self.spread(builder.load(pointer), self.vector)
            made += [
                builder.call(fma, [factor, b_vectors[j], sums[i * self.vectors + j]])
                for j in vectors
            ]
        return made

    def starts(self, init: Any, masks: list[Any], mode: Any) -> list[Any]:
        """The initial sums: the same for every row.

        They are neutral if c is added at the end: sums that started from c would have their terms
        rounded to its magnitude, and a gradient has many blocks.
        """

        def nothing() -> list[Any]:
            return [self.nothing()] * (self.rows * self.vectors)

        def given() -> list[Any]:
            pointer = self.number_pointer(init)
            one = [
                self.load(self.builder.gep(pointer, [integer(j * self.lanes)]), masks[j])
                for j in range(self.vectors)
            ]
            return one * self.rows

        return self.either(mode, ACCUMULATE, nothing, given)

    def nothing(self) -> Any:
        """The neutral vector of a sum: 0 would change -0."""
        return ir.Constant(self.vector, [-0.0] * self.lanes)

    def finish(
        self,
        sums: list[Any],
        c_rows: list[Any],
        z_rows: Callable[[], list[Any]],
        masks: list[Any],
        mode: Any,
    ) -> None:
        """Write complete sums to c, or add them to it.

        The operand at z is added first if the mode says so, then the activation is applied.
        """
        builder = self.builder

        def with_those(rows: list[Any]) -> list[Any]:
            return [
                builder.fadd(
                    value,
                    self.load(
                        builder.gep(rows[index // self.vectors], [integer(j * self.lanes)]),
                        masks[j],
                    ),
                )
                for index, value in enumerate(sums)
                for j in [index % self.vectors]
            ]

        sums = self.either(mode, ACCUMULATE, lambda: with_those(c_rows), lambda: sums)
        added = self.either(mode, ADD, lambda: with_those(z_rows()), lambda: sums)
        results = self.activated(added, mode)
        for index, value in enumerate(results):
            i, j = divmod(index, self.vectors)
            self.store(value, builder.gep(c_rows[i], [integer(j * self.lanes)]), masks[j])


def _tile(
    rows: int,
    vectors: int,
    *,
    lanes: int = LANES,
    channelwise: bool = False,
    fetches: bool = False,
) -> Any:
    """An intrinsic: a tile of `rows` by `vectors` of `lanes` numbers.

    Its arguments: addresses of a, of a's offsets (one per row, in numbers), of c and its offsets;
    address of b and its stride; address of the offsets that sections of the sum add to a, number of
    sections, terms of each, a's stride; number of valid columns; address of the initial sums; mode;
    addresses of the added operand and its offsets. A prefetching tile has two more: an address, and
    the bytes between prefetches for each term of the sum, which bring data to the cache for a later
    tile.
    """
    name = f"pinnace_tile_{rows}_{vectors}_{lanes}_{int(channelwise)}_{int(fetches)}"
    names = "a a_table c c_table b b_step sections count length a_step columns init mode z z_table"

    @generated(types.void, names + (" ahead ahead_step" if fetches else ""))
    def tile(builder: Any, *arguments: Any) -> None:
        def write(inside: Any, *given: Any) -> None:
            Tile(inside, rows, vectors, lanes, channelwise).write(list(given))

        call_own(builder, name, arguments, write)

    return tile


wide: Any = _tile(ROWS, VECTORS)
narrow: Any = _tile(ROWS, 1)
half: Any = _tile(HALF_ROWS, 1, lanes=HALF)
# The tile for the remainder of a product with few rows.
eight: Any = _tile(EIGHT, VECTORS)
# Tiles for weights that do not stay in the cache: the next panel is prefetched.
wide_fetching: Any = _tile(ROWS, VECTORS, fetches=True)
eight_fetching: Any = _tile(EIGHT, VECTORS, fetches=True)
four: Any = _tile(4, VECTORS)
two: Any = _tile(2, VECTORS)
one: Any = _tile(1, VECTORS)
# Tiles of a single row: the sums of a full panel, so that there are independent chains.
across: Any = _tile(1, PANEL // LANES)
far_across: Any = _tile(1, ACROSS // LANES)
channelwise: Any = _tile(ROWS, 1, channelwise=True)


@generated(types.void, "target source count")
def move(builder: Any, target: Any, source: Any, count: Any) -> None:
    """Copy `count` numbers from one address to another."""
    byte = _BYTE.as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [byte, byte, _I64, ir.IntType(1)])
    name = "llvm.memcpy.p0.p0.i64"
    copy = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    size = builder.mul(count, integer(4))
    places = [builder.inttoptr(one, byte) for one in (target, source)]
    builder.call(copy, [*places, size, ir.Constant(ir.IntType(1), 0)])


@generated(types.void, "target count")
def clear(builder: Any, target: Any, count: Any) -> None:
    """Clear `count` numbers at an address."""
    byte = _BYTE.as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [byte, _BYTE, _I64, ir.IntType(1)])
    name = "llvm.memset.p0.i64"
    fill = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    size = builder.mul(count, integer(4))
    place = builder.inttoptr(target, byte)
    builder.call(fill, [place, ir.Constant(_BYTE, 0), size, ir.Constant(ir.IntType(1), 0)])


@njit  # type: ignore[misc,unused-ignore] # Numba has no types
def pad(
    x: Any,
    scratch: Any,
    images: Any,
    front: Any,
    slices: Any,
    top: Any,
    rows: Any,
    room: Any,
    left: Any,
    width: Any,
    q: Any,
) -> None:
    """Copy rows `top` to `top + rows` of some slices of images, from column `left` on, padded.

    Args:
        x: address of the first image.
        scratch: address of [images, slices, room, width, C].
        images: number of images.
        front: the first slice; negative before the image.
        slices: number of slices.
        top: the first row; negative above the image.
        rows: number of rows.
        room: number of rows per slice in the scratch memory.
        left: the first column; negative before the image.
        width: number of columns.
        q: the kernel's table, for the sizes and strides of x.
    """
    height, columns, channels, depth = q[6], q[7], q[8], q[34]
    image_step, slice_step, row_step, step = q[31], q[41], q[32], q[33]
    first = min(max(left, 0), columns)
    last = max(min(left + width, columns), first)
    before = min(first - left, width)
    kept = min(last - first, width - before)
    rest = width - before - kept
    for plane in range(images * slices):
        z = front + plane % slices
        at = plane // slices * image_step + z * slice_step + first * step
        for r in range(rows):
            target = scratch + 4 * (plane * room + r) * width * channels
            y = top + r
            if z < 0 or z >= depth or y < 0 or y >= height:
                clear(target, width * channels)
                continue
            clear(target, before * channels)
            target += 4 * before * channels
            source = x + 4 * (at + y * row_step)
            if step == channels:
                move(target, source, kept * channels)
            else:
                for pixel in range(kept):
                    move(target + 4 * pixel * channels, source + 4 * pixel * step, channels)
            clear(target + 4 * kept * channels, rest * channels)
