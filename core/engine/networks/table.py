"""A network as a table of numbers with one row per layer, in the format of `codegen.walking`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pinnace.engine.networks import fields
from pinnace.engine.networks.attending import attention_row
from pinnace.engine.networks.fields import PLACE, depth_columns, volume_columns
from pinnace.engine.networks.folding import window_of
from pinnace.engine.networks.layers import NO_BORDER, Image, Reach, image_of, operands_of
from pinnace.engine.networks.program_lines import Writer
from pinnace.engine.networks.sampled import resize_row
from pinnace.engine.networks.weighing import aligned
from pinnace.engine.networks.winograd_row import winograd_row

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from pinnace.engine.networks.layers import Layer, Spread
    from pinnace.engine.networks.memory import Memory, Storage
    from pinnace.engine.networks.weighing import Packed
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Value

# Multiplications of a piece, and numbers of a piece that only moves them.
_PIECE_PRODUCTS, _PIECE_NUMBERS = 1 << 19, 1 << 14
# The relative cost of a depthwise multiplication, and of a byte of weights.
_CHANNELWISE, _WEIGHT_BYTE = 8, 4
# The relative cost of an exponential, compared with moving a number.
_EXP = 8
# The relative cost of an interpolation between four numbers.
_BLEND = 4
# Most pieces per thread.
_PIECES = 4
# Bytes of x per block, which fit in the L2 cache; most windows of a block, and fewest: the rows of
# the largest tile.
_BLOCK_BYTES, _MOST_WINDOWS, _TILE_ROWS = 1 << 18, 2048, 14
# Rows of the tiles for the remainder of a product.
_FEWER_ROWS = (1, 2, 4, 8)
# Bytes of weights that stay in the cache across windows.
_STAYING_BYTES = 1 << 17
# Fewest windows per thread for sharing windows instead of columns, fewest tiles of a piece, and
# fewest rows of windows in a piece of a depthwise convolution.
_FEWEST_WINDOWS, _FEWEST_TILES, _FEWEST_LINES = 3 * _TILE_ROWS // 2, 3, 3
# Numbers of a program's block; a register holds twice as many. The overhead of an instruction
# equals some 500 numbers.
_BLOCK_NUMBERS = 1 << 11
# How much larger a block may be that uses no register.
_LONG_BLOCK = 8
# Numbers per row of an image below which a block has several rows, if they are not contiguous.
_SHORT_ROW = _BLOCK_NUMBERS // 2


class Patch(NamedTuple):
    """An address that is known only at run time.

    Attributes:
        table: 0 for the layers, 1 for tensors of programs.
        row: of the table.
        column: of the table.
        storage: the value it points to.
        offset: in numbers.
    """

    table: int
    row: int
    column: int
    storage: Storage
    offset: int


def _rows_of_tiles(windows: int) -> int:
    """The number of rows of the tiles that cover some windows: remainders have smaller tiles."""
    whole, left = divmod(windows, _TILE_ROWS)
    return whole * _TILE_ROWS + next(rows for rows in (0, *_FEWER_ROWS, _TILE_ROWS) if rows >= left)


class Table:
    """The rows of a network, without addresses of memory.

    Args:
        memory: the network's layers and the storage of their values.
        packed: for each layer its weights; None for layers without.
        shape: returns that of a value.
        array: returns that of a constant.
        threads: that share the work.

    Attributes:
        threads: as given.
        rows: one per layer.
        programs: instructions of the programs.
        tensors: that the programs access.
        patches: addresses to be set for each memory.
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
        self._memory = memory
        self._shape = shape
        self._array = array
        self.threads = threads
        self.patches: list[Patch] = []
        self.scratch = 1
        self.room = (fields.REGISTERS + fields.SPREAD_REGISTERS) * fields.REGISTER_SIZE
        # Arrays that addresses in the table point to, kept alive.
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
            self._spread(number, layer, layer.spread, row)
        elif form is not None:
            self._product(number, layer, form, row)
        else:
            _WRITERS[layer.kind](self, number, layer, row)

    def need(self, scratch: int, room: int = 0) -> None:
        """Have at least this memory for each thread, see `scratch` and `room`."""
        self.scratch, self.room = max(self.scratch, scratch), max(self.room, room)

    def address(
        self, number: int, name: str, key: Hashable, offset: int = 0, table: int = 0
    ) -> None:
        """Have the address of a value written to a column.

        Args:
            number: of the row.
            name: of the column.
            key: the value.
            offset: in numbers, inside the padding.
            table: see `Patch`.
        """
        storage = self._memory.of(key)
        column = PLACE[name] if table == 0 else fields.TENSOR_COLUMNS.index(name)
        self.patches.append(Patch(table, number, column, storage, storage.inside + offset))

    def _image(self, key: Hashable) -> tuple[Image, int, int]:
        """The sizes of a value, and its strides between images and rows."""
        storage = self._memory.of(key)
        if any(storage.border) or key in self._memory.storages:
            return storage.image, storage.step, storage.row
        image = image_of(self._shape(key))  # type: ignore[arg-type]
        row = image.width * image.channels
        return image, image.height * row, row

    # Products.

    def _product(self, number: int, layer: Layer, form: Packed, row: dict[str, int]) -> None:
        source = self._memory.source(layer)
        window = window_of(layer.window, form.folded)
        x, x_image, x_row = self._image(source)
        y, y_image, y_row = self._image(layer.out)
        if layer.flat is not None:
            x, y = layer.flat
        if form.folded > 1:
            y = y._replace(width=y.width // form.folded, channels=y.channels * form.folded)
        channels, width = x.channels, y.channels
        (down, along), (gap_down, gap_along) = window.steps, window.gaps
        taps_down, taps_along = window.taps
        above, _, left, _ = window.border
        keys = [source, layer.out, *([] if layer.added is None else [layer.added])]
        storages = [self._memory.of(key) for key in keys]
        is_plain = window.is_one and not layer.phases and layer.depth is None
        if is_plain and not any(any(one.border) for one in storages):
            row |= {"IMAGES": 1, "ROWS_": 1, "COLUMNS": y.pixels}
        else:
            row |= _pixels(y)
        phase = layer.phases[0] if layer.phases else None
        first, every = ((0, 0), (1, 1)) if phase is None else (phase.first, phase.every)
        row |= _steps("X", x_image, down * x_row, along * channels)
        row |= _steps("Y", y_image, every[0] * y_row, every[1] * width)
        row |= {"WIDTH": width, "MODE": layer.mode}
        row |= {"WEIGHTS": form.weights.ctypes.data, "BIAS": form.bias.ctypes.data}
        self._border(layer, row)
        if phase is not None:
            row |= {"ROWS_": phase.counts[0], "COLUMNS": phase.counts[1]}
        self.address(number, "X", source, -(above * x_row + left * channels))
        self.address(number, "Y", layer.out, first[0] * y_row + first[1] * width)
        if layer.added is not None:
            _, z_image, z_row = self._image(layer.added)
            row |= _steps("Z", z_image, every[0] * z_row, every[1] * width)
            self.address(number, "Z", layer.added, first[0] * z_row + first[1] * width)
        row["ACROSS"] = 1
        row["SECTION_DOWN"] = gap_down * x_row
        row["SECTIONS"] = taps_down
        if layer.kind == "CHANNELWISE":
            row |= {"LENGTH": taps_along, "A_STEP": gap_along * channels}
        elif gap_along == 1:
            row["LENGTH"] = taps_along * channels
        else:
            row |= {
                "SECTIONS": taps_down * taps_along,
                "LENGTH": channels,
                "ACROSS": taps_along,
                "SECTION_ALONG": gap_along * channels,
            }
        row |= {"TERMS": row["SECTIONS"] * row["LENGTH"], "TIER": row["SECTIONS"]}
        taps_deep = 1 if layer.depth is None else layer.depth.taps
        inner = row["TERMS"] * taps_deep
        row["WEIGHTS_STAY"] = int(form.weights.nbytes <= _STAYING_BYTES)
        per_window = max(1, 4 * channels * down * along * taps_deep)
        block = min(_MOST_WINDOWS, max(4 * _TILE_ROWS, _BLOCK_BYTES // per_window))
        row["BLOCK"] = block // _TILE_ROWS * _TILE_ROWS
        self._cut(layer, row, inner, form.weights.nbytes)
        if layer.depth is not None:
            row |= volume_columns(layer.depth, row)
        table = 3 * (row["BLOCK"] + 16) + row["SECTIONS"] + 1
        # Volumes: a row of the table besides.
        self.need(table + (0 if layer.depth is None else len(fields.NAMES)))
        if form.transformed is not None:
            row |= winograd_row(self, form, x, y)

    def _cut(self, layer: Layer, row: dict[str, int], inner: int, weight_bytes: int) -> None:
        """The pieces of a product: by windows, or by columns if there are few windows.

        Args:
            layer: the product.
            row: of the table.
            inner: terms of a sum.
            weight_bytes: of all weights.
        """
        lines = row["IMAGES"] * row["ROWS_"]
        windows = lines * row["COLUMNS"]
        work = windows * inner * row["WIDTH"]
        if layer.kind == "CHANNELWISE":
            wanted = self._pieces(work * _CHANNELWISE, _PIECE_PRODUCTS)
            parts = min(lines, max(lines // _FEWEST_LINES, self.threads))
        else:
            # Few windows: reading the weights dominates.
            wanted = self._pieces(max(work, weight_bytes * _WEIGHT_BYTE), _PIECE_PRODUCTS)
            tiles = -(-windows // _TILE_ROWS)
            parts = min(tiles, max(tiles // _FEWEST_TILES, self.threads))
        # By windows, a thread finds its own output of the row before in its cache: that is faster
        # than reading only half of the weights.
        cuts = 1
        if windows < self.threads * _FEWEST_WINDOWS:
            cuts = self._shared(min(-(-row["WIDTH"] // 32), wanted))
        parts = self._shared(min(parts, max(1, wanted // cuts)))
        row |= {"CUTS": cuts, "PIECES": cuts * parts}
        even = -(-windows // parts)
        tiled = -(-even // _TILE_ROWS) * _TILE_ROWS
        if parts <= self.threads and _rows_of_tiles(even) < tiled:
            row["OF_PIECE"] = even

    def _shared(self, pieces: int) -> int:
        """At most this many pieces, with equal numbers for all threads."""
        return pieces - (pieces % self.threads if pieces > self.threads else 0)

    def _pieces(self, work: int, least: int) -> int:
        threads = self.threads
        if threads == 1 or work < threads * least:
            return 1
        # Equal numbers for all threads.
        return min(_PIECES, -(-work // (threads * least))) * threads

    def _border(self, layer: Layer, row: dict[str, int]) -> None:
        storage = self._memory.of(layer.out)
        above, below, left, right = storage.border
        row |= {"ABOVE": above, "BELOW": below, "LEFT": left, "RIGHT": right}
        if any(storage.border):
            image = storage.image
            row |= _pixels(image)

    # The others.

    def _pool(self, number: int, layer: Layer, row: dict[str, int]) -> None:
        source = self._memory.source(layer)
        window = layer.window
        x, x_image, x_row = self._image(source)
        y, y_image, y_row = self._image(layer.out)
        above, below, left, right = window.border
        (taps_down, taps_along), (down, along) = window.taps, window.steps
        row |= _pixels(y) | _steps("X", x_image, x_row, x.channels)
        row |= _steps("Y", y_image, y_row, y.channels)
        row |= {"WIDTH": y.channels, "TAPS_DOWN": taps_down, "TAPS_ALONG": taps_along}
        row |= {"DOWN": down, "ALONG": along}
        offset = 0
        if window.counts_border:
            row |= {"HEIGHT": x.height + above + below, "BREADTH": x.width + left + right}
            offset = -(above * x_row + left * x.channels)
        else:
            row |= {"HEIGHT": x.height, "BREADTH": x.width, "TOP": above, "SIDE": left}
        row |= depth_columns(layer.depth)
        self._border(layer, row)
        self.address(number, "X", source, offset)
        self.address(number, "Y", layer.out)
        work = y.pixels * y.channels * taps_down * taps_along * row["TAPS_DEEP"]
        row["PIECES"] = min(self._pieces(work, _PIECE_NUMBERS), y.batch * y.height)

    def _mean(self, number: int, layer: Layer, row: dict[str, int]) -> None:
        x, x_image, x_row = self._image(layer.xs[0])
        slices = 1 if layer.depth is None else layer.depth.given
        if layer.over is not None:
            shape, (first, last) = self._shape(layer.xs[0]), layer.over
            pixels, channels = math.prod(shape[first:last]), math.prod(shape[last:])
            x = Image(math.prod(shape[:first]), 1, pixels, channels)
            x_image = x_row = pixels * channels
        row |= _steps("X", x_image, x_row, x.channels)
        row |= {"IMAGES": x.batch // slices, "X_SLICES": slices, "MODE": layer.mode}
        row |= {"HEIGHT": x.height, "BREADTH": x.width, "WIDTH": x.channels, "Y_IMAGE": x.channels}
        self.address(number, "X", layer.xs[0])
        self.address(number, "Y", layer.out)
        wanted = self._pieces(x.pixels * x.channels, _PIECE_NUMBERS)
        by_images = min(wanted, row["IMAGES"])
        cuts = min(-(-wanted // by_images), max(1, x.channels // 64))
        row |= {"CUTS": cuts, "PIECES": cuts * by_images}

    def _softmax(self, number: int, layer: Layer, row: dict[str, int]) -> None:
        image = image_of(self._shape(layer.out))
        row |= {"COLUMNS": image.pixels, "WIDTH": image.channels}
        self.address(number, "X", layer.xs[0])
        self.address(number, "Y", layer.out)
        wanted = self._pieces(_EXP * image.pixels * image.channels, _PIECE_NUMBERS)
        row["PIECES"] = min(wanted, image.pixels)

    def _lookup(self, number: int, layer: Layer, row: dict[str, int]) -> None:
        assert layer.indices is not None  # noqa: S101 - for mypy: lookups have indices
        assert layer.weights is not None  # noqa: S101 - for mypy: and a table
        first, step, count, wraps, width, outside, filler = layer.indices
        (base,) = layer.xs
        table = np.ascontiguousarray(self._array(layer.weights), np.float32)
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
        row["PIECES"] = min(self._pieces(count * width, _PIECE_NUMBERS), count)

    def _pairs(self, number: int, layer: Layer, row: dict[str, int]) -> None:
        assert layer.pairs is not None  # noqa: S101 - for mypy: such layers have them
        images, rows, inner, columns = layer.pairs.sizes
        row |= {"IMAGES": images, "ROWS_": rows, "LENGTH": inner, "COLUMNS": columns, "PIECES": 1}
        row |= _steps("X", rows * inner, *layer.pairs.x)
        row |= _steps("Z", inner * columns, *layer.pairs.z)
        for name, key in zip("XZY", (*layer.xs, layer.out), strict=True):
            self.address(number, name, key)

    def _copy(self, number: int, layer: Layer, row: dict[str, int]) -> None:
        x, x_image, x_row = self._image(layer.xs[0])
        y, y_image, y_row = self._image(layer.out)
        if layer.over is not None:
            x, y = (self._rows_of(value, layer) for value in (layer.xs[0], layer.out))
            x_image = x_row = y_image = y_row = 0
        row |= _pixels(x) | {"WIDTH": x.channels}
        row |= _steps("X", x_image, x_row, x.channels) | _steps("Y", y_image, y_row, y.channels)
        part = 0
        if layer.crop is not None:
            row |= {"ROWS_": layer.crop.height, "COLUMNS": layer.crop.width}
            part = layer.crop.top * x_row + layer.crop.left * x.channels
        self._border(layer, row)
        offset = layer.channel
        if layer.window.border != NO_BORDER:  # padding that is part of the output
            above, below, left, right = layer.window.border
            row |= _pixels(x)
            row |= {"ABOVE": above, "BELOW": below, "LEFT": left, "RIGHT": right}
            offset = above * y_row + left * y.channels
        self.address(number, "X", layer.xs[0], part)
        self.address(number, "Y", layer.out, offset)
        if layer.channel:  # the first part of a concatenation clears the padding
            row |= dict.fromkeys(("ABOVE", "BELOW", "LEFT", "RIGHT"), 0)
        row["PIECES"] = min(self._pieces(x.pixels * x.channels, _PIECE_NUMBERS), x.batch * x.height)

    def _rows_of(self, value: Value, layer: Layer) -> Image:
        """Values along a concatenated axis: the axes before it are rows."""
        axis = layer.over[0] if layer.over else 0
        rows = math.prod(self._shape(layer.out)[:axis])
        return Image(1, 1, rows, math.prod(self._shape(value)) // rows)

    def _resize(self, number: int, layer: Layer, row: dict[str, int]) -> None:
        x, x_image, x_row = self._image(layer.xs[0])
        y, y_image, y_row = self._image(layer.out)
        part = 0
        if layer.crop is not None:
            part = layer.crop.top * x_row + layer.crop.left * x.channels
            x = x._replace(height=layer.crop.height, width=layer.crop.width)
        row["LENGTH"], places, parts = resize_row(layer.node, x, x_row, y)
        row |= _pixels(y) | _steps("Y", y_image, y_row, y.channels)
        row |= {"X_IMAGE": x_image, "WIDTH": y.channels, "WEIGHTS": self.keep(places)}
        row["BIAS"] = 0 if parts is None else self.keep(parts)
        self._border(layer, row)
        self.address(number, "X", layer.xs[0], part)
        self.address(number, "Y", layer.out)
        work = _BLEND * y.pixels * y.channels
        row["PIECES"] = min(self._pieces(work, _PIECE_NUMBERS), y.batch * y.height)

    def _spread(self, number: int, layer: Layer, spread: Spread, row: dict[str, int]) -> None:
        images, rows, columns, width = spread.sizes
        row |= {"IMAGES": images, "ROWS_": rows, "COLUMNS": columns, "WIDTH": width}
        moved = images * rows * columns * width
        if layer.kind == "COPY":
            for name, reach in zip("XY", (*spread.reaches.values(), spread.out), strict=True):
                row |= _steps(name, reach.image, reach.row, reach.step)
                self.address(number, name, reach.base, reach.first)
            row["PIECES"] = min(self._pieces(moved, _PIECE_NUMBERS), images * rows)
            return
        row["BLOCK"] = max(1, _BLOCK_NUMBERS // width)
        self._instruct(layer, [*spread.reaches.items(), (layer.out, spread.out)], row)
        work = moved * len(layer.program)
        row["PIECES"] = min(self._pieces(work, _PIECE_NUMBERS), images * rows * columns)

    # Programs.

    def _program(self, number: int, layer: Layer, row: dict[str, int]) -> None:
        y, _, _ = self._image(layer.out)
        keys: list[Value] = [*layer.xs, layer.out]
        kinds = {one.value: one.kind for one in operands_of(layer.program)}
        borders = [key for key in keys if any(self._memory.of(key).border)]
        holds = borders == [layer.out] and y.width * y.channels < _SHORT_ROW
        if borders:
            row |= _pixels(y)
        elif "image" in kinds.values():
            row |= {"IMAGES": y.batch, "ROWS_": 1, "COLUMNS": y.height * y.width}
        else:
            row |= {"IMAGES": 1, "ROWS_": 1, "COLUMNS": y.pixels}
        self._border(layer, row)
        width = y.channels
        row |= {"WIDTH": width, "BLOCK": max(1, _BLOCK_NUMBERS // width), "Y_STEP": width}
        _, row["Y_IMAGE"], row["Y_ROW"] = self._image(layer.out)
        self.address(number, "Y", layer.out)
        reaches = []
        for key in keys:
            of, image, step = self._image(key)
            steps = {"image": (width, 0, 0), "channels": (0, 0, 0)}.get(kinds.get(key, ""))
            reaches.append((key, Reach(key, 0, *(steps or (image, step, of.channels)))))
        held = self._instruct(layer, reaches, row, holds=holds)
        if self._is_one_pass(self._instructions[row["FIRST"] :]):
            row["BLOCK"] *= _LONG_BLOCK
        row["HELD"] = held + 1 if holds else 0
        work = y.pixels * width * len(layer.program)
        row["PIECES"] = min(self._pieces(work, _PIECE_NUMBERS), y.pixels)

    def _instruct(
        self,
        layer: Layer,
        reaches: Sequence[tuple[Value, Reach]],
        row: dict[str, int],
        *,
        holds: bool = False,
    ) -> int:
        """Add the instructions of a program; returns the register that `holds` its result."""
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

    @staticmethod
    def _is_one_pass(lines: Sequence[Sequence[int]]) -> bool:
        """Whether a program is one instruction on tensors, so that registers do not limit it."""
        kinds = [fields.INSTRUCTION.index(name) for name in ("TO_KIND", "A_KIND", "B_KIND")]
        return len(lines) == 1 and all(lines[0][kind] == fields.TENSOR for kind in kinds)

    def spread(self, array: Array, count: int) -> int:
        """Address of an array that is repeated to fill a block."""
        return self.keep(aligned(np.resize(np.asarray(array, np.float32).reshape(-1), count)))

    def keep(self, array: Array) -> int:
        """Address of an array, which is kept alive."""
        self._kept.append(array)
        return int(array.ctypes.data)

    def array(self, value: Value) -> Array:
        """The array of a constant value."""
        return self._array(value)


# The rows of layers without weights in panels.
_WRITERS: dict[str, Callable[[Table, int, Layer, dict[str, int]], None]] = {
    "PROGRAM": Table._program,
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


def _pixels(image: Image) -> dict[str, int]:
    """The loops over all pixels of some images."""
    return {"IMAGES": image.batch, "ROWS_": image.height, "COLUMNS": image.width}


def _steps(name: str, image: int, row: int, step: int) -> dict[str, int]:
    """The strides of x, y or z."""
    return {f"{name}_IMAGE": image, f"{name}_ROW": row, f"{name}_STEP": step}


def products_of(memory: Memory, packed: Sequence[Packed | None]) -> int:
    """The multiplications of a run."""
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
