"""Steps of optimizers as machine code: one pass over a variable, its slots and its gradient.

NumPy takes a dozen passes for Adam's step, each through memory. Kernels work on numbers `start` to
`stop` of flat arrays, so that threads can share them, and write new arrays: a variable's value is
never written into.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def _kernel(arrays: Sequence[str], numbers: Sequence[str], lines: Sequence[str]) -> str:
    """A pass.

    Args:
        arrays: names of what is read, the gradient last; the others have a new value `new_x`.
        numbers: names of the scalars.
        lines: statements for the numbers at `i`, which end with those of the new values.
    """
    made = [f"new_{name}" for name in arrays[:-1]]
    kinds = ["int64"] * 2 + ["READ"] * len(arrays) + ["WRITTEN"] * len(made)
    kinds += ["float32"] * len(numbers)
    names = ["start", "stop", *arrays, *made, *numbers]
    body = "\n".join(f"        {line}" for line in lines)
    return (
        f"\n@njit([void({', '.join(kinds)})],\n"
        '      cache=True, nogil=True, error_model="numpy", fastmath={"contract"})\n'
        f"def kernel({', '.join(names)}):\n"
        f"    for i in range(start, stop):\n{body}\n"
    )


def _adam(direction: str) -> str:
    """As `ops/state/updates.py` writes it; `gain` and `growth` are 1 - beta1 and 1 - beta2."""
    return _kernel(
        ("var", "m", "v", "grad"),
        ("rate", "beta1", "gain", "growth", "epsilon"),
        (
            "g = grad[i]",
            "mean = m[i] + (g - m[i]) * gain",
            "size = v[i] + (g * g - v[i]) * growth",
            "new_m[i], new_v[i] = mean, size",
            f"new_var[i] = var[i] - {direction} / (sqrt(size) + epsilon) * rate",
        ),
    )


def _momentum(step: str) -> str:
    return _kernel(
        ("var", "accum", "grad"),
        ("rate", "momentum"),
        (
            "part = rate * grad[i]",
            "moved = momentum * accum[i] - part",
            "new_accum[i] = moved",
            f"new_var[i] = var[i] + ({step})",
        ),
    )


TEXTS = {
    "adam": _adam("mean"),
    "nesterov adam": _adam("(mean * beta1 + gain * g)"),
    "momentum": _momentum("moved"),
    "nesterov momentum": _momentum("momentum * moved - part"),
    "descent": _kernel(("var", "grad"), ("rate",), ("new_var[i] = var[i] - rate * grad[i]",)),
}
