"""Checks a file with onnx.checker and ONNX Runtime, and compares the outputs."""

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
from pinnace.deploy.sampling.comparing import TOLERANCES, Judge
from pinnace.deploy.sampling.corners import EMPTY
from pinnace.deploy.sampling.samples import Run
from pinnace.framework import dtypes
from pinnace.framework.errors import (
    DeadlineExceededError,
    FailedPreconditionError,
    InternalError,
)
from pinnace.framework.extras import install_command
from pinnace.framework.tensor import Array

# Operators in which ONNX Runtime (1.32) crashes the process for inputs without rows or steps.
_FATAL = frozenset({"GRU", "LSTM"})
_LINE = 300  # characters of a message about empty inputs


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of a comparison.

    Attributes:
        largest: output -> the largest absolute difference.
        relative: output -> the same, divided by the output's largest value.
        batches: the number of input sets.
        kinds: kind of inputs -> number of input sets.
        empty: kind of empty inputs -> how ONNX Runtime's behaviour differs.
    """

    largest: Mapping[str, float]
    relative: Mapping[str, float]
    batches: int
    kinds: Mapping[str, int]
    empty: Mapping[str, str]


def check_structure(path: str | os.PathLike[str]) -> None:
    """Run onnx.checker on a file; external weights are not read.

    Raises:
        InternalError: the file is not valid, so a converter is wrong.
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
        threads: the threads of an operator.
        lean: whether to use mapped weights directly, without packed copies.

    Raises:
        FailedPreconditionError: onnxruntime is not installed.
        InternalError: it does not load the model.
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
    options.log_severity_level = 4  # failures are raised as well
    if lean:
        options.add_session_config_entry("session.disable_prepacking", "1")
        # One optimisation level less, without blocked copies of convolution weights.
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
    """Run ONNX Runtime on the same inputs, and compare the outputs.

    Args:
        program: the model.
        session: the session of the file.
        runs: inputs, and the model's outputs for them.
        drawn: outputs that depend on random numbers.
        operators: the file's operators.

    Raises:
        InternalError: an output differs in dtype, shape or value on inputs that are not empty.
    """
    judge = Judge(program, "ONNX Runtime", drawn, exact_dtypes=True)
    empty: dict[str, str] = {}
    fatal = sorted(_FATAL.intersection(operators))
    for run in runs:
        if run.kind not in EMPTY:
            judge.look_at(run, _results(program, session, run))
            continue
        if fatal:
            empty[run.kind] = f"ONNX Runtime ends the process in {' and '.join(fatal)}; not asked"
            continue
        try:
            judge.look_at(run, _results(program, session, run))
        except (InternalError, DeadlineExceededError) as error:
            # The file is right for all other inputs, so this is reported instead of refused.
            empty[run.kind] = error.message.removeprefix("export: ").splitlines()[0][:_LINE]
    kinds = dict(Counter(run.kind for run in runs if run.kind not in empty))
    return Comparison(judge.largest, judge.relative, sum(kinds.values()), kinds, empty)


def _results(program: Program, session: Any, run: Run) -> dict[str, Array]:
    """ONNX Runtime's outputs for a run's inputs, by the names of the model's outputs."""
    given = dict(zip(program.inputs, run.wide or run.inputs, strict=True))
    try:
        results = run_session(session, given, program.limit_s)
    except DeadlineExceededError:
        raise
    except Exception as error:
        shapes = ", ".join(
            f"{name} {array.dtype}{list(array.shape)}" for name, array in given.items()
        )
        raise InternalError(
            f"export: ONNX Runtime fails on inputs that pinnace takes ({shapes}): {error}"
        ) from error
    return dict(zip(program.outputs, results, strict=True))


def feeds_of(program: Program, runs: Sequence[Run]) -> list[dict[str, Array]]:
    """The inputs of runs by name."""
    return [dict(zip(program.inputs, arrays, strict=True)) for arrays, *_ in runs]


def same(a: Array, b: Array, slack: float = 0.0) -> bool:
    """Whether two results of ONNX Runtime agree up to the order of its sums.

    Args:
        a: the reference.
        b: the other result.
        slack: an addition to the tolerance, relative to the largest value.
    """
    if a.dtype.kind not in "fV":
        return np.array_equal(a, b)
    tolerance = max(TOLERANCES.values()) if a.dtype.itemsize == 2 else TOLERANCES[dtypes.float32]
    x, y = a.astype(np.float64), b.astype(np.float64)
    size = float(np.max(np.abs(x), where=np.isfinite(x), initial=0.0))
    return bool(np.allclose(x, y, rtol=0, atol=(tolerance + slack) * size, equal_nan=True))


def run_session(session: Any, feeds: Mapping[str, Array], limit_s: float = 60.0) -> list[Array]:
    """Run a session, and return the outputs in order; bfloat16 is passed as its bits.

    Raises:
        DeadlineExceededError: the run took longer than `limit_s` seconds.
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


def str_of(text: object) -> str:
    """A string of either side as str."""
    return text.decode() if isinstance(text, bytes) else str(text)
