"""Depthwise convolutions in vector registers.

A tile is several adjacent windows in a row of an image, by a vector of channels. Windows overlap: a
vector of the image that several of them use is loaded once, and the filter's row stays in registers
beside the sums. That requires known filter widths and strides: there is a tile for each common
filter, and a general one that loads each tap of each window. `channel_lines` selects the tiles of a
line.

Importing this module imports Numba.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from pinnace.engine.codegen.intrinsics import call_own, generated
from pinnace.engine.codegen.register_tiles import Tile
from pinnace.engine.codegen.vectors import LANES, integer

_I64 = ir.IntType(64)
# Windows per tile: with seven taps they fit sixteen registers, and the widths of most networks'
# images are multiples of seven or four.
LONG, SHORT = 7, 4


class _ChannelTile(Tile):
    """A tile of `rows` adjacent windows.

    Args:
        builder: at the start of a separate function.
        rows: windows.
        taps: width of the filter; None if it is known only at run time.
        step: stride of the windows, in taps; used if `taps` is given.
    """

    def __init__(self, builder: Any, rows: int, taps: int | None, step: int) -> None:
        super().__init__(builder, rows, 1, LANES, channelwise=True)
        self._taps, self._step = taps, step

    def _windows(self, address: Any, step: Any) -> list[Any]:
        """Pointers from an address on, with a constant stride."""
        pointer = self.number_pointer(address)
        return [
            self.builder.gep(pointer, [self.builder.mul(step, integer(row))])
            for row in range(self.rows)
        ]

    def write_masked(self, arguments: list[Any], masks: list[Any]) -> None:
        """Generate a tile with masked columns; None for all columns."""
        a, a_step, c, c_step, b, b_step, sections, count, length, tap_step = arguments[:10]
        init, mode, z, z_step = arguments[11:]
        builder = self.builder
        a_pointer, b_pointer = self.number_pointer(a), self.number_pointer(b)
        c_rows = self._windows(c, c_step)
        starts = self.starts(init, masks, mode)
        section_table = builder.inttoptr(sections, _I64.as_pointer())
        before = builder.block
        section, done = (builder.append_basic_block(name) for name in ("section", "done"))
        builder.branch(section)

        builder.position_at_end(section)
        s = builder.phi(_I64)
        s.add_incoming(integer(0), before)
        b_section = builder.phi(b_pointer.type)
        b_section.add_incoming(b_pointer, before)
        sums_section = self.phis(starts, before)
        image = builder.gep(a_pointer, [builder.load(builder.gep(section_table, [s]))])
        if self._taps is None:
            steps = (a_step, tap_step, b_step)
            sums = self._each_tap(sums_section, image, b_section, steps, length, masks[0])
            taps = length
        else:
            sums = self._sliding(sums_section, image, b_section, (tap_step, b_step), masks[0])
            taps = integer(self._taps)
        after = builder.block
        s_next = builder.add(s, integer(1))
        s.add_incoming(s_next, after)
        b_section.add_incoming(builder.gep(b_section, [builder.mul(taps, b_step)]), after)
        self.join(sums_section, sums, after)
        builder.cbranch(builder.icmp_signed("<", s_next, count), section, done)

        builder.position_at_end(done)
        self.finish(sums, c_rows, lambda: self._windows(z, z_step), masks, mode)

    def _multiply(self, x: Any, weight: Any, total: Any) -> Any:
        fma = self.function(f"llvm.fma.v{self.lanes}f32", self.vector, [self.vector] * 3)
        return self.builder.call(fma, [x, weight, total])

    def _sliding(
        self, sums: list[Any], image: Any, filters: Any, steps: tuple[Any, Any], mask: Any
    ) -> list[Any]:
        """Sums over a row of the filter, with each vector of the image loaded once."""
        builder, taps, sums = self.builder, self._taps or 0, list(sums)
        tap_step, b_step = steps
        weights = []
        for _ in range(taps):
            weights.append(self.load(filters, mask))
            filters = builder.gep(filters, [b_step])
        for place in range((self.rows - 1) * self._step + taps):
            x = self.load(image, mask)
            image = builder.gep(image, [tap_step])
            for tap, weight in enumerate(weights):
                window, rest = divmod(place - tap, self._step)
                if rest == 0 and 0 <= window < self.rows:
                    sums[window] = self._multiply(x, weight, sums[window])
        return sums

    def _each_tap(
        self,
        sums: list[Any],
        image: Any,
        filters: Any,
        steps: tuple[Any, Any, Any],
        length: Any,
        mask: Any,
    ) -> list[Any]:
        """Sums over a row of the filter, tap by tap."""
        builder, before = self.builder, self.builder.block
        a_step, tap_step, b_step = steps
        tap, after = (builder.append_basic_block(name) for name in ("tap", "after"))
        builder.branch(tap)
        builder.position_at_end(tap)
        k = builder.phi(_I64)
        k.add_incoming(integer(0), before)
        at = builder.phi(image.type)
        at.add_incoming(image, before)
        filter_at = builder.phi(filters.type)
        filter_at.add_incoming(filters, before)
        held = self.phis(sums, before)
        weight = self.load(filter_at, mask)
        found = []
        for row, total in enumerate(held):
            x = self.load(builder.gep(at, [builder.mul(a_step, integer(row))]), mask)
            found.append(self._multiply(x, weight, total))
        k_next = builder.add(k, integer(1))
        k.add_incoming(k_next, tap)
        at.add_incoming(builder.gep(at, [tap_step]), tap)
        filter_at.add_incoming(builder.gep(filter_at, [b_step]), tap)
        self.join(held, found, tap)
        builder.cbranch(builder.icmp_signed("<", k_next, length), tap, after)
        builder.position_at_end(after)
        return found


def _tile(rows: int, taps: int | None = None, step: int = 0) -> Any:
    """An intrinsic: a tile of `rows` windows.

    Its arguments: address of a and its stride between windows, of c and its stride; address of b
    and its stride between taps; address of the offsets that rows of the filter add to a, number of
    rows, taps per row, a's stride between taps; number of valid columns; address of the initial
    sums; mode; address of the added operand and its stride. Strides are in numbers.
    """
    name = f"pinnace_channel_tile_{rows}_{taps or 0}_{step}"
    names = "a a_step c c_step b b_step sections count length tap_step columns init mode z z_step"

    @generated(types.void, names)
    def tile(builder: Any, *arguments: Any) -> None:
        def write(inside: Any, *given: Any) -> None:
            _ChannelTile(inside, rows, taps, step).write(list(given))

        call_own(builder, name, arguments, write)

    return tile


# Named by windows, filter width, and stride.
long_any: Any = _tile(LONG)
one_any: Any = _tile(1)
long_3_1: Any = _tile(LONG, 3, 1)
short_3_1: Any = _tile(SHORT, 3, 1)
long_3_2: Any = _tile(LONG, 3, 2)
short_3_2: Any = _tile(SHORT, 3, 2)
long_5_1: Any = _tile(LONG, 5, 1)
short_5_1: Any = _tile(SHORT, 5, 1)
long_5_2: Any = _tile(LONG, 5, 2)
short_5_2: Any = _tile(SHORT, 5, 2)
long_7_1: Any = _tile(LONG, 7, 1)
short_7_1: Any = _tile(SHORT, 7, 1)
