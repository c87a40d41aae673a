"""Memory of a network's values: one arena, reused according to live ranges.

An image may have zero padding, which the layer that writes it also writes, so that windows can read
past its edges. A value that cannot be padded (an input, an output, or one that is reshaped) is
copied.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pinnace.engine.networks.layers import NO_BORDER, Border, Image, Layer, image_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from pinnace.engine.networks.reading import Reader
    from pinnace.graph.graph import Value

# Alignment of values in the arena, in numbers: a cache line.
_LINE = 16


@dataclass(eq=False, slots=True)
class Bordered:
    """A padded copy of a value, which a layer reads in its place."""

    of: Value


@dataclass(eq=False, slots=True)
class Storage:
    """The memory of one value.

    Attributes:
        image: the value's sizes as images.
        border: zero padding of each image.
        where: "arena", "input" or "output".
        number: offset in the arena, or index of the input or output.
    """

    image: Image
    where: str = "arena"
    number: int = 0
    border: Border = NO_BORDER

    @property
    def row(self) -> int:
        """Stride between rows."""
        _, _, left, right = self.border
        return (self.image.width + left + right) * self.image.channels

    @property
    def step(self) -> int:
        """Stride between images."""
        above, below, _, _ = self.border
        return (self.image.height + above + below) * self.row

    @property
    def inside(self) -> int:
        """Offset of the first number inside the padding."""
        above, _, left, _ = self.border
        return above * self.row + left * self.image.channels

    @property
    def size(self) -> int:
        """Numbers of all images."""
        return self.image.batch * self.step

    def widen(self, border: Border) -> None:
        """Enlarge the padding to at least this."""
        wide = [max(pair) for pair in zip(self.border, border, strict=True)]
        self.border = (wide[0], wide[1], wide[2], wide[3])


class Memory:
    """The storage of a network's values.

    Args:
        reader: the network, read to its end.
        inputs: the network's inputs.
        outputs: the network's outputs.
        sizes: the shapes of the values.

    Attributes:
        layers: the layers in execution order, including copies.
        size: the arena's size in numbers.
    """

    def __init__(
        self,
        reader: Reader,
        inputs: Sequence[Value],
        outputs: Sequence[Value],
        sizes: Mapping[Value, tuple[int, ...]],
    ) -> None:
        self._reader = reader
        self._sizes = sizes
        self.storages: dict[Hashable, Storage] = {}
        for number, value in enumerate(inputs):
            self.storages[value] = Storage(self._image(value), "input", number)
        for number, value in enumerate(outputs):
            root = reader.root(value)
            self.storages.setdefault(root, Storage(self._image(root), "output", number))
        # Padded copies that layers read in place of their inputs.
        self.copies: dict[Layer, Bordered] = {}
        self.layers = self._with_copies()
        self.size = self._place()

    def _image(self, value: Value) -> Image:
        return image_of(self._sizes[value])

    def of(self, value: Hashable) -> Storage:
        """The storage of a value, or of the value that it is a view of."""
        found = self.storages.get(value)
        return self.storages[self._reader.root(value)] if found is None else found  # type: ignore[arg-type]

    def source(self, layer: Layer) -> Hashable:
        """The value that a layer's windows read."""
        return self.copies.get(layer, layer.xs[0])

    def _with_copies(self) -> list[Layer]:
        layers: list[Layer] = []
        # Copies by source and padding: layers that need the same copy share it.
        copied: dict[tuple[Value, Border], Layer] = {}
        seen_otherwise = self._seen_otherwise()
        for layer in sorted(self._reader.layers, key=lambda one: one.place):
            if layer.out not in self.storages:
                self.storages[layer.out] = Storage(self._image(layer.out))
            border = _needed(layer)
            if border != NO_BORDER and layer.kind != "COPY":
                value = layer.xs[0]
                storage = self.of(value)
                may_have = storage.where == "arena" and value in self.storages
                if may_have and value not in seen_otherwise:
                    storage.widen(border)
                else:
                    if (value, border) not in copied:
                        made = self._copy(layer, border)
                        copied[value, border] = made
                        layers.append(made)
                    self.copies[layer] = copied[value, border].out  # type: ignore[assignment]
            layers += self._parts(layer)
        return layers

    def _seen_otherwise(self) -> set[Value]:
        """Values that also have readers or writers without support for padding."""
        seen_otherwise = set(self._reader.roots.values())
        for layer in self._reader.layers:
            if layer.phases:  # these write with a stride
                seen_otherwise.add(layer.out)
            # Rows of a softmax are contiguous; attention has its own strides for images and heads.
            is_other = layer.kind in {"SOFTMAX", "ATTENTION"}
            if is_other or layer.flat or layer.over or layer.pairs or layer.spread:
                seen_otherwise.update(map(self._reader.root, (*layer.reads(), layer.out)))
        return seen_otherwise

    def _copy(self, layer: Layer, border: Border) -> Layer:
        """A layer that copies another layer's input with zero padding."""
        value = layer.xs[0]
        copy = Bordered(value)
        self.storages[copy] = Storage(self._image(value))
        self.storages[copy].widen(border)
        return Layer("COPY", layer.place, layer.node, copy, [value])  # type: ignore[arg-type]

    def _parts(self, layer: Layer) -> list[Layer]:
        """The rows of the table for a layer."""
        if not layer.phases:
            return [layer]
        parts = [replace(layer, phases=(one,), window=one.window) for one in layer.phases]
        if layer in self.copies:
            self.copies.update(dict.fromkeys(parts, self.copies[layer]))
        return parts

    def _reads(self, layer: Layer) -> list[Hashable]:
        found: list[Hashable] = list(layer.xs)
        if layer in self.copies:
            found[0] = self.copies[layer]
        if layer.added is not None:
            found.append(layer.added)
        return [value if value in self.storages else self._root(value) for value in found]

    def _root(self, value: Hashable) -> Hashable:
        return self._reader.root(value)  # type: ignore[arg-type]

    def _place(self) -> int:
        """Assign offsets in the arena; returns its size."""
        last: dict[Hashable, int] = {}
        for number, layer in enumerate(self.layers):
            for value in (*self._reads(layer), layer.out):
                last[value] = number
        taken: list[tuple[int, int, int]] = []  # start, end, last use
        placed: set[Hashable] = set()
        before: dict[int, int] = {}  # by length
        size = 0
        for number, layer in enumerate(self.layers):
            storage = self.storages[layer.out]
            if storage.where != "arena" or layer.out in placed:
                continue
            placed.add(layer.out)
            taken = sorted(one for one in taken if one[2] >= number)
            length = -(-storage.size // _LINE) * _LINE
            # Prefer the memory of a dead value of the same size: then each thread reuses lines in
            # its own cache, which is faster than lines that another core has written.
            begin = before.get(length, -1)
            if begin < 0 or any(low < begin + length and begin < high for low, high, _ in taken):
                begin = 0
                for low, high, _ in taken:
                    if low - begin >= length:
                        break
                    begin = max(begin, high)
            before[length] = storage.number = begin
            taken.append((begin, begin + length, last[layer.out]))
            size = max(size, begin + length)
        return size


def _needed(layer: Layer) -> Border:
    """The zero padding that a layer's windows read around an image; none for pooling."""
    windows = [phase.window for phase in layer.phases] or [layer.window]
    borders = [window.border for window in windows if window.counts_border] or [NO_BORDER]
    above, below, left, right = (max(0, *side) for side in zip(*borders, NO_BORDER, strict=True))
    return above, below, left, right
