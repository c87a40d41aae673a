"""Translates each op of StableHLO to nodes of this library.

`translation.Translation` goes through a module; `registry.LOWERINGS` has a function per op, in the
file of its subject. `operands` represents values during translation: broadcasts that NumPy's rules
imply are omitted, and arithmetic on sizes is done on sizes.
"""

from pinnace.saved_model.stablehlo.lowering import (
    composites,
    control,
    convolutions,
    custom_calls,
    elementwise,
    factorizations,
    fourier,
    gathers,
    products,
    random_bits,
    reductions,
    refused,
    scatters,
    shapes,
    slices,
    sorting,
    windows,
)

__all__ = [
    "composites",
    "control",
    "convolutions",
    "custom_calls",
    "elementwise",
    "factorizations",
    "fourier",
    "gathers",
    "products",
    "random_bits",
    "reductions",
    "refused",
    "scatters",
    "shapes",
    "slices",
    "sorting",
    "windows",
]
