"""Checking a file with onnx.checker and ONNX Runtime, and comparing the outputs."""

import ctypes
import math
import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

from pinnace.deploy.onnx.verification.time_limit import run_within
from pinnace.deploy.program.sources import Program
from pinnace.deploy.sampling.corners import EMPTY
from pinnace.deploy.sampling.samples import Run
from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType
from pinnace.framework.errors import (
    DeadlineExceededError,
    FailedPreconditionError,
    InternalError,
    OpError,
)
from pinnace.framework.extras import install_command
from pinnace.framework.shapes import Shape
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
# Operators in which ONNX Runtime (1.32) ends the process, where no rows or no steps come in.
_FATAL = frozenset({"GRU", "LSTM"})
_LINE = 300  # characters of what is said of inputs without elements


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of a comparison.

    Attributes:
        largest: output -> the largest absolute difference.
        relative: output -> the same, relative to the output's largest value.
        batches: how many sets of inputs.
        kinds: of inputs -> how many sets.
        empty: of inputs without elements -> what ONNX Runtime makes of them that pinnace does not.
    """

    largest: Mapping[str, float]
    relative: Mapping[str, float]
    batches: int
    kinds: Mapping[str, int]
    empty: Mapping[str, str]


def check_structure(path: str | os.PathLike[str]) -> None:
    """onnx.checker on a file; weights that it refers to are not read.

    Raises:
        InternalError: it is not valid; a converter is wrong.
    """
    try:
        onnx.checker.check_model(os.fspath(path), full_check=True)
    except Exception as error:
        raise InternalError(
            f"export: the model that was made is not valid ONNX: {error}"
        ) from error


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
        raise FailedPreconditionError(
            f"export: the check needs onnxruntime\n  Try: {install_command('onnx')}, or "
            "export(..., verify=False)"
        ) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # what fails is raised as well
    if lean:
        options.add_session_config_entry("session.disable_prepacking", "1")
        # One level less: without weights of convolutions by blocks of channels.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    given = model if isinstance(model, bytes) else os.fspath(model)
    try:
        return onnxruntime.InferenceSession(given, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise InternalError(
            f"export: ONNX Runtime {onnxruntime.__version__} does not load the model: {error}"
        ) from error


def compare(
    program: Program,
    session: Any,
    runs: Sequence[Run],
    drawn: Sequence[str] = (),
    operators: Collection[str] = (),
) -> Comparison:
    """Run ONNX Runtime on the same inputs, and compare.

    Args:
        program: the model itself.
        session: of the file.
        runs: inputs, and what the model made of them.
        drawn: outputs that are other numbers in each run.
        operators: of the file.

    Raises:
        InternalError: an output differs in dtype, shape or value, on inputs that have elements.
    """
    found = _Sizes({name: 0.0 for name in program.outputs if name not in drawn})
    empty: dict[str, str] = {}
    fatal = sorted(_FATAL.intersection(operators))
    for run in runs:
        if run.kind not in EMPTY:
            _compare(program, session, run, found)
            continue
        if fatal:
            empty[run.kind] = f"ONNX Runtime ends the process in {' and '.join(fatal)}; not asked"
            continue
        try:
            _compare(program, session, run, found)
        except (InternalError, DeadlineExceededError) as error:
            # The file is of use for all other inputs: it is said, not refused.
            empty[run.kind] = error.message.removeprefix("export: ").splitlines()[0][:_LINE]
    kinds = dict(Counter(run.kind for run in runs if run.kind not in empty))
    return Comparison(found.largest, found.relative, sum(kinds.values()), kinds, empty)


class _Sizes:
    """The sizes found so far, by output.

    Args:
        largest: output -> 0.0, for those that are compared by value.
    """

    def __init__(self, largest: dict[str, float]) -> None:
        self.largest, self.relative, self.sizes = largest, dict(largest), dict(largest)


def _compare(program: Program, session: Any, run: Run, found: _Sizes) -> None:
    arrays, expected = run.wide or run.inputs, run.outputs
    results = _results(program, session, arrays)
    if run.wide is not None:
        last = _behind_first(results)
        if _agree(program, expected, last):
            arrays, results = run.inputs, last
        else:
            expected = program.run(arrays)  # the rows may depend on each other
    for index, (name, spec) in enumerate(program.outputs.items()):
        if name not in found.largest:
            _check_form(name, expected[index], results[index], spec)
            continue
        difference, size = _difference(name, spec, expected[index], results[index])
        found.sizes[name] = max(found.sizes[name], size)
        if run.kind not in {"drawn", "sample"}:
            # What is zero there up to rounding has no size of its own.
            size = found.sizes[name]
        # What the model itself magnifies is looked at only where it decides.
        if difference > TOLERANCES.get(spec.dtype, 0.0) * size:
            allowed = _allowed(program, arrays, expected, index, spec.dtype, size)
            if difference > allowed:
                raise InternalError(
                    f"export: output {name!r} differs by {difference:.3g}, allowed is "
                    f"{allowed:.3g} "
                    f"(its largest value is {size:.3g}; inputs: {run.kind})"
                )
        found.largest[name] = max(found.largest[name], difference)
        found.relative[name] = max(found.relative[name], difference / size if size else 0.0)


def _results(program: Program, session: Any, arrays: Sequence[Array]) -> list[Array]:
    """ONNX Runtime's results for pinnace's inputs."""
    given = dict(zip(program.inputs, arrays, strict=True))
    try:
        return run_session(session, given, program.limit_s)
    except DeadlineExceededError:
        raise
    except Exception as error:
        shapes = ", ".join(
            f"{name} {array.dtype}{list(array.shape)}" for name, array in given.items()
        )
        raise InternalError(
            f"export: ONNX Runtime fails where pinnace does not ({shapes}): {error}"
        ) from error


def _check_form(name: str, expected: Array, got: Array, spec: TensorSpec) -> None:
    """Check an output's dtype and shape, for unseeded random numbers."""
    if expected.dtype != got.dtype or expected.ndim != got.ndim:
        raise InternalError(
            f"export: output {name!r} is {got.dtype}{list(got.shape)} in ONNX Runtime, "
            f"{expected.dtype}{list(expected.shape)} in pinnace"
        )
    is_told = spec.shape.is_compatible_with(Shape.of(got.shape))
    if not is_told or (got.dtype.kind == "f" and not np.isfinite(got).any() and got.size):
        raise InternalError(
            f"export: output {name!r} has shape {list(got.shape)} or no number in ONNX Runtime, "
            f"the signature says {spec.text}"
        )


def _behind_first(results: Sequence[Array]) -> list[Array]:
    """All rows but the first: one of two; what has another number of rows agrees with nothing."""
    return [array[1:] if array.ndim else array for array in results]


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
    return [dict(zip(program.inputs, arrays, strict=True)) for arrays, *_ in runs]


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


def run_session(session: Any, feeds: Mapping[str, Array], limit_s: float = 60.0) -> list[Array]:
    """The outputs, in order; bfloat16, which NumPy does not know, passes as its bits.

    Raises:
        DeadlineExceededError: it took longer than `limit_s` seconds.
    """
    narrow = "tensor(bfloat16)"
    entries = [*session.get_inputs(), *session.get_outputs()]
    given = {name: _for_runtime(array) for name, array in feeds.items()}
    if all(entry.type != narrow for entry in entries):
        return [np.asarray(array) for array in run_within(session, given, limit_s)]
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


def _difference(name: str, spec: TensorSpec, expected: Array, got: Array) -> tuple[float, float]:
    """The largest difference of an output, and its largest value."""
    expected, got = np.asarray(expected), np.asarray(got)
    if expected.shape != got.shape:
        raise InternalError(
            f"export: output {name!r} has shape {list(got.shape)} in ONNX Runtime, "
            f"{list(expected.shape)} in pinnace"
        )
    if spec.dtype is dtypes.string:
        same = [
            str_of(a) == str_of(b)
            for a, b in zip(expected.reshape(-1), got.reshape(-1), strict=True)
        ]
        return (0.0 if all(same) else np.inf), 0.0
    if expected.dtype != got.dtype:
        raise InternalError(
            f"export: output {name!r} is {got.dtype} in ONNX Runtime, {expected.dtype} in pinnace"
        )
    if not expected.size:
        return 0.0, 0.0
    if not spec.dtype.is_floating:
        return (0.0, 0.0) if np.array_equal(expected, got) else (_gap(expected, got), 0.0)
    a, b = expected.astype(np.float64), got.astype(np.float64)
    same_kind = (np.isnan(a) == np.isnan(b)) & ((np.isinf(a) | np.isinf(b)) <= (a == b))
    if not same_kind.all():
        raise InternalError(
            f"export: output {name!r} is NaN or infinite in other places in ONNX Runtime "
            f"than in pinnace"
        )
    finite = np.isfinite(a)
    if not finite.any():
        return 0.0, 0.0
    return float(np.max(np.abs(a[finite] - b[finite]))), float(np.max(np.abs(a[finite])))


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
    with np.errstate(invalid="ignore"):
        gap = np.abs(again - expected[index].astype(np.float64))
    gap = gap[np.isfinite(gap)]
    return max(tolerance, _CONDITION * float(gap.max())) if gap.size else tolerance
