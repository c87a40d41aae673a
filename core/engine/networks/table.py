"""A network as a table of numbers with one row per layer, in the format of `codegen.walking`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pinnace.engine.networks import fields
from pinnace.engine.networks.attending import attention_row
from pinnace.engine.networks.fields import PLACE, depth_columns, pixel_columns, stride_columns
from pinnace.engine.networks.layers import NO_BORDER, Image, image_of
from pinnace.engine.networks.product_row import product_row
from pinnace.engine.networks.program_lines import Writer
from pinnace.engine.networks.program_rows import program_row, spread_row
from pinnace.engine.networks.sampled import resize_row
from pinnace.engine.networks.weighing import aligned

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from pinnace.engine.networks.layers import Layer, Reach
    from pinnace.engine.networks.memory import Memory, Storage
    from pinnace.engine.networks.weighing import Packed
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Value

# Numbers per piece of a row that only moves them.
_PIECE_NUMBERS = 1 << 14
# The relative cost of an exponential, compared with moving a number.
_EXP = 8
# The relative cost of an interpolation between four numbers.
_BLEND = 4
# Most pieces per thread.
_PIECES = 4


class Patch(NamedTuple):
    """An address that is known only at run time.

    Attributes:
        table: 0 for the layers, 1 for tensors of programs.
        row: the address's row.
        column: the address's column.
        storage: the memory it points to.
        offset: offset in that memory, in numbers.
    """

    table: int
    row: int
    column: int
    storage: Storage
    offset: int


class Table:
    """The rows of a network, without addresses of memory.

    Args:
        memory: the network's layers and the storage of their values.
        packed: for each layer its weights; None for layers without.
        shape: returns the shape of a value.
        array: returns the array of a constant.
        threads: number of threads that share the work.

    Attributes:
        memory, shape, array, threads: as given.
        rows: one row per layer.
        programs: instructions of the programs.
        tensors: the tensors that programs access.
        patches: addresses to be set for each call's memory.
        scratch: int64 numbers per thread.
        room: float32 numbers per thread.
    """

    def __init__(
        self,
        memory: Memory,
        packed: Sequence[Packed | None],
        shape: Callable[[Value], tuple[int, ...]],
        array: Callable[[Value], Array],
        threads: int,
    ) -> None:
        self.memory = memory
        self.shape = shape
        self.array = array
        self.threads = threads
        self.patches: list[Patch] = []
        self.scratch = 1
        self.room = (fields.REGISTERS + fields.SPREAD_REGISTERS) * fields.REGISTER_SIZE
        # Arrays that addresses in the table point to: kept alive.
        self._kept: list[Array] = []
        self._instructions: list[list[int]] = []
        self._tensors: list[list[int]] = []
        rows = []
        for number, (layer, form) in enumerate(zip(memory.layers, packed, strict=True)):
            row = dict.fromkeys(fields.NAMES, 0)
            row["KIND"] = fields.KIND[layer.kind]
            row["CUTS"] = 1
            self._row(number, layer, form, row)
            rows.append([row[name] for name in fields.NAMES])
        self.rows = np.array(rows, np.int64).reshape(-1, len(fields.NAMES))
        no_line, no_tensor = [0] * len(fields.INSTRUCTION), [0] * len(fields.TENSOR_COLUMNS)
        self.programs: Array = np.array(self._instructions or [no_line], np.int64)
        self.tensors: Array = np.array(self._tensors or [no_tensor], np.int64)

    def _row(self, number: int, layer: Layer, form: Packed | None, row: dict[str, int]) -> None:
        if layer.spread is not None:
            spread_row(self, number, layer, layer.spread, row)
        elif form is not None:
            product_row(self, number, layer, form, row)
        else:
            _WRITERS[layer.kind](self, number, layer, row)

    def need(self, scratch: int, room: int = 0) -> None:
        """Reserve at least this memory per thread; see `scratch` and `room`."""
        self.scratch, self.room = max(self.scratch, scratch), max(self.room, room)

    def address(
        self, number: int, name: str, key: Hashable, offset: int = 0, table: int = 0
    ) -> None:
        """Have the address of a value written to a column.

        Args:
            number: index of the row.
            name: the column's name.
            key: the value.
            offset: offset in numbers from the first one inside the padding.
            table: see `Patch`.
        """
        storage = self.memory.of(key)
        column = PLACE[name] if table == 0 else fields.TENSOR_COLUMNS.index(name)
        self.patches.append(Patch(table, number, column, storage, storage.inside + offset))

    def image(self, key: Hashable) -> tuple[Image, int, int]:
        """The sizes of a value, and its strides between images and rows."""
        storage = self.memory.of(key)
        if any(storage.border) or key in self.memory.storages:
            return storage.image, storage.step, storage.row
        image = image_of(self.shape(key))  # type: ignore[arg-type]
        row = image.width * image.channels
        return image, image.height * row, row

    def pieces(self, work: int, least: int = _PIECE_NUMBERS) -> int:
        """The number of pieces of a row.

        Args:
            work: the work of the row.
            least: the least work of a piece, for which a thread pays off.
        """
        threads = self.threads
        if threads == 1 or work < threads * least:
            return 1
        # All threads get the same number of pieces.
        return min(_PIECES, -(-work // (threads * least))) * threads

    def border(self, layer: Layer, row: dict[str, int]) -> None:
        """Fill in the padding around a layer's result, and its pixels if there is any."""
        storage = self.memory.of(layer.out)
        above, below, left, right = storage.border
        row |= {"ABOVE": above, "BELOW": below, "LEFT": left, "RIGHT": right}
        if any(storage.border):
            row |= pixel_columns(storage.image)

    def _pool(self, number: int, layer: Layer, row: dict[str, int]) -> None:
        source = self.memory.source(layer)
        window = layer.window
        x, x_image, x_row = self.image(source)
        y, y_image, y_row = self.image(layer.out)
        above, below, left, right = window.border
        (taps_down, taps_along), (down, along) = window.taps, window.steps
        row |= pixel_columns(y) | stride_columns("X", x_image, x_row, x.channels)
        row |= stride_columns("Y", y_image, y_row, y.channels)
        row |= {"WIDTH": y.channels, "TAPS_DOWN": taps_down, "TAPS_ALONG": taps_along}
        row |= {"DOWN": down, "ALONG": along}
        offset = 0
        if window.counts_border:
            row |= {"HEIGHT": x.height + above + below, "BREADTH": x.width + left + right}
            offset = -(above * x_row + left * x.channels)
        else:
            row |= {"HEIGHT": x.height, "BREADTH": x.width, "TOP": above, "SIDE": left}
        row |= depth_columns(layer.depth)
        self.border(layer, row)
        self.address(number, "X", source, offset)
        self.address(number, "Y", layer.out)
        work = y.pixels * y.channels * taps_down * taps_along * row["TAPS_DEEP"]
        row["PIECES"] = min(self.pieces(work), y.batch * y.height)

    def _mean(self, number: int, layer: Layer, row: dict[str, int]) -> None:
        x, x_image, x_row = self.image(layer.xs[0])
        slices = 1 if layer.depth is None else layer.depth.given
        if layer.over is not None:
            shape, (first, last) = self.shape(layer.xs[0]), layer.over
            pixels, channels = math.prod(shape[first:last]), math.prod(shape[last:])
            x = Image(math.prod(shape[:first]), 1, pixels, channels)
            x_image = x_row = pixels * channels
        row |= stride_columns("X", x_image, x_row, x.channels)
        row |= {"IMAGES": x.batch // slices, "X_SLICES": slices, "MODE": layer.mode}
        row |= {"HEIGHT": x.height, "BREADTH": x.width, "WIDTH": x.channels, "Y_IMAGE": x.channels}
        self.address(number, "X", layer.xs[0])
        self.address(number, "Y", layer.out)
        wanted = self.pieces(x.pixels * x.channels)
        by_images = min(wanted, row["IMAGES"])
        cuts = min(-(-wanted // by_images), max(1, x.channels // 64))
        row |= {"CUTS": cuts, "PIECES": cuts * by_images}

    def _softmax(self, number: int, layer: Layer, row: dict[str, int]) -> None:
        image = image_of(self.shape(layer.out))
        row |= {"COLUMNS": image.pixels, "WIDTH": image.channels}
        self.address(number, "X", layer.xs[0])
        self.address(number, "Y", layer.out)
        wanted = self.pieces(_EXP * image.pixels * image.channels)
        row["PIECES"] = min(wanted, image.pixels)

    def _lookup(self, number: int, layer: Layer, row: dict[str, int]) -> None:
        assert layer.indices is not None  # noqa: S101 - for mypy: lookups have indices
        assert layer.weights is not None  # noqa: S101 - for mypy: and a table
        first, step, count, wraps, width, outside, filler = layer.indices
        (base,) = layer.xs
        table = np.ascontiguousarray(self.array(layer.weights), np.float32)
        row |= {
            "WEIGHTS": self.keep(table),
            "HEIGHT": len(table),
            "WIDTH": width,
            "COLUMNS": count,
            "X_STEP": step,
            "INDEX_BYTES": base.dtype.numpy.itemsize,
            "WRAPS": wraps,
            "MODE": fields.OUTSIDE.index(outside),
        }
        if outside == "FILLED":
            row["BIAS"] = self.keep(np.full(width, filler, np.float32))
        self.address(number, "X", base, first * base.dtype.numpy.itemsize // 4)
        self.address(number, "Y", layer.out)
        row["PIECES"] = min(self.pieces(count * width), count)

    def _pairs(self, number: int, layer: Layer, row: dict[str, int]) -> None:
        assert layer.pairs is not None  # noqa: S101 - for mypy: such layers have them
        images, rows, inner, columns = layer.pairs.sizes
        row |= {"IMAGES": images, "ROWS_": rows, "LENGTH": inner, "COLUMNS": columns, "PIECES": 1}
        row |= stride_columns("X", rows * inner, *layer.pairs.x)
        row |= stride_columns("Z", inner * columns, *layer.pairs.z)
        for name, key in zip("XZY", (*layer.xs, layer.out), strict=True):
            self.address(number, name, key)

    def _copy(self, number: int, layer: Layer, row: dict[str, int]) -> None:
        x, x_image, x_row = self.image(layer.xs[0])
        y, y_image, y_row = self.image(layer.out)
        if layer.over is not None:
            x, y = (self._rows_of(value, layer) for value in (layer.xs[0], layer.out))
            x_image = x_row = y_image = y_row = 0
        row |= pixel_columns(x) | {"WIDTH": x.channels}
        row |= stride_columns("X", x_image, x_row, x.channels) | stride_columns(
            "Y", y_image, y_row, y.channels
        )
        part = 0
        if layer.crop is not None:
            row |= {"ROWS_": layer.crop.height, "COLUMNS": layer.crop.width}
            part = layer.crop.top * x_row + layer.crop.left * x.channels
        self.border(layer, row)
        offset = layer.channel
        if layer.window.border != NO_BORDER:  # padding that is part of the output
            above, below, left, right = layer.window.border
            row |= pixel_columns(x)
            row |= {"ABOVE": above, "BELOW": below, "LEFT": left, "RIGHT": right}
            offset = above * y_row + left * y.channels
        self.address(number, "X", layer.xs[0], part)
        self.address(number, "Y", layer.out, offset)
        if layer.channel:  # the first part of a concatenation clears the padding
            row |= dict.fromkeys(("ABOVE", "BELOW", "LEFT", "RIGHT"), 0)
        row["PIECES"] = min(self.pieces(x.pixels * x.channels), x.batch * x.height)

    def _rows_of(self, value: Value, layer: Layer) -> Image:
        """The image of a value whose axes before the concatenated one are rows."""
        axis = layer.over[0] if layer.over else 0
        rows = math.prod(self.shape(layer.out)[:axis])
        return Image(1, 1, rows, math.prod(self.shape(value)) // rows)

    def _resize(self, number: int, layer: Layer, row: dict[str, int]) -> None:
        x, x_image, x_row = self.image(layer.xs[0])
        y, y_image, y_row = self.image(layer.out)
        part = 0
        if layer.crop is not None:
            part = layer.crop.top * x_row + layer.crop.left * x.channels
            x = x._replace(height=layer.crop.height, width=layer.crop.width)
        row["LENGTH"], places, parts = resize_row(layer.node, x, x_row, y)
        row |= pixel_columns(y) | stride_columns("Y", y_image, y_row, y.channels)
        row |= {"X_IMAGE": x_image, "WIDTH": y.channels, "WEIGHTS": self.keep(places)}
        row["BIAS"] = 0 if parts is None else self.keep(parts)
        self.border(layer, row)
        self.address(number, "X", layer.xs[0], part)
        self.address(number, "Y", layer.out)
        work = _BLEND * y.pixels * y.channels
        row["PIECES"] = min(self.pieces(work), y.batch * y.height)

    def instruct(
        self,
        layer: Layer,
        reaches: Sequence[tuple[Value, Reach]],
        row: dict[str, int],
        *,
        holds: bool = False,
    ) -> int:
        """Add a program's instructions; returns the result's register if the program `holds` it."""
        row |= {"TENSORS": len(self._tensors), "FIRST": len(self._instructions)}
        for _, reach in reaches:
            self.address(len(self._tensors), "AT", reach.base, reach.first, table=1)
            self._tensors.append([0, reach.image, reach.row, reach.step])
        places = {value: place for place, (value, _) in enumerate(reaches)}
        width = row["WIDTH"]
        writer = Writer(self, layer, places, row["BLOCK"] * width, width, holds=holds)
        writer.write(self._instructions)
        row["LAST"] = len(self._instructions)
        return writer.held

    def is_one_pass(self, first: int) -> bool:
        """Whether the last program is one instruction on tensors, which no register limits.

        Args:
            first: index of its first instruction.
        """
        lines = self._instructions[first:]
        kinds = [fields.INSTRUCTION.index(name) for name in ("TO_KIND", "A_KIND", "B_KIND")]
        return len(lines) == 1 and all(lines[0][kind] == fields.TENSOR for kind in kinds)

    def spread(self, array: Array, count: int) -> int:
        """Address of an array that is repeated to fill a block."""
        numbers = np.asarray(array, np.float32).reshape(-1)
        return self.keep(aligned(np.tile(numbers, -(-count // numbers.size))[:count]))

    def keep(self, array: Array) -> int:
        """Address of an array, which is kept alive."""
        self._kept.append(array)
        return int(array.ctypes.data)


# Functions that fill in the rows of layers without panels of weights.
_WRITERS: dict[str, Callable[[Table, int, Layer, dict[str, int]], None]] = {
    "PROGRAM": program_row,
    "MEAN": Table._mean,
    "MAXIMUM": Table._pool,
    "AVERAGE": Table._pool,
    "PAIRS": Table._pairs,
    "COPY": Table._copy,
    "RESIZE": Table._resize,
    "SOFTMAX": Table._softmax,
    "ATTENTION": attention_row,
    "LOOKUP": Table._lookup,
}


def products_of(memory: Memory, packed: Sequence[Packed | None]) -> int:
    """The number of multiplications of a run."""
    total = 0
    for layer, form in zip(memory.layers, packed, strict=True):
        if layer.attending is not None:
            images, heads, queries, keys, depth, width = layer.attending.sizes
            total += images * heads * queries * keys * (depth + width)
        if form is not None:
            image = memory.of(layer.out).image if layer.flat is None else layer.flat[1]
            per_channel = form.weights.size // max(1, image.channels * form.folded)
            total += math.prod(image) * max(1, per_channel)
    return total
