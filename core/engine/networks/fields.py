"""The columns of a network's table, one row for each layer.

Strides are in numbers (float32), addresses in bytes. A column that begins with x is of what a layer
reads, y of what it writes, z of what it adds.
"""

from __future__ import annotations

NAMES = (
    # What a row does, in how many pieces: those of windows times those of columns.
    "KIND",
    "PIECES",
    "CUTS",
    # Addresses.
    "X",
    "Y",
    "Z",
    "WEIGHTS",
    "BIAS",
    # Windows: images, rows of each, windows in each row.
    "IMAGES",
    "ROWS_",
    "COLUMNS",
    # Strides from image to image, row to row, window to window.
    "X_IMAGE",
    "X_ROW",
    "X_STEP",
    "Y_IMAGE",
    "Y_ROW",
    "Y_STEP",
    "Z_IMAGE",
    "Z_ROW",
    "Z_STEP",
    # Sections of a sum: so many, so long, and those in a row of the window, with their distances.
    "SECTIONS",
    "LENGTH",
    "ACROSS",
    "SECTION_DOWN",
    "SECTION_ALONG",
    "A_STEP",
    # Terms of a sum with all sections; of volumes: sections of one slice, and the distance between
    # those of two.
    "TERMS",
    "TIER",
    "SECTION_DEEP",
    # Channels of y, windows of a piece (0: as many tiles for each), windows worked on at a time,
    # whether weights stay in the cache.
    "WIDTH",
    "OF_PIECE",
    "BLOCK",
    "WEIGHTS_STAY",
    "MODE",
    # Winograd's tiles: address of the filters for them, numbers from tile to tile of what is
    # transformed, and the largest bits of a number that they may read.
    "TRANSFORMED",
    "TILE_STEP",
    "LARGEST",
    # Zeros around each image of y: rows above and below, columns left and right.
    "ABOVE",
    "BELOW",
    "LEFT",
    "RIGHT",
    # Pooling: the image's size, the window's, its steps, and zeros before it that do not count.
    "HEIGHT",
    "BREADTH",
    "TAPS_DOWN",
    "TAPS_ALONG",
    "DOWN",
    "ALONG",
    "TOP",
    "SIDE",
    # Lookups: bytes of an index, and what is added to negative ones; `HEIGHT` rows of weights.
    "INDEX_BYTES",
    "WRAPS",
    # Volumes, whose slices are images: slices of y's and of x's, those that a window reads, its
    # step, the gap between taps, and how many of its slices lie before the volume.
    "SLICES",
    "X_SLICES",
    "TAPS_DEEP",
    "DEEP",
    "GAP_DEEP",
    "FRONT",
    # Elementwise: its instructions, its tensors, and where a block goes that has several rows of an
    # image with zeros around: the register that holds it and one more, or 0.
    "FIRST",
    "LAST",
    "TENSORS",
    "HELD",
    # Attention: heads, keys, numbers of a query, and of queries at a time. x are the queries, z the
    # values; strides of both from head to head, and of y.
    "HEADS",
    "KEYS",
    "DEPTH",
    "X_HEAD",
    "Y_HEAD",
    "Z_HEAD",
    # The keys: address, and strides from image to image, head to head, key to key, and within one.
    "K",
    "K_IMAGE",
    "K_HEAD",
    "K_ROW",
    "K_STEP",
    # The mask: how scores are masked, its address, and strides from image to image, head to head,
    # query to query, key to key.
    "MASKING",
    "MASK",
    "MASK_IMAGE",
    "MASK_HEAD",
    "MASK_ROW",
    "MASK_STEP",
)
PLACE = {name: place for place, name in enumerate(NAMES)}

KINDS = (
    "PRODUCT", "CHANNELWISE", "MAXIMUM", "AVERAGE", "MEAN", "COPY", "PROGRAM", "SOFTMAX",
    "ATTENTION", "WINOGRAD", "LOOKUP", "PAIRS", "VOLUME", "RESIZE",
)  # fmt: skip
# What reductions over an image make of its pixels.
REDUCTIONS = ("MEAN_OF", "SUM_OF", "LARGEST_OF")
REDUCTION = {name: number for number, name in enumerate(REDUCTIONS)}
KIND = {name: number for number, name in enumerate(KINDS)}

# Bits of a tile's mode, as `codegen.vectors` and `codegen.activations` have them (which import
# Numba), and all those that say what becomes of a complete sum.
PLUS, RECTIFY, CLIP, GATE, SILU, SIGMOID, TANH, SIXTHS = 2, 4, 8, 16, 32, 64, 128, 256
ACTIVATION = RECTIFY | CLIP | GATE | SILU | SIGMOID | TANH

# How attention's scores are masked: numbers are added, or False takes one number for all.
MASKINGS = ("UNMASKED", "ADDED", "SELECTED")
MASKING = {name: number for number, name in enumerate(MASKINGS)}

# What an instruction of a program does with one or two blocks of numbers. Reductions make one
# number of each row of channels; `SPREAD_ROWS` makes rows of such numbers, `SPREAD` of an image's.
# Those that end with `ONE` take one number as their second operand, `MULTIPLY_ROWS` one row.
OPERATIONS = (
    "ADD", "SUBTRACT", "MULTIPLY", "DIVIDE", "LARGER", "SMALLER", "NEGATIVE", "ABSOLUTE",
    "ROOT", "EXP", "EXPM1", "TANH", "ERF", "ERFC", "SPREAD", "SIGMOID", "SAME",
    "ROW_SUM", "ROW_MEAN", "ROW_LARGEST", "SPREAD_ROWS",
    "ADD_ONE", "SUBTRACT_ONE", "MULTIPLY_ONE", "DIVIDE_ONE", "LARGER_ONE", "SMALLER_ONE",
    "MULTIPLY_ROWS",
)  # fmt: skip
OPERATION = {name: number for number, name in enumerate(OPERATIONS)}
# Where an operand lies: in a register, at an address, in a tensor.
REGISTER, ADDRESS, TENSOR = range(3)
# Columns of an instruction (`BY_ROW`: its blocks have one number for each row) and of a tensor.
INSTRUCTION = ("WHAT", "TO_KIND", "TO", "A_KIND", "A", "B_KIND", "B", "BY_ROW")
TENSOR_COLUMNS = ("AT", "IMAGE", "ROW", "STEP")
# Numbers of a register; how many there are for temporaries, and for operands that are spread. One
# more than temporaries are alive: loops over the memory that they read are not made vectors.
REGISTER_SIZE = 4096
REGISTERS, SPREAD_REGISTERS = 9, 2


def constants() -> str:
    """The names as constants of a kernel's text."""
    lines = [f"{name} = {place}" for name, place in PLACE.items()]
    lines += [f"{name} = {number}" for name, number in KIND.items()]
    lines += [f"OP_{name} = {number}" for name, number in OPERATION.items()]
    lines += [f"{name} = {number}" for name, number in (*MASKING.items(), *REDUCTION.items())]
    lines += [f"I_{name} = {place}" for place, name in enumerate(INSTRUCTION)]
    lines += [f"SIGMOID, TANH = {SIGMOID}, {TANH}"]
    lines += [f"T_{name} = {place}" for place, name in enumerate(TENSOR_COLUMNS)]
    lines += [f"REGISTER, ADDRESS, TENSOR = {REGISTER}, {ADDRESS}, {TENSOR}"]
    lines += [f"REGISTER_SIZE = {REGISTER_SIZE}"]
    return "\n".join(lines)
