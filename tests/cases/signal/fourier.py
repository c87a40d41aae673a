"""Cases of core/ops/signal/fourier.py: the defining sums."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pinnace.framework import dtypes
from support.drawing import random_arrays
from support.opcase import OpCase

Array = npt.NDArray[Any]
OPTIONS: dict[str, Any] = {
    "slack": 400,
    "reason": "sums of as many terms as there are values",
    "dtypes": (dtypes.float64,),
    "smooth": 10,
}


def summed(x: Array, axes: Sequence[int], sizes: Sequence[int], sign: int) -> Array:
    """Each axis truncated or padded to its size, and transformed."""
    for axis, size in zip(axes, sizes, strict=True):
        moved = np.moveaxis(x, axis, -1)[..., :size]
        n = np.arange(moved.shape[-1])
        k = np.arange(size)[:, None]
        table = np.exp(sign * 2j * np.pi * k * n / size)
        x = np.moveaxis(moved @ table.T / (size if sign > 0 else 1), -1, axis)
    return x


def forward(x: Array, axes: Sequence[int], sizes: Sequence[int], *, real: bool) -> Array:
    y = summed(x, axes, sizes, -1)
    return np.take(y, np.arange(sizes[-1] // 2 + 1), axis=axes[-1]) if real else y


def backward(x: Array, axes: Sequence[int], sizes: Sequence[int], *, real: bool) -> Array:
    if not real:
        return summed(x, axes, sizes, 1)
    last, size = axes[-1], sizes[-1]
    x = summed(x, axes[:-1], sizes[:-1], 1)
    half = np.moveaxis(x, last, -1)[..., : size // 2 + 1]
    padded = np.zeros((*half.shape[:-1], size // 2 + 1), complex)
    padded[..., : half.shape[-1]] = half
    padded[..., 0] = padded[..., 0].real
    if size % 2 == 0:
        padded[..., -1] = padded[..., -1].real
    mirrored = np.conj(padded[..., 1 : (size + 1) // 2][..., ::-1])
    whole = np.concatenate([padded, mirrored], -1)
    return np.real(np.moveaxis(summed(whole, [-1], [size], 1), -1, last))


def case(name: str) -> OpCase:
    inverse, real, chosen = name.startswith("I"), "R" in name, name.endswith("ND")
    count = {"2D": 2, "3D": 3}.get(name[-2:], 1)

    def build(rng: np.random.Generator) -> tuple[Any, ...]:
        rank = 3 if count > 1 or chosen else 2
        shape = tuple(int(n) for n in rng.integers(1, 5, rank))
        x: Any = rng.standard_normal(shape)
        if inverse or not real:
            x = x + 1j * rng.standard_normal(shape)
        if not real and not chosen:
            return (x,)
        axes = [2, 0] if chosen else list(range(rank - count, rank))
        sizes = np.array(rng.integers(1, 6, len(axes)), np.int32)
        return (x, sizes, np.array(axes, np.int32)) if chosen else (x, sizes)

    def reference(x: Array, sizes: Any = None, axes: Any = None) -> Array:
        places = list(range(-count, 0)) if axes is None else axes.tolist()
        lengths = [x.shape[a] for a in places] if sizes is None else sizes.tolist()
        return (backward if inverse else forward)(x, places, lengths, real=real)

    attrs: dict[str, Any] = {}
    if real:
        attrs = {"Treal": dtypes.float64} if inverse else {"Tcomplex": dtypes.complex128}
    return OpCase(name, random_arrays(build), reference, attrs=attrs, **OPTIONS)


ENDS = ("", "2D", "3D", "ND")
CASES = [case(f"{start}FFT{end}") for end in ENDS for start in ("", "I", "R", "IR")]
