"""A recorded call of a public function, for TensorFlow and this library.

Arguments are cosines of squares: they are the same in every NumPy, and matrices have full rank.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

# These words stand for dtypes of the library.
TYPES = (
    *("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16"),
    *("qint8", "quint8", "qint16", "quint16", "qint32"),
)
DIFFERENTIABLE = ("float32", "float64", "complex64", "complex128")


@dataclass(frozen=True)
class Call:
    """One call, the arguments whose gradients are computed, and the tolerances.

    Args:
        name: dotted name below `tf`.
        args: arrays become tensors, in lists too; everything else is passed unchanged.
        options: keyword arguments, likewise.
        sources: indices of arguments to differentiate.
        rtol: relative tolerance of values and gradients.
        atol: absolute tolerance.
        reason: why the tolerances are not the default.
    """

    name: str
    args: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)
    sources: tuple[int, ...] = ()
    rtol: float = 1e-7
    atol: float = 1e-9
    reason: str = ""


def waves(*shape: int, phase: float = 0.0, dtype: str = "float64") -> Any:
    """Irregular numbers from -2 to 2."""
    count = int(np.prod(shape))
    return (2 * np.cos(np.arange(count) ** 2 * 0.37 + phase)).reshape(shape).astype(dtype)


def bytes_of(*shape: int, phase: float = 0.0) -> Any:
    """Irregular pixels from 0 to 255."""
    return ((waves(*shape, phase=phase) + 2) * 63.99).astype(np.uint8)


def seed_of(shape: Any) -> Any:
    """The upstream gradient."""
    count = int(np.prod(tuple(shape)))
    return np.cos(np.arange(count).reshape(tuple(shape)) + 0.5)


def tensor(value: Any, tf: Any, convert: Any) -> Any:
    """An argument as a value of the library."""
    if isinstance(value, str) and value in TYPES:
        return getattr(tf, value)
    if isinstance(value, (list, tuple)) and any(isinstance(part, np.ndarray) for part in value):
        return type(value)(tensor(part, tf, convert) for part in value)
    return convert(value) if isinstance(value, np.ndarray) else value


def plain(array: Any) -> Any:
    """Quantised integers as plain ones: TensorFlow makes records of one field of them."""
    return array[array.dtype.names[0]] if array.dtype.names else array


def results(call: Call, tf: Any, convert: Any, flatten: Any) -> dict[str, Any]:
    """The library's results: `y0`..., and for each source `d<index>` if there is a gradient."""
    args = [tensor(value, tf, convert) for value in call.args]
    options = {name: tensor(value, tf, convert) for name, value in call.options.items()}
    with tf.GradientTape(persistent=True) as tape:
        for index in call.sources:
            tape.watch(args[index])
        outputs = flatten(operator.attrgetter(call.name)(tf)(*args, **options))
    found = {f"y{n}": plain(np.asarray(y)) for n, y in enumerate(outputs)}
    ys = [y for y in outputs if y.dtype.name in DIFFERENTIABLE]
    seeds = [convert(seed_of(y.shape).astype(y.dtype.name)) for y in ys]
    for index in call.sources:
        dx = tape.gradient(ys, args[index], seeds)
        if dx is not None:
            found[f"d{index}"] = np.asarray(dx)
    return found
