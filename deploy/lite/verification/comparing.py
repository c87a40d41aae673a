"""Comparing what a file gives with what the model gives."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.errors import InternalError, OpError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.deploy.lite.verification.interpreting import Interpreter
    from pinnace.deploy.program.sources import Program
    from pinnace.deploy.sampling.samples import Run
    from pinnace.framework.dtypes import DType
    from pinnace.framework.specs import TensorSpec
    from pinnace.framework.tensor import Array

# Relative to the largest absolute value of an output: sums in float32, in orders of their own.
TOLERANCES: dict[DType, float] = {
    dtypes.float64: 1e-5,  # computed in float32
    dtypes.float32: 1e-5,
    dtypes.float16: 2e-3,  # two units in the last place of 11 bits
    dtypes.bfloat16: 2e-2,  # two units in the last place of 8 bits
}
# How much an output may move when the inputs move by one unit in the last place, times this, is
# allowed as well.
_CONDITION = 8.0


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of a comparison.

    Attributes:
        largest: output -> the largest absolute difference.
        relative: output -> the same, relative to the output's largest value.
        batches: how many sets of inputs.
        kinds: of inputs -> how many sets.
    """

    largest: Mapping[str, float]
    relative: Mapping[str, float]
    batches: int
    kinds: Mapping[str, int]


def compare(
    program: Program, interpreter: Interpreter, runs: Sequence[Run], drawn: Sequence[str] = ()
) -> Comparison:
    """Run the file on the same inputs, and compare.

    Args:
        program: the model itself.
        interpreter: of the file.
        runs: inputs, and what the model made of them.
        drawn: outputs that are other numbers in each run.

    Raises:
        InternalError: an output differs in dtype, shape or value.
    """
    largest = {name: 0.0 for name in program.outputs if name not in drawn}
    relative, sizes = dict(largest), dict(largest)
    for run in runs:
        arrays, expected = run.wide or run.inputs, run.outputs
        found = interpreter.run(dict(zip(program.inputs, arrays, strict=True)), program.signature)
        results = [found[name] for name in program.outputs]
        if run.wide is not None:
            last = [array[1:] if array.ndim else array for array in results]
            if _agree(program, expected, last):
                arrays, results = run.inputs, last
            else:
                expected = program.run(arrays)  # the rows may depend on each other
        for index, (name, spec) in enumerate(program.outputs.items()):
            if name in drawn:
                continue
            gap, size = difference(name, spec, expected[index], results[index])
            sizes[name] = max(sizes[name], size)
            if run.kind not in {"drawn", "sample"}:
                size = sizes[name]  # what is zero there up to rounding has no size of its own
            if gap > TOLERANCES.get(spec.dtype, 0.0) * size:
                limit = _allowed(program, arrays, expected, index, spec.dtype, size)
                if gap > limit:
                    raise InternalError(
                        f"export: output {name!r} differs by {gap:.3g} in LiteRT "
                        f"({interpreter.way}), allowed is {limit:.3g} (its largest value is "
                        f"{size:.3g}; inputs: {run.kind})"
                    )
            largest[name] = max(largest[name], gap)
            relative[name] = max(relative[name], gap / size if size else 0.0)
    return Comparison(largest, relative, len(runs), dict(Counter(run.kind for run in runs)))


def _agree(program: Program, expected: Sequence[Array], results: Sequence[Array]) -> bool:
    """Whether every output is within its tolerance."""
    for (name, spec), wanted, got in zip(program.outputs.items(), expected, results, strict=True):
        try:
            gap, size = difference(name, spec, wanted, got)
        except InternalError:
            return False
        if gap > TOLERANCES.get(spec.dtype, 0.0) * size:
            return False
    return True


def difference(name: str, spec: TensorSpec, expected: Array, got: Array) -> tuple[float, float]:
    """The largest difference of an output, and its largest value.

    Raises:
        InternalError: dtype, shape, or the places of what is not finite differ.
    """
    expected, got = np.asarray(expected), np.asarray(got)
    if expected.shape != got.shape:
        raise InternalError(
            f"export: output {name!r} has shape {list(got.shape)} in LiteRT, "
            f"{list(expected.shape)} in pinnace"
        )
    if spec.dtype is dtypes.string:
        return (0.0 if _texts(expected) == _texts(got) else np.inf), 0.0
    if expected.dtype != got.dtype:
        raise InternalError(
            f"export: output {name!r} is {got.dtype} in LiteRT, {expected.dtype} in pinnace"
        )
    if not expected.size:
        return 0.0, 0.0
    a, b = expected.astype(np.float64), got.astype(np.float64)
    if not spec.dtype.is_floating:
        return float(np.max(np.abs(a - b))), 0.0
    same_kind = (np.isnan(a) == np.isnan(b)) & ((np.isinf(a) | np.isinf(b)) <= (a == b))
    if not same_kind.all():
        raise InternalError(
            f"export: output {name!r} is NaN or infinite in other places in LiteRT than in pinnace"
        )
    finite = np.isfinite(a)
    if not finite.any():
        return 0.0, 0.0
    return float(np.max(np.abs(a[finite] - b[finite]))), float(np.max(np.abs(a[finite])))


def _texts(array: Array) -> list[bytes]:
    return [bytes(text) for text in array.reshape(-1)]


def _allowed(
    program: Program,
    arrays: Sequence[Array],
    expected: Sequence[Array],
    index: int,
    dtype: DType,
    size: float,
) -> float:
    """The tolerance, wider where the model itself magnifies the rounding of its inputs."""
    tolerance = TOLERANCES.get(dtype, 0.0) * size
    if not dtype.is_floating:
        return 0.0
    moved = [np.nextafter(x, np.inf) if x.dtype.kind == "f" else x for x in arrays]
    try:
        again = program.run(moved)[index].astype(np.float64)
    except (OpError, ValueError, IndexError, TypeError):
        return tolerance
    with np.errstate(invalid="ignore"):
        gap = np.abs(again - expected[index].astype(np.float64))
    gap = gap[np.isfinite(gap)]
    return max(tolerance, _CONDITION * float(gap.max())) if gap.size else tolerance
