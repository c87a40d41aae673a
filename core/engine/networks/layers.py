"""What a network is made of, before it has memory: layers, and the programs of elementwise ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from pinnace.engine.networks import fields

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.graph.graph import Node, Value

# Zeros above, below, left and right of an image.
Border: TypeAlias = tuple[int, int, int, int]
NO_BORDER: Border = (0, 0, 0, 0)


class Image(NamedTuple):
    """The sizes of a value, seen as images."""

    batch: int
    height: int
    width: int
    channels: int

    @property
    def pixels(self) -> int:
        """Of all images."""
        return self.batch * self.height * self.width


def image_of(shape: tuple[int, ...]) -> Image:
    """A shape as images: of four axes as it is, volumes as their slices, else one of one row."""
    if len(shape) == 4:
        return Image(*shape)
    if len(shape) == 5:
        return Image(shape[0] * shape[1], *shape[2:])
    pixels = 1
    for size in shape[:-1]:
        pixels *= size
    return Image(1, 1, pixels, shape[-1] if shape else 1)


class Window(NamedTuple):
    """Where the windows of a layer lie; (down, along) each."""

    taps: tuple[int, int] = (1, 1)
    steps: tuple[int, int] = (1, 1)
    gaps: tuple[int, int] = (1, 1)
    border: Border = NO_BORDER
    # Pooling: whether the border is part of the image.
    counts_border: bool = True

    @property
    def is_one(self) -> bool:
        """Whether each pixel is its own window."""
        return self.taps == (1, 1) and self.steps == (1, 1) and self.border == NO_BORDER


_ONE_PIXEL = Window()


class Depth(NamedTuple):
    """How the windows of a layer on volumes lie along the axis of slices.

    Attributes:
        taps: slices that a window reads.
        step: from window to window.
        gap: from tap to tap.
        before: slices of the first window that lie before the volume; nothing is read there.
        given: slices of a volume that is read.
        made: slices of one that is made.
    """

    taps: int
    step: int
    gap: int
    before: int
    given: int
    made: int

    @property
    def is_one(self) -> bool:
        """Whether each slice is made of its own one."""
        return self.taps == self.step == 1 and self.before == 0


class Crop(NamedTuple):
    """The part of images that a layer reads: its first row and column, and its sizes."""

    top: int
    left: int
    height: int
    width: int


class Phase(NamedTuple):
    """The pixels of a transposed convolution that the same taps make: a convolution of its own.

    Attributes:
        window: over what is read, with as many taps as reach these pixels. Its border is negative
            where it begins inside of the image.
        first: the first of the pixels, (row, column).
        every: from one to the next, (down, along).
        counts: how many, (rows, columns).
        taps: of the filter, the rows and the columns, in the order of the window's.
    """

    window: Window
    first: tuple[int, int]
    every: tuple[int, int]
    counts: tuple[int, int]
    taps: tuple[tuple[int, ...], tuple[int, ...]]


class Scaling(NamedTuple):
    """What is done to a product, channel by channel, by values that are steady."""

    what: str  # add, subtract, subtract from, multiply, divide, or normalise
    values: tuple[Value, ...]
    epsilon: float = 0.0


class Operand(NamedTuple):
    """What an instruction reads or writes.

    Attributes:
        kind: "temporary", "tensor", "image" (one number for each channel of each image),
            "channels" (one for each channel of all images), "steady" or "number".
        value: of a tensor or a steady one.
        number: which temporary, or the number.
        by_row: whether it has one number for each row of channels: a temporary or a tensor.
    """

    kind: str
    value: Value | None = None
    number: float = 0.0
    by_row: bool = False


class Instruction(NamedTuple):
    """One operation on blocks of numbers: a temporary becomes what it makes.

    Attributes:
        what: of `fields.OPERATIONS`.
        to: the temporary.
        operands: one or two.
        by_row: whether it has one number for each row of channels, as what it reads.
    """

    what: str
    to: int
    operands: tuple[Operand, ...]
    by_row: bool = False


class Strides(NamedTuple):
    """Numbers from one to the next of what attention reads or makes; 0 where all share one.

    Attributes:
        image: from image to image.
        head: from head to head.
        row: from row to row.
        step: within a row.
        first: the place of the first number.
    """

    image: int
    head: int
    row: int
    step: int
    first: int = 0


class Reach(NamedTuple):
    """Where a value lies that a program or a copy reads or makes, as one of its loops has it.

    Attributes:
        base: among the numbers of this one.
        first: the place of its first number there.
        image: numbers from image to image.
        row: from row to row.
        step: from column to column.
    """

    base: Value
    first: int
    image: int
    row: int
    step: int


class Spread(NamedTuple):
    """How a program or a copy goes over values that lie apart, or are spread.

    Attributes:
        sizes: (images, rows, columns, numbers of a column).
        reaches: of what it reads.
        out: of what it makes.
    """

    sizes: tuple[int, int, int, int]
    reaches: Mapping[Value, Reach]
    out: Reach


class Attending(NamedTuple):
    """The sizes of attention, and where its values lie.

    Attributes:
        sizes: (images, heads, queries, keys, numbers of a query, numbers of a value).
        queries: strides of x.
        keys: of the keys.
        values: of the values; their numbers lie behind one another.
        result: of what it makes, likewise.
        factor: what scores are multiplied by.
        masking: how they are masked: a key of `fields.MASKING`.
        mask: strides of the mask.
        filler: the score of what is masked.
    """

    sizes: tuple[int, int, int, int, int, int]
    queries: Strides
    keys: Strides
    values: Strides
    result: Strides
    factor: float = 1.0
    masking: str = "UNMASKED"
    mask: Strides = Strides(0, 0, 0, 0)
    filler: float = 0.0


class Indices(NamedTuple):
    """How the indices of a lookup lie in the whole numbers that it reads.

    Attributes:
        first: the place of the first one.
        step: from one to the next.
        size: how many.
        wraps: what is added to negative ones.
        width: numbers of a row of the table.
    """

    first: int
    step: int
    size: int
    wraps: int
    width: int


class Pairs(NamedTuple):
    """How two tensors are multiplied, matrix by matrix.

    Attributes:
        sizes: (matrices, rows, terms of a sum, columns).
        x: numbers from row to row and from term to term.
        z: from term to term and from column to column.
    """

    sizes: tuple[int, int, int, int]
    x: tuple[int, int]
    z: tuple[int, int]


@dataclass(eq=False)
class Layer:
    """One row of the table.

    Attributes:
        kind: of `fields.KINDS`.
        place: in the plan, of the last step it does.
        node: its first step.
        out: what it makes.
        xs: what it reads.
        weights: a filter, a matrix or a table, steady; of a table perhaps the variable's handle.
        is_transposed: whether the matrix is [N, K].
        window: where it reads its first x.
        depth: of a layer on volumes, whose slices it reads as images.
        crop: the part of its x that a copy or a resizing reads; None for all.
        scalings: what follows the product, in order.
        added: the value that is added to it.
        mode: of the tile.
        program: of an elementwise layer.
        temporaries: of the program.
        channel: the first one it writes, of the `out` that it is a part of.
        phases: of a transposed convolution, each a row of the table.
        attending: of attention, whose xs are queries, keys, values and perhaps a mask.
        mask: of attention, where it is steady.
        flat: what a product reads and makes, if both are seen as matrices whatever their axes.
        indices: of a lookup, whose only x are whole numbers.
        over: the axes of a reduction, from the first to before the last; of a copy the axis along
            which values are joined, twice.
        pairs: of a product of its two xs.
        loops: of a copy in another order of axes: sizes, and distances of what is read.
        spread: of a program or a copy whose values lie apart.
    """

    kind: str
    place: int
    node: Node
    out: Value
    xs: list[Value]
    weights: Value | None = None
    is_transposed: bool = False
    window: Window = _ONE_PIXEL
    depth: Depth | None = None
    crop: Crop | None = None
    scalings: list[Scaling] = field(default_factory=list)
    added: Value | None = None
    mode: int = 0
    program: list[Instruction] = field(default_factory=list)
    temporaries: int = 0
    channel: int = 0
    phases: tuple[Phase, ...] = ()
    attending: Attending | None = None
    mask: Value | None = None
    flat: tuple[Image, Image] | None = None
    indices: Indices | None = None
    over: tuple[int, int] | None = None
    pairs: Pairs | None = None
    loops: tuple[tuple[int, int], ...] = ()
    spread: Spread | None = None

    @property
    def number(self) -> int:
        """The kind as the kernel knows it."""
        return fields.KIND[self.kind]

    @property
    def is_product(self) -> bool:
        """Whether tiles do it: then something may follow in it."""
        return self.kind in {"PRODUCT", "CHANNELWISE", "VOLUME"}

    def reads(self) -> list[Value]:
        """The tensors that it reads."""
        return self.xs if self.added is None else [*self.xs, self.added]

    def steady(self) -> list[Value]:
        """The steady values that it needs."""
        found = [value for value in (self.weights, self.mask) if value is not None]
        for scaling in self.scalings:
            found.extend(scaling.values)
        for instruction in self.program:
            found += [
                one.value
                for one in instruction.operands
                if one.kind == "steady" and one.value is not None
            ]
        return found


def tensors_of(program: Sequence[Instruction]) -> list[Value]:
    """The tensors that a program reads."""
    found: dict[Value, None] = {}
    for one in program:
        for operand in one.operands:
            if operand.kind in {"tensor", "image", "channels"} and operand.value is not None:
                found[operand.value] = None
    return list(found)


def most_alive(program: Sequence[Instruction]) -> int:
    """How many temporaries of a program are needed at once."""
    last = {
        int(operand.number): at
        for at, one in enumerate(program)
        for operand in one.operands
        if operand.kind == "temporary"
    }
    alive: set[int] = set()
    most = 0
    for at, one in enumerate(program):
        alive = {number for number in alive if last.get(number, -1) > at}
        alive.add(one.to)
        most = max(most, len(alive))
    return most
