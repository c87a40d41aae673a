"""The columns of a network's table, one row for each layer.

Strides are in float32 numbers, addresses in bytes. A column whose name starts with X is for a
layer's input, with Y for its output, with Z for an added operand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.engine.networks.layers import Depth, Image

# The kernel that interprets a table, by its name in `codegen.general`.
KERNEL = "network"

NAMES = (
    # The kind of a row; its number of pieces; the number of parts that its columns are cut into.
    "KIND", "PIECES", "CUTS",
    # Addresses.
    "X", "Y", "Z", "WEIGHTS", "BIAS",
    # Windows: images, rows of each, windows in each row.
    "IMAGES", "ROWS_", "COLUMNS",
    # Strides between images, rows and windows.
    "X_IMAGE", "X_ROW", "X_STEP", "Y_IMAGE", "Y_ROW", "Y_STEP", "Z_IMAGE", "Z_ROW", "Z_STEP",
    # Sections of a sum: their number, length, number per row of the window, and distances.
    "SECTIONS", "LENGTH", "ACROSS", "SECTION_DOWN", "SECTION_ALONG", "A_STEP",
    # Terms of a sum over all sections; for volumes: sections of one slice, and the distance between
    # slices.
    "TERMS", "TIER", "SECTION_DEEP",
    # Channels of y, windows of a piece (0: equal tiles for each), windows per block, whether
    # weights stay in the cache.
    "WIDTH", "OF_PIECE", "BLOCK", "WEIGHTS_STAY", "MODE",
    # Winograd's tiles: address of their filters, stride between transformed tiles, and the bits of
    # the largest number that they may read.
    "TRANSFORMED", "TILE_STEP", "LARGEST",
    # Zero padding around each image of y: rows above and below, columns left and right.
    "ABOVE", "BELOW", "LEFT", "RIGHT",
    # Pooling: the image's size, the window's, its strides, and the padding before it.
    "HEIGHT", "BREADTH", "TAPS_DOWN", "TAPS_ALONG", "DOWN", "ALONG", "TOP", "SIDE",
    # Lookups: bytes of an index, and the offset of negative ones; `HEIGHT` rows of weights.
    "INDEX_BYTES", "WRAPS",
    # Volumes, whose slices are images: slices of y and of x, the window's depth, stride, dilation,
    # and padding before the volume.
    "SLICES", "X_SLICES", "TAPS_DEEP", "DEEP", "GAP_DEEP", "FRONT",
    # Elementwise: its instructions, its tensors, and where to write a block of several padded rows
    # of an image: the register that holds it plus one, or 0.
    "FIRST", "LAST", "TENSORS", "HELD",
    # Attention: heads, keys, numbers per query, and queries per block; strides between the heads of
    # x (the queries), y, and z (the values).
    "HEADS", "KEYS", "DEPTH", "X_HEAD", "Y_HEAD", "Z_HEAD",
    # The keys: address, and strides between images, heads, keys, and within one.
    "K", "K_IMAGE", "K_HEAD", "K_ROW", "K_STEP",
    # The mask: its kind, address, and strides between images, heads, queries, keys.
    "MASKING", "MASK", "MASK_IMAGE", "MASK_HEAD", "MASK_ROW", "MASK_STEP",
)  # fmt: skip
PLACE = {name: place for place, name in enumerate(NAMES)}
# int64 numbers between counters: a cache line. The first counter is for indices out of range; each
# row has one counter per thread, and one more.
LINE = 8

KINDS = (
    "PRODUCT", "CHANNELWISE", "MAXIMUM", "AVERAGE", "MEAN", "COPY", "PROGRAM", "SOFTMAX",
    "ATTENTION", "WINOGRAD", "LOOKUP", "PAIRS", "VOLUME", "RESIZE",
)  # fmt: skip
# Reductions over the pixels of an image.
REDUCTIONS = ("MEAN_OF", "SUM_OF", "LARGEST_OF")
REDUCTION = {name: number for number, name in enumerate(REDUCTIONS)}
KIND = {name: number for number, name in enumerate(KINDS)}

# Bits of a tile's mode, as in `codegen.vectors` and `codegen.activations` (which import Numba), and
# the mask of all bits that describe the epilogue.
PLUS, RECTIFY, CLIP, GATE, SILU, SIGMOID, TANH, SIXTHS = 2, 4, 8, 16, 32, 64, 128, 256
GELU, GELU_BY_TANH = 1024, 2048
ACTIVATION = RECTIFY | CLIP | GATE | SILU | SIGMOID | TANH | GELU | GELU_BY_TANH

# Kinds of attention masks: added numbers, or a boolean mask with a filler for False.
MASKINGS = ("UNMASKED", "ADDED", "SELECTED")
MASKING = {name: number for number, name in enumerate(MASKINGS)}

# The result of a lookup for an index out of range: an error, the nearest row, or a constant row.
# The column MODE has the choice, BIAS the address of the constant row.
OUTSIDE = ("REFUSED", "NEAREST", "FILLED")

# Instructions of a program on one or two blocks of numbers. Reductions compute one number per row
# of channels; `SPREAD_ROWS` broadcasts such numbers to rows, `SPREAD` those of an image. The second
# operand of those that end with `ONE` is a single number, that of `MULTIPLY_ROWS` one row.
OPERATIONS = (
    "ADD", "SUBTRACT", "MULTIPLY", "DIVIDE", "LARGER", "SMALLER", "NEGATIVE", "ABSOLUTE",
    "ROOT", "EXP", "EXPM1", "TANH", "ERF", "ERFC", "SPREAD", "SIGMOID", "SAME", "LOG", "LOG1P",
    "ROW_SUM", "ROW_MEAN", "ROW_LARGEST", "SPREAD_ROWS",
    "ADD_ONE", "SUBTRACT_ONE", "MULTIPLY_ONE", "DIVIDE_ONE", "LARGER_ONE", "SMALLER_ONE",
    "MULTIPLY_ROWS",
)  # fmt: skip
OPERATION = {name: number for number, name in enumerate(OPERATIONS)}
# Kinds of operands: in a register, at an address, in a tensor.
REGISTER, ADDRESS, TENSOR = range(3)
# Columns of an instruction (`BY_ROW`: its blocks have one number per row) and of a tensor.
INSTRUCTION = ("WHAT", "TO_KIND", "TO", "A_KIND", "A", "B_KIND", "B", "BY_ROW")
TENSOR_COLUMNS = ("AT", "IMAGE", "ROW", "STEP")
# Numbers of a register; registers for temporaries, and for broadcast operands. There is one
# register more than live temporaries: loops that write to what they read would not be vectorised.
REGISTER_SIZE = 4096
REGISTERS, SPREAD_REGISTERS = 9, 2


def constants() -> str:
    """The names as constants of a kernel's source."""
    lines = [f"{name} = {place}" for name, place in PLACE.items()]
    lines += [f"{name} = {number}" for name, number in KIND.items()]
    lines += [f"OP_{name} = {number}" for name, number in OPERATION.items()]
    lines += [f"{name} = {number}" for name, number in (*MASKING.items(), *REDUCTION.items())]
    lines += [f"{name} = {number}" for number, name in enumerate(OUTSIDE)]
    lines += [f"I_{name} = {place}" for place, name in enumerate(INSTRUCTION)]
    lines += [f"SIGMOID, TANH = {SIGMOID}, {TANH}"]
    lines += [f"T_{name} = {place}" for place, name in enumerate(TENSOR_COLUMNS)]
    lines += [f"REGISTER, ADDRESS, TENSOR = {REGISTER}, {ADDRESS}, {TENSOR}"]
    lines += [f"REGISTER_SIZE = {REGISTER_SIZE}"]
    return "\n".join(lines)


def pixel_columns(image: Image) -> dict[str, int]:
    """The columns of the loops over all pixels of some images."""
    return {"IMAGES": image.batch, "ROWS_": image.height, "COLUMNS": image.width}


def stride_columns(name: str, image: int, row: int, step: int) -> dict[str, int]:
    """The columns of an operand's strides between images, rows and pixels.

    Args:
        name: the operand: X, Y or Z.
        image: stride between images, in numbers.
        row: stride between rows of pixels.
        step: stride between pixels.
    """
    return {f"{name}_IMAGE": image, f"{name}_ROW": row, f"{name}_STEP": step}


# The columns of `Depth`.
_DEPTH = ("TAPS_DEEP", "DEEP", "GAP_DEEP", "FRONT", "X_SLICES", "SLICES")


def depth_columns(depth: Depth | None) -> dict[str, int]:
    """The columns of windows along the slices; None: each image is a complete window."""
    return dict(zip(_DEPTH, depth or (1, 1, 1, 0, 1, 1), strict=True))


def volume_columns(depth: Depth, row: Mapping[str, int]) -> dict[str, int]:
    """The columns that differ from those of a convolution of one slice.

    Args:
        depth: the windows along the axis of slices.
        row: the columns of a convolution of one slice, with pieces for the work of all slices.
    """
    cuts, pieces = row["CUTS"], row["PIECES"]
    # Every slice of the result is one piece, or several.
    by_windows = -(-pieces // (cuts * depth.made))
    return {
        **depth_columns(depth),
        "SECTIONS": row["SECTIONS"] * depth.taps,
        "TERMS": row["TERMS"] * depth.taps,
        "SECTION_DEEP": depth.gap * row["X_IMAGE"],
        "PIECES": cuts * by_windows * depth.made,
    }
