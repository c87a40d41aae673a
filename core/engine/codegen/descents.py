"""Optimizer steps as machine code: one pass over a variable, its slots and its gradient.

NumPy needs a dozen passes through memory for a step of Adam. Kernels operate on numbers `start` to
`stop` of flat arrays, so that threads can share them, and update the variable and its slots in
place: a step is bound by memory, and writing to other memory takes twice as long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def _kernel(arrays: Sequence[str], numbers: Sequence[str], lines: Sequence[str]) -> str:
    """The source of a one-pass kernel.

    Args:
        arrays: names of the arrays that are updated.
        numbers: names of the scalar arguments.
        lines: statements for the numbers at `i`, ending with the new values; `g` is the gradient's.
    """
    kinds = ["int64"] * 2 + ["WRITTEN"] * len(arrays) + ["READ"] + ["float32"] * len(numbers)
    names = ["start", "stop", *arrays, "grad", *numbers]
    # Slices, indexed from 0: for an index that might be negative, Numba adds the wrap-around, and
    # LLVM does not vectorise the loads.
    parts = "".join(f"    {one} = {one}[start:stop]\n" for one in (*arrays, "grad"))
    body = "\n".join(f"        {line}" for line in ("g = grad[i]", *lines))
    return (
        f"\n@njit([void({', '.join(kinds)})],\n"
        '      cache=True, nogil=True, error_model="numpy", fastmath={"contract"})\n'
        f"def kernel({', '.join(names)}):\n{parts}    for i in range(grad.size):\n{body}\n"
    )


def _adam(direction: str) -> str:
    """Adam like `ops/state/updates.py`; `gain` and `growth` are 1 - beta1 and 1 - beta2."""
    return _kernel(
        ("var", "m", "v"),
        ("rate", "beta1", "gain", "growth", "epsilon"),
        (
            "mean = m[i] + (g - m[i]) * gain",
            "size = v[i] + (g * g - v[i]) * growth",
            "m[i], v[i] = mean, size",
            f"var[i] = var[i] - {direction} / (sqrt(size) + epsilon) * rate",
        ),
    )


def _momentum(step: str) -> str:
    return _kernel(
        ("var", "accum"),
        ("rate", "momentum"),
        (
            "part = rate * g",
            "moved = momentum * accum[i] - part",
            "accum[i] = moved",
            f"var[i] = var[i] + ({step})",
        ),
    )


TEXTS = {
    "adam": _adam("mean"),
    "nesterov adam": _adam("(mean * beta1 + gain * g)"),
    "momentum": _momentum("moved"),
    "nesterov momentum": _momentum("momentum * moved - part"),
    "descent": _kernel(("var",), ("rate",), ("var[i] = var[i] - rate * g",)),
}
