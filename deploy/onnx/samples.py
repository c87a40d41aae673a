"""Inputs that a model is run on, on both sides, and what it makes of them.

The numbers come from this project's own generator: the same in every version of NumPy, whose
generators need not be loaded.
"""

import itertools
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from pinnace.deploy.onnx.sources import Program
from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType
from pinnace.framework.errors import FailedPreconditionError, OpError
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Array
from pinnace.ops.kernels.philox import KeyCounter, key_counter_from_seed, normal, uniform_int

# Sizes to try for unknown axes; every batch meets every size.
_BATCHES = (2, 1, 3, 4)
_SIZES = (2, 3, 1, 8, 16, 32, 5, 64, 224)
_TRIES = 48
# A run that takes longer (seconds) stands for that of its first row, too, if ONNX Runtime agrees.
_DEAR_S = 0.1
_SEED = 20_261_120
_WORDS = np.array([b"", b"a", b"pinnace", b"two words"], object)


class Run(NamedTuple):
    """What is run on both sides.

    Attributes:
        inputs: in order.
        outputs: what pinnace makes of them.
        is_part: whether these were taken from a larger run, of which the inputs are the first row.
    """

    inputs: list[Array]
    outputs: tuple[Array, ...]
    is_part: bool = False


def runs_of(program: Program, sample: Mapping[str, Any] | None, words: Array = _WORDS) -> list[Run]:
    """Inputs and what pinnace makes of them.

    Args:
        program: the model.
        sample: inputs by name; None draws some.
        words: what strings are drawn from.

    Raises:
        FailedPreconditionError: no inputs were found.
    """
    found = [_sample(program, sample)] if sample is not None else list(_drawn(program, words))
    if not found:
        wanted = ", ".join(f"{name}: {spec.text}" for name, spec in program.inputs.items())
        message = (
            "export: no inputs were found that the model itself can be run on, so "
            "nothing could be compared\n"
            f"  inputs: {wanted}\n  Try: export(..., sample={{name: array, ...}})"
        )
        raise FailedPreconditionError(message)
    return found


def _sample(program: Program, sample: Mapping[str, Any]) -> Run:
    if set(sample) != set(program.inputs):
        message = (
            f"export: sample must have the inputs {sorted(program.inputs)}, got {sorted(sample)}"
        )
        raise FailedPreconditionError(message)
    arrays = [_of_type(sample[name], spec.dtype) for name, spec in program.inputs.items()]
    return Run(arrays, program.run(arrays))


def _of_type(given: Any, dtype: DType) -> Array:
    """An input of the caller's; texts become bytes."""
    array = np.asarray(given)
    if dtype is not dtypes.string:
        return array.astype(dtype.numpy)
    texts = np.empty(array.size, object)
    texts[:] = [t.encode() if isinstance(t, str) else t for t in array.reshape(-1).tolist()]
    return texts.reshape(array.shape)


def _drawn(program: Program, words: Array) -> Iterator[Run]:
    """Random inputs that the program takes: of every unknown axis two sizes if it can be."""
    streams = (key_counter_from_seed((_SEED, number)) for number in itertools.count())
    shapes = [list(spec.shape) for spec in program.inputs.values()]
    missing = {
        "batch": 2 if any(None in shape[:1] for shape in shapes) else 0,
        "inner": 2 if any(None in shape[1:] for shape in shapes) else 0,
    }
    seen: dict[str, set[int]] = {"batch": set(), "inner": set()}
    found = 0
    for attempt in range(_TRIES):
        size = {"batch": _BATCHES[attempt % len(_BATCHES)], "inner": _SIZES[attempt % len(_SIZES)]}
        wanted = [kind for kind in seen if len(seen[kind]) < missing[kind]]
        if found and wanted and all(size[kind] in seen[kind] for kind in wanted):
            continue
        high = 2 if attempt % 2 else 10
        arrays = [
            _draw(next(streams), spec, size["batch"], size["inner"], high, words)
            for spec in program.inputs.values()
        ]
        began = time.perf_counter()
        try:
            expected = program.run(arrays)
        except (OpError, ValueError, IndexError, TypeError, MemoryError):
            continue
        found += 1
        for kind, sizes in seen.items():
            sizes.add(size[kind])
        first = Run(arrays, expected)
        yield first
        if not missing["inner"] and time.perf_counter() - began > _DEAR_S:
            part = _first_row(program, first)
            if part is not None:
                yield part
                return
        if found >= 2 and all(len(seen[kind]) >= missing[kind] for kind in seen):
            return


def _first_row(program: Program, run: Run) -> Run | None:
    """The first row of a run, if inputs and outputs have rows."""
    specs = [*program.inputs.values(), *program.outputs.values()]
    arrays = [*run.inputs, *run.outputs]
    for spec, array in zip(specs, arrays, strict=True):
        if not spec.shape.rank or spec.shape[0] is not None or len(array) < 2:
            return None
    if len({len(array) for array in arrays}) > 1:
        return None
    return Run([a[:1] for a in run.inputs], tuple(a[:1] for a in run.outputs), is_part=True)


def _draw(
    stream: KeyCounter, spec: TensorSpec, batch: int, inner: int, high: int, words: Array
) -> Array:
    shape = [
        (batch if axis == 0 else inner) if n is None else n for axis, n in enumerate(spec.shape)
    ]
    dtype = spec.dtype
    if dtype.is_floating:
        drawn = np.float64 if dtype is dtypes.float64 else np.float32
        return normal(stream, shape, np.dtype(drawn)).astype(dtype.numpy)

    def below(limit: int) -> Array:
        return uniform_int(stream, shape, 0, limit, np.dtype(np.int64))

    if dtype.is_integer:
        return below(high).astype(dtype.numpy)
    if dtype.is_bool:
        return below(2).astype(np.bool_)
    return np.asarray(words[below(len(words))], object).reshape(shape)
