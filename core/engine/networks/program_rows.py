"""Elementwise steps of a network as rows of its table, and copies between strided values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.engine.networks.fields import pixel_columns, stride_columns
from pinnace.engine.networks.layers import Reach, operands_of

if TYPE_CHECKING:
    from pinnace.engine.networks.layers import Layer, Spread
    from pinnace.engine.networks.table import Table
    from pinnace.graph.graph import Value

# Numbers per block of a program; a register holds twice as many. The overhead of an instruction
# equals some 500 numbers.
_BLOCK_NUMBERS = 1 << 11
# How much larger the block of a program without registers may be.
_LONG_BLOCK = 8
# Numbers per row of an image below which a block has several rows, if they are not contiguous.
_SHORT_ROW = _BLOCK_NUMBERS // 2


def program_row(table: Table, number: int, layer: Layer, row: dict[str, int]) -> None:
    """Fill in the columns of elementwise steps on images, and write their instructions.

    Args:
        table: the row's table.
        number: index of the row.
        layer: the layer of the program.
        row: the columns; all are 0 except the kind.
    """
    y, _, _ = table.image(layer.out)
    keys: list[Value] = [*layer.xs, layer.out]
    kinds = {one.value: one.kind for one in operands_of(layer.program)}
    borders = [key for key in keys if any(table.memory.of(key).border)]
    holds = borders == [layer.out] and y.width * y.channels < _SHORT_ROW
    if borders:
        row |= pixel_columns(y)
    elif "image" in kinds.values():
        row |= {"IMAGES": y.batch, "ROWS_": 1, "COLUMNS": y.height * y.width}
    else:
        row |= {"IMAGES": 1, "ROWS_": 1, "COLUMNS": y.pixels}
    table.border(layer, row)
    width = y.channels
    row |= {"WIDTH": width, "BLOCK": max(1, _BLOCK_NUMBERS // width), "Y_STEP": width}
    _, row["Y_IMAGE"], row["Y_ROW"] = table.image(layer.out)
    table.address(number, "Y", layer.out)
    reaches = []
    for key in keys:
        of, image, step = table.image(key)
        steps = {"image": (width, 0, 0), "channels": (0, 0, 0)}.get(kinds.get(key, ""))
        reaches.append((key, Reach(key, 0, *(steps or (image, step, of.channels)))))
    held = table.instruct(layer, reaches, row, holds=holds)
    if table.is_one_pass(row["FIRST"]):
        row["BLOCK"] *= _LONG_BLOCK
    row["HELD"] = held + 1 if holds else 0
    work = y.pixels * width * len(layer.program)
    row["PIECES"] = min(table.pieces(work), y.pixels)


def spread_row(
    table: Table, number: int, layer: Layer, spread: Spread, row: dict[str, int]
) -> None:
    """Fill in the columns of a copy or program whose operands are strided or broadcast.

    Args:
        table: the row's table.
        number: index of the row.
        layer: the copy, or the layer of the program.
        spread: the loops over its operands and result.
        row: the columns; all are 0 except the kind.
    """
    images, rows, columns, width = spread.sizes
    row |= {"IMAGES": images, "ROWS_": rows, "COLUMNS": columns, "WIDTH": width}
    moved = images * rows * columns * width
    if layer.kind == "COPY":
        for name, reach in zip("XY", (*spread.reaches.values(), spread.out), strict=True):
            row |= stride_columns(name, reach.image, reach.row, reach.step)
            table.address(number, name, reach.base, reach.first)
        row["PIECES"] = min(table.pieces(moved), images * rows)
        return
    row["BLOCK"] = max(1, _BLOCK_NUMBERS // width)
    table.instruct(layer, [*spread.reaches.items(), (layer.out, spread.out)], row)
    work = moved * len(layer.program)
    row["PIECES"] = min(table.pieces(work), images * rows * columns)
