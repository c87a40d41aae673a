"""Cases of core/ops/quantization/simulated.py: the nearest of all the steps, one by one."""

from typing import Any

import numpy as np
import numpy.typing as npt

from pinnace.framework import dtypes
from support.drawing import random_arrays
from support.opcase import OpCase

Array = npt.NDArray[Any]
# Values midway between two steps may round either way, so values are drawn off the midpoints.
ODD: dict[str, Any] = {"dtypes": (dtypes.float32,), "differentiable": (), "slack": 64.0}


def steps(low: float, high: float, bits: int, narrow: bool) -> Array:
    """The possible outputs, 0 among them."""
    count = 2**bits - 1 - narrow
    scale = (high - low) / count
    zero = np.clip(np.floor(0.5 - low / scale), 0, count)
    return (np.arange(count + 1) - zero) * scale


def nearest(x: Array, table: Array) -> Array:
    at = np.abs(x[..., None] - table).argmin(-1) if len(table) else 0
    return np.asarray(table[at])


def on_steps(rng: np.random.Generator, shape: tuple[int, ...], table: Array) -> Array:
    """Values a third of a step off, beyond the ends too."""
    chosen = rng.choice(table, shape)
    width = table[1] - table[0]
    far = np.where(rng.random(shape) < 0.2, rng.choice([-5.0, 5.0], shape), 0)
    return np.asarray(chosen + width * rng.uniform(-0.33, 0.33, shape) + far * 10)


LIMITS = ((-1.1, 1.7), (0.0, 6.0), (-3.0, -1e-3))


def args_case(low: float, high: float, bits: int, narrow: bool) -> OpCase:
    table = steps(np.float32(low), np.float32(high), bits, narrow)
    return OpCase(
        "FakeQuantWithMinMaxArgs",
        random_arrays(lambda rng: (on_steps(rng, (2, 3), table),)),
        lambda x: nearest(x, table),
        attrs={"min": low, "max": high, "num_bits": bits, "narrow_range": narrow},
        **ODD,
    )


def gradient_reference(dy: Array, x: Array, low: Array, high: Array) -> tuple[Array, ...]:
    """The gradients, with one sum for each bound of the range."""
    per_channel = np.ndim(low) == 1
    parts = []
    for channel in range(x.shape[-1]) if per_channel else [slice(None)]:
        mine, grad = x[..., channel], dy[..., channel]
        limit = (float(low[channel]), float(high[channel])) if per_channel else (low, high)
        table = steps(*limit, 8, False)
        under, over = mine < table[0], mine > table[-1]
        parts.append((np.where(under | over, 0, grad), grad[under].sum(), grad[over].sum()))
    if per_channel:
        dx = np.stack([p[0] for p in parts], -1)
        return dx, np.array([p[1] for p in parts]), np.array([p[2] for p in parts])
    return parts[0][0], np.array(parts[0][1]), np.array(parts[0][2])


def with_limits(rng: np.random.Generator, *, channels: bool, gradient: bool) -> tuple[Array, ...]:
    chosen = rng.choice(np.array(LIMITS), 3 if channels else ())
    low, high = chosen[..., 0].astype(np.float32), chosen[..., 1].astype(np.float32)
    if channels:
        columns = [
            on_steps(rng, (4,), steps(a, b, 8, False)) for a, b in zip(low, high, strict=True)
        ]
        x = np.stack(columns, -1)
    else:
        x = on_steps(rng, (4, 3), steps(low, high, 8, False))
    return (rng.standard_normal(x.shape), x, low, high) if gradient else (x, low, high)


def rounded(x: Array, low: Array, high: Array) -> Array:
    if np.ndim(low) == 0:
        return nearest(x, steps(float(low), float(high), 8, False))
    columns = [
        nearest(x[..., i], steps(float(low[i]), float(high[i]), 8, False)) for i in range(len(low))
    ]
    return np.stack(columns, -1)


CASES = [
    *(
        args_case(*limits, bits, narrow)
        for limits in LIMITS
        for bits, narrow in ((8, False), (4, True))
    ),
    *(
        OpCase(
            f"FakeQuantWithMinMaxVars{suffix}{gradient}",
            random_arrays(
                lambda rng, channels=bool(suffix), gradient=bool(gradient): with_limits(
                    rng, channels=channels, gradient=gradient
                )
            ),
            gradient_reference if gradient else rounded,
            **ODD,
        )
        for suffix in ("", "PerChannel")
        for gradient in ("", "Gradient")
    ),
    OpCase(
        "FakeQuantWithMinMaxArgsGradient",
        random_arrays(lambda rng: with_limits(rng, channels=False, gradient=True)[:2]),
        lambda dy, x: gradient_reference(dy, x, np.array(-6.0), np.array(6.0))[0],
        **ODD,
    ),
]
