"""Lines of depthwise convolutions: a row of windows by a vector of channels, as source."""

from __future__ import annotations

# Filter widths and strides, in taps, with specialised tiles.
_FILTERS = ((3, 1), (3, 2), (5, 1), (5, 2), (7, 1))
_ARGUMENTS = (
    "a + 4 * at * a_step, a_step, c + 4 * at * c_step, c_step, b, b_step, sections, count, length, "
    "tap_step, columns, init, mode, z + 4 * at * z_step, z_step"
)
_TILES = "".join(
    f"""
        elif kind == {10 * taps + step}:
            if size == LONG:
                long_{taps}_{step}({_ARGUMENTS})
            else:
                short_{taps}_{step}({_ARGUMENTS})"""
    for taps, step in _FILTERS
)

# When accumulating, no window may be computed twice.
CHANNEL_LINE = f'''
from pinnace.engine.codegen.channel_tiles import (
    LONG, SHORT, long_3_1, long_3_2, long_5_1, long_5_2, long_7_1, long_any, one_any,
    short_3_1, short_3_2, short_5_1, short_5_2, short_7_1,
)
from pinnace.engine.codegen.vectors import ACCUMULATE, ADD


@njit(nogil=True, error_model="numpy")
def channel_line(
    a, a_step, c, c_step, b, b_step, sections, count, length, tap_step, columns, init, mode,
    z, z_step, windows,
):
    """All windows of a line, by a vector of channels; see `channel_tiles._tile`."""
    kind = 0
    for step in range(1, 3):
        if a_step == step * tap_step:
            filter_kind = 10 * length + step
            if {" or ".join(f"filter_kind == {10 * taps + step}" for taps, step in _FILTERS)}:
                kind = filter_kind
    once = mode & (ACCUMULATE | ADD) != 0
    at = 0
    while at < windows:
        left = windows - at
        size = LONG if left >= LONG else SHORT if left >= SHORT and kind > 0 else 1
        if not once and left < LONG:
            # The last tile does some windows again: that takes less time than one at a time.
            if windows >= LONG and (left > SHORT or kind == 0):
                size = LONG
            elif windows >= SHORT and kind > 0:
                size = LONG if left > SHORT and windows >= LONG else SHORT
            at = min(at, windows - size)
        if size == 1:
            one_any({_ARGUMENTS})
        elif kind == 0:
            long_any({_ARGUMENTS}){_TILES}
        at += size
'''
