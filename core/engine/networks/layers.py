"""The layers of a network before memory is assigned, and the programs of elementwise layers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.graph.graph import Node, Value

# Zero padding above, below, left and right of an image.
Border: TypeAlias = tuple[int, int, int, int]
NO_BORDER: Border = (0, 0, 0, 0)


class Image(NamedTuple):
    """The sizes of a value seen as images."""

    batch: int
    height: int
    width: int
    channels: int

    @property
    def pixels(self) -> int:
        """The number of pixels of all images."""
        return self.batch * self.height * self.width


def image_of(shape: tuple[int, ...]) -> Image:
    """A shape as images: four axes as they are, a volume as its slices, other shapes as one row."""
    if len(shape) == 4:
        return Image(*shape)
    if len(shape) == 5:
        return Image(shape[0] * shape[1], *shape[2:])
    return Image(1, 1, math.prod(shape[:-1]), shape[-1] if shape else 1)


class Window(NamedTuple):
    """The windows of a layer; pairs are (down, along)."""

    taps: tuple[int, int] = (1, 1)
    steps: tuple[int, int] = (1, 1)
    gaps: tuple[int, int] = (1, 1)
    border: Border = NO_BORDER
    # Pooling: whether the padding counts as part of the image.
    counts_border: bool = True

    @property
    def is_one(self) -> bool:
        """Whether the window is one pixel with stride one."""
        return self.taps == (1, 1) and self.steps == (1, 1) and self.border == NO_BORDER


_ONE_PIXEL = Window()


class Depth(NamedTuple):
    """The windows of a layer on volumes along the axis of slices.

    Attributes:
        taps: slices in a window.
        step: stride of windows.
        gap: dilation.
        before: padding slices before the volume, which are not read.
        given: slices of the input.
        made: slices of the output.
    """

    taps: int
    step: int
    gap: int
    before: int
    given: int
    made: int

    @property
    def is_one(self) -> bool:
        """Whether the window is one slice with stride one."""
        return self.taps == self.step == 1 and self.before == 0


class Crop(NamedTuple):
    """The part of images that a layer reads: its first row and column, and its sizes."""

    top: int
    left: int
    height: int
    width: int


class Phase(NamedTuple):
    """The pixels of a transposed convolution that use the same taps: a convolution by itself.

    Attributes:
        window: its windows over the input, with the taps that reach these pixels. Its padding is
            negative if it starts inside the image.
        first: the first of the pixels, (row, column).
        every: strides between the pixels, (down, along).
        counts: numbers of pixels, (rows, columns).
        taps: rows and columns of the filter, in the window's order.
    """

    window: Window
    first: tuple[int, int]
    every: tuple[int, int]
    counts: tuple[int, int]
    taps: tuple[tuple[int, ...], tuple[int, ...]]


class Scaling(NamedTuple):
    """A per-channel epilogue of a product with constant operands."""

    what: str  # add, subtract, subtract from, multiply, divide, or normalise
    values: tuple[Value, ...]
    epsilon: float = 0.0


class Operand(NamedTuple):
    """An operand of an instruction.

    Attributes:
        kind: "temporary", "tensor", "image" (one number per channel and image), "channels" (one per
            channel for all images), "steady" or "number".
        value: the tensor, or the steady value.
        number: the number, for "number".
        by_row: whether a temporary or tensor has one number per row of channels.
        made: for a temporary, the instruction that computes it.
    """

    kind: str
    value: Value | None = None
    number: float = 0.0
    by_row: bool = False
    made: Instruction | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Instruction:
    """One operation on blocks of numbers, whose result is a temporary.

    Attributes:
        what: one of `fields.OPERATIONS`.
        operands: one or two operands.
        by_row: whether its operands have one number per row of channels.
    """

    what: str
    operands: tuple[Operand, ...]
    by_row: bool = False


class Strides(NamedTuple):
    """Strides of attention's inputs and output; 0 for a broadcast axis.

    Attributes:
        image: stride between images.
        head: stride between heads.
        row: stride between rows.
        step: stride within a row.
        first: offset of the first number.
    """

    image: int
    head: int
    row: int
    step: int
    first: int = 0


class Reach(NamedTuple):
    """The offset and strides of an operand in the loops of a program or copy.

    Attributes:
        base: the value in whose memory it is.
        first: offset of its first number there.
        image: stride between images.
        row: stride between rows.
        step: stride between columns.
    """

    base: Value
    first: int
    image: int
    row: int
    step: int


class Spread(NamedTuple):
    """The loops of a program or copy over strided or broadcast values.

    Attributes:
        sizes: (images, rows, columns, numbers per column).
        reaches: offsets and strides of the inputs.
        out: offset and strides of the output.
    """

    sizes: tuple[int, int, int, int]
    reaches: Mapping[Value, Reach]
    out: Reach


class Attending(NamedTuple):
    """The sizes of attention and the strides of its operands.

    Attributes:
        sizes: (images, heads, queries, keys, depth of a query, depth of a value).
        queries: strides of x.
        keys: strides of the keys.
        values: strides of the values, which are contiguous in the last axis.
        result: strides of the output, which is contiguous in the last axis.
        factor: scale of the scores.
        masking: kind of the mask: a key of `fields.MASKING`.
        mask: strides of the mask.
        filler: the score of masked elements.
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
    """The layout of a lookup's indices in an integer tensor.

    Attributes:
        first: offset of the first index.
        step: stride between indices.
        size: number of indices.
        wraps: the number added to negative indices.
        width: numbers per row of the table.
        outside: the result for indices out of range: one of `fields.OUTSIDE`.
        filler: the number that fills such rows, for "FILLED".
    """

    first: int
    step: int
    size: int
    wraps: int
    width: int
    outside: str = "REFUSED"
    filler: float = 0.0


class Pairs(NamedTuple):
    """The sizes and strides of a batched product of two tensors.

    Attributes:
        sizes: (matrices, rows, terms of a sum, columns).
        x: strides of rows and of terms.
        z: strides of terms and of columns.
    """

    sizes: tuple[int, int, int, int]
    x: tuple[int, int]
    z: tuple[int, int]


@dataclass(eq=False)
class Layer:
    """One row of the table.

    Attributes:
        kind: one of `fields.KINDS`.
        place: place in the plan of its last step.
        node: its first step.
        out: its output.
        xs: its inputs.
        weights: a constant filter, matrix or table; for a table possibly the variable's handle.
        is_transposed: whether the matrix is [N, K].
        window: its windows over the first input.
        depth: its windows along the slices, which are read as images; None for other layers.
        crop: the part of its input that a copy or a resize reads; None for all.
        scalings: its per-channel epilogue, in order.
        added: the value added in the epilogue.
        mode: bits of the tile's mode, such as its activation; for other kinds see `fields`.
        program: the instructions of an elementwise layer.
        channel: its first channel within `out`, for a part of a concatenation.
        phases: the phases of a transposed convolution, each a row of the table.
        attending: sizes and strides of attention; xs are queries, keys, values and perhaps a mask.
        mask: a constant mask of attention.
        flat: the input and output of a product as matrices, if it reads and writes them as such.
        indices: how a lookup reads its indices; its only input is an integer tensor.
        over: the axes of a reduction, first and last + 1; for a copy the concatenated axis, twice.
        pairs: sizes and strides of a product of its two inputs.
        spread: the loops of a program or a copy with strided values.
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
    channel: int = 0
    phases: tuple[Phase, ...] = ()
    attending: Attending | None = None
    mask: Value | None = None
    flat: tuple[Image, Image] | None = None
    indices: Indices | None = None
    over: tuple[int, int] | None = None
    pairs: Pairs | None = None
    spread: Spread | None = None

    @property
    def is_product(self) -> bool:
        """Whether it is a product computed by tiles, which may have an epilogue."""
        return self.kind in {"PRODUCT", "CHANNELWISE", "VOLUME"}

    def reads(self) -> list[Value]:
        """The tensors that it reads."""
        return self.xs if self.added is None else [*self.xs, self.added]

    def steady(self) -> list[Value]:
        """The constant values that it needs."""
        found = [value for value in (self.weights, self.mask) if value is not None]
        for scaling in self.scalings:
            found.extend(scaling.values)
        operands = operands_of(self.program)
        found += [one.value for one in operands if one.kind == "steady" and one.value is not None]
        return found


def operands_of(program: Sequence[Instruction]) -> list[Operand]:
    """The operands of all instructions."""
    return [operand for one in program for operand in one.operands]


def tensors_of(program: Sequence[Instruction]) -> list[Value]:
    """The tensors that a program reads."""
    kinds = {"tensor", "image", "channels"}
    found = (one.value for one in operands_of(program) if one.kind in kinds)
    return [value for value in dict.fromkeys(found) if value is not None]


def last_uses(program: Sequence[Instruction]) -> dict[Instruction, int]:
    """For each temporary that is read, the index of the last instruction that reads it."""
    return {
        operand.made: at
        for at, one in enumerate(program)
        for operand in one.operands
        if operand.made is not None
    }


def most_alive(program: Sequence[Instruction]) -> int:
    """The most temporaries of a program that are live at once."""
    last = last_uses(program)
    alive: set[Instruction] = set()
    most = 0
    for at, one in enumerate(program):
        alive = {made for made in alive if last.get(made, -1) > at} | {one}
        most = max(most, len(alive))
    return most
