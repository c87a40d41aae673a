"""The file as others see it: onnx.checker, ONNX Runtime, and the numbers that come out."""

import ctypes
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import onnx

from pinnace.deploy.onnx.sources import Program
from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType
from pinnace.framework.errors import FailedPreconditionError, InternalError, OpError
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Array

# Relative to the largest absolute value of an output. Both sides add up products in float32, each
# in an order of
# its own: sums of a thousand terms differ by some 1e-6 of their size, and a network chains a few
# dozen of them.
TOLERANCES: dict[DType, float] = {
    dtypes.float64: 1e-5,  # operators that lack a float64 kernel compute in float32
    dtypes.float32: 1e-5,
    dtypes.float16: 2e-3,  # two units in the last place of 11 bits
    dtypes.bfloat16: 2e-2,  # two units in the last place of 8 bits
}
# How much an output may move when the inputs move by one unit in the last place, times this, is
# allowed as well.
_CONDITION = 8.0
# Sizes to try for unknown axes; every batch meets every size.
_BATCHES = (2, 1, 3, 4)
_SIZES = (2, 3, 1, 8, 16, 32, 5, 64, 224)
_TRIES = 48
# A run that takes longer (seconds) stands for that of its first row, too, if ONNX Runtime agrees.
_DEAR_S = 0.1
_SEED = 20_261_120


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


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was compared.

    Attributes:
        largest: output -> the largest absolute difference.
        relative: output -> the same, relative to the output's largest value.
        batches: how many sets of inputs.
    """

    largest: Mapping[str, float]
    relative: Mapping[str, float]
    batches: int


def check_structure(path: str | os.PathLike[str]) -> None:
    """onnx.checker on a file; weights that it refers to are not read.

    Raises:
        InternalError: it is not valid; a converter is wrong.
    """
    try:
        onnx.checker.check_model(os.fspath(path), full_check=True)
    except Exception as error:
        message = f"export: the model that was made is not valid ONNX: {error}"
        raise InternalError(message) from error


def open_session(
    model: bytes | str | os.PathLike[str], threads: int = 1, *, lean: bool = False
) -> Any:
    """A session of ONNX Runtime's CPU provider.

    Args:
        model: the file's bytes, or its path.
        threads: of one operator.
        lean: whether weights are used where they are mapped, without copies in other layouts.

    Raises:
        FailedPreconditionError: onnxruntime is not installed.
        InternalError: it does not take the model.
    """
    try:
        import onnxruntime
    except ImportError as error:
        message = (
            "export: the check needs onnxruntime\n  Try: pip install 'pinnace[onnx]', or "
            "export(..., verify=False)"
        )
        raise FailedPreconditionError(message) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    if lean:
        options.add_session_config_entry("session.disable_prepacking", "1")
        # One level less: without weights of convolutions by blocks of channels.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    given = model if isinstance(model, bytes) else os.fspath(model)
    try:
        return onnxruntime.InferenceSession(given, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        message = f"export: ONNX Runtime {onnxruntime.__version__} does not load the model: {error}"
        raise InternalError(message) from error


def compare(program: Program, session: Any, runs: Sequence[Run]) -> Comparison:
    """Run the other side on the same inputs.

    Args:
        program: the model itself.
        session: of the file.
        runs: inputs, and what the model made of them.

    Raises:
        InternalError: an output differs in dtype, shape or value.
    """
    largest = dict.fromkeys(program.outputs, 0.0)
    relative = dict(largest)
    for run in runs:
        arrays, expected = run.inputs, run.outputs
        given = dict(zip(program.inputs, arrays, strict=True))
        try:
            results = run_session(session, given)
        except Exception as error:
            shapes = ", ".join(
                f"{name} {array.dtype}{list(array.shape)}" for name, array in given.items()
            )
            message = f"export: ONNX Runtime fails where pinnace does not ({shapes}): {error}"
            raise InternalError(message) from error
        if run.is_part and not _agree(program, expected, results):
            expected = program.run(arrays)  # the rows are not independent of each other
        for index, (name, spec) in enumerate(program.outputs.items()):
            difference, size = _difference(name, spec, expected[index], results[index])
            # What the model itself magnifies is looked at only where it decides.
            if difference > TOLERANCES.get(spec.dtype, 0.0) * size:
                allowed = _allowed(program, arrays, expected, index, spec.dtype, size)
                if difference > allowed:
                    message = (
                        f"export: output {name!r} differs by {difference:.3g}, allowed is "
                        f"{allowed:.3g} "
                        f"(its largest value is {size:.3g})"
                    )
                    raise InternalError(message)
            largest[name] = max(largest[name], difference)
            relative[name] = max(relative[name], difference / size if size else 0.0)
    return Comparison(largest, relative, len(runs))


def _agree(program: Program, expected: Sequence[Array], results: Sequence[Array]) -> bool:
    """Whether every output is within its tolerance."""
    for (name, spec), wanted, got in zip(program.outputs.items(), expected, results, strict=True):
        try:
            difference, size = _difference(name, spec, wanted, got)
        except InternalError:
            return False
        if difference > TOLERANCES.get(spec.dtype, 0.0) * size:
            return False
    return True


def feeds_of(program: Program, runs: Sequence[Run]) -> list[dict[str, Array]]:
    """The inputs of runs by name."""
    return [dict(zip(program.inputs, arrays, strict=True)) for arrays, _, _ in runs]


def same(a: Array, b: Array, slack: float = 0.0) -> bool:
    """Whether two results of ONNX Runtime agree up to the order of its sums.

    Args:
        a: what is right.
        b: the other.
        slack: more that is allowed, relative to the largest value.
    """
    if a.dtype.kind not in "fV":
        return np.array_equal(a, b)
    tolerance = max(TOLERANCES.values()) if a.dtype.itemsize == 2 else TOLERANCES[dtypes.float32]
    x, y = a.astype(np.float64), b.astype(np.float64)
    size = float(np.max(np.abs(x), where=np.isfinite(x), initial=0.0))
    return bool(np.allclose(x, y, rtol=0, atol=(tolerance + slack) * size, equal_nan=True))


def runs_of(program: Program, sample: Mapping[str, Any] | None) -> list[Run]:
    """Inputs and what pinnace makes of them.

    Raises:
        FailedPreconditionError: no inputs were found.
    """
    found = [_sample(program, sample)] if sample is not None else list(_drawn(program))
    if not found:
        wanted = ", ".join(f"{name}: {spec.text}" for name, spec in program.inputs.items())
        message = (
            "export: no inputs were found that the model itself can be run on, so "
            "nothing could be compared\n"
            f"  inputs: {wanted}\n  Try: export(..., sample={{name: array, ...}})"
        )
        raise FailedPreconditionError(message)
    return found


def run_session(session: Any, feeds: Mapping[str, Array]) -> list[Array]:
    """The outputs, in order; bfloat16, which NumPy does not know, passes as its bits."""
    narrow = "tensor(bfloat16)"
    entries = [*session.get_inputs(), *session.get_outputs()]
    given = {name: _for_runtime(array) for name, array in feeds.items()}
    if all(entry.type != narrow for entry in entries):
        return [np.asarray(array) for array in session.run(None, given)]
    from onnxruntime import OrtValue

    binding = session.io_binding()
    for entry in session.get_inputs():
        array = given[entry.name]
        if entry.type == narrow:
            bits = array.copy().view(np.uint16)
            value = OrtValue.ortvalue_from_numpy_with_onnx_type(bits, dtypes.bfloat16.onnx)
        else:
            value = OrtValue.ortvalue_from_numpy(array.copy())
        binding.bind_ortvalue_input(entry.name, value)
    for entry in session.get_outputs():
        binding.bind_output(entry.name)
    session.run_with_iobinding(binding)
    return [
        _bfloat16_of(value)
        if value.element_type() == dtypes.bfloat16.onnx
        else np.asarray(value.numpy())
        for value in binding.get_outputs()
    ]


def _bfloat16_of(value: Any) -> Array:
    shape = tuple(value.shape())
    count = math.prod(shape)
    words = (ctypes.c_uint16 * count).from_address(value.data_ptr()) if count else ()
    return np.array(words, np.uint16).view(dtypes.bfloat16.numpy).reshape(shape)


def _for_runtime(array: Array) -> Array:
    array = np.asarray(array)
    if array.dtype == object:
        return np.array([str_of(s) for s in array.reshape(-1)], object).reshape(array.shape)
    return array


def _sample(program: Program, sample: Mapping[str, Any]) -> Run:
    if set(sample) != set(program.inputs):
        message = (
            f"export: sample must have the inputs {sorted(program.inputs)}, got {sorted(sample)}"
        )
        raise FailedPreconditionError(message)
    arrays = [
        np.asarray(sample[name]).astype(spec.dtype.numpy) for name, spec in program.inputs.items()
    ]
    return Run(arrays, program.run(arrays))


def _drawn(program: Program) -> Iterator[Run]:
    """Random inputs that the program takes: of every unknown axis two sizes if it can be."""
    rng = np.random.default_rng(_SEED)
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
            _draw(rng, spec, size["batch"], size["inner"], high) for spec in program.inputs.values()
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


def _draw(rng: np.random.Generator, spec: TensorSpec, batch: int, inner: int, high: int) -> Array:
    shape = [
        (batch if axis == 0 else inner) if n is None else n for axis, n in enumerate(spec.shape)
    ]
    dtype = spec.dtype
    if dtype.is_floating:
        return rng.standard_normal(shape).astype(dtype.numpy)
    if dtype.is_integer:
        return rng.integers(0, high, shape).astype(dtype.numpy)
    if dtype.is_bool:
        return rng.integers(0, 2, shape).astype(np.bool_)
    words = np.array([b"", b"a", b"pinnace", b"two words"], object)
    return np.asarray(words[rng.integers(0, len(words), shape)], object).reshape(shape)


def _difference(name: str, spec: TensorSpec, expected: Array, got: Array) -> tuple[float, float]:
    """The largest difference of an output, and its largest value."""
    expected, got = np.asarray(expected), np.asarray(got)
    if expected.shape != got.shape:
        message = (
            f"export: output {name!r} has shape {list(got.shape)} in ONNX Runtime, "
            f"{list(expected.shape)} in pinnace"
        )
        raise InternalError(message)
    if spec.dtype is dtypes.string:
        same = [
            str_of(a) == str_of(b)
            for a, b in zip(expected.reshape(-1), got.reshape(-1), strict=True)
        ]
        return (0.0 if all(same) else np.inf), 0.0
    if expected.dtype != got.dtype:
        message = (
            f"export: output {name!r} is {got.dtype} in ONNX Runtime, {expected.dtype} in pinnace"
        )
        raise InternalError(message)
    if not expected.size:
        return 0.0, 0.0
    if not spec.dtype.is_floating:
        return (0.0, 0.0) if np.array_equal(expected, got) else (_gap(expected, got), 0.0)
    a, b = expected.astype(np.float64), got.astype(np.float64)
    same_kind = (np.isnan(a) == np.isnan(b)) & ((np.isinf(a) | np.isinf(b)) <= (a == b))
    if not same_kind.all():
        message = (
            f"export: output {name!r} is NaN or infinite in other places in ONNX Runtime "
            f"than in pinnace"
        )
        raise InternalError(message)
    finite = np.isfinite(a)
    if not finite.any():
        return 0.0, 0.0
    return float(np.max(np.abs(a - b)[finite])), float(np.max(np.abs(a[finite])))


def _gap(expected: Array, got: Array) -> float:
    if expected.dtype == bool:
        return 1.0
    return float(np.max(np.abs(expected.astype(np.float64) - got.astype(np.float64)))) or 1.0


def str_of(text: object) -> str:
    """A string as text, whichever side it comes from."""
    return text.decode() if isinstance(text, bytes) else str(text)


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
    gap = np.abs(again - expected[index].astype(np.float64))
    gap = gap[np.isfinite(gap)]
    return max(tolerance, _CONDITION * float(gap.max())) if gap.size else tolerance
