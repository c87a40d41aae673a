"""Quantised and float16 forms of a file, and their errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.deploy.lite.files.serialising import serialised
from pinnace.deploy.lite.flow.report import Precision
from pinnace.deploy.lite.smaller.kernels import WIDTHS
from pinnace.deploy.lite.smaller.ranges import ranges_of
from pinnace.deploy.lite.smaller.weights import halve, narrow
from pinnace.deploy.lite.smaller.whole import quantize
from pinnace.deploy.lite.verification.interpreting import WAYS, Interpreter
from pinnace.deploy.sampling.calibration import calibration_feeds, held_out
from pinnace.framework.errors import FailedPreconditionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.deploy.lite.flow.options import Options
    from pinnace.deploy.lite.ir.model import Model, Quantization, Signature, Tensor
    from pinnace.deploy.program.sources import Program
    from pinnace.deploy.sampling.samples import Run
    from pinnace.framework.tensor import Array


def smaller_form(
    model: Model,
    content: bytes,
    programs: Sequence[Program],
    runs: Sequence[Sequence[Run]],
    options: Options,
    *,
    is_run: bool,
) -> tuple[bytes, Precision]:
    """The smaller file, and its error.

    Args:
        model: the float32 model; it is changed in place.
        content: the float32 file.
        programs: the program of each signature.
        runs: sample inputs for each program.
        options: the options of the export.
        is_run: whether the interpreter can run the file.

    Raises:
        InvalidArgumentError: the calibration examples do not match the inputs.
        FailedPreconditionError: the smaller form gives NaN and float32 does not.
    """
    kind = str(options.kind)
    feeds: list[list[Mapping[str, Array]]] = [
        [dict(zip(program.inputs, run.inputs, strict=True)) for run in one]
        for program, one in zip(programs, runs, strict=True)
    ]
    if kind == "float16":
        stayed = halve(model)
    elif kind == "int8":
        stayed = narrow(model)
    else:
        given = options.calibration
        examples = calibration_feeds({} if given is None else given, programs[0])
        kept, rest, _ = held_out(examples)
        signature = model.signatures[0]
        ranges = ranges_of(content, signature.subgraph, signature.key, kept)
        inputs, outputs = list(signature.inputs), list(signature.outputs)
        stayed = quantize(
            signature.subgraph,
            ranges,
            WIDTHS[kind],
            options.input_type or "float32",
            options.output_type or "float32",
        )
        signature.inputs = dict(zip(inputs, signature.subgraph.inputs, strict=True))
        signature.outputs = dict(zip(outputs, signature.subgraph.outputs, strict=True))
        feeds = [list(rest)]
    small = serialised(model)
    relative: dict[str, float] = {}
    agreement: dict[str, float] = {}
    rows = 0
    if is_run and options.verify:
        for signature, one in zip(model.signatures, feeds, strict=True):
            rows += _measured(signature, content, small, one, relative, agreement)
    return small, Precision(kind, len(content), relative, agreement, rows, stayed)


def _measured(
    signature: Signature,
    content: bytes,
    small: bytes,
    feeds: Sequence[Mapping[str, Array]],
    relative: dict[str, float],
    agreement: dict[str, float],
) -> int:
    """Compare with float32, with and without XNNPACK, and keep the larger errors."""
    exact = Interpreter(content)
    expected = [exact.run(given, signature.key) for given in feeds]
    rows = 0
    for way in WAYS:
        interpreter = Interpreter(small, way)
        found = [
            _real(
                signature.outputs, interpreter.run(_whole(signature.inputs, given), signature.key)
            )
            for given in feeds
        ]
        for name in signature.outputs:
            pairs = [(a[name], b[name]) for a, b in zip(expected, found, strict=True)]
            relative[name] = max(relative.get(name, 0.0), _relative(name, pairs))
            share, rows = _agreement(pairs)
            if rows:
                agreement[name] = min(agreement.get(name, 1.0), share)
    return rows


def _whole(tensors: Mapping[str, Tensor], feeds: Mapping[str, Array]) -> dict[str, Array]:
    """Inputs in the types that the file takes."""
    found = {}
    for name, array in feeds.items():
        tensor = tensors[name]
        how = tensor.quantization
        if how is None:
            found[name] = array
            continue
        limits = np.iinfo(tensor.dtype.numpy)
        levels = np.rint(array / how.scales[0]) + how.zeros[0]
        found[name] = levels.clip(limits.min, limits.max).astype(tensor.dtype.numpy)
    return found


def _real(tensors: Mapping[str, Tensor], found: Mapping[str, Array]) -> dict[str, Array]:
    """Outputs, dequantised."""
    return {name: _widened(array, tensors[name].quantization) for name, array in found.items()}


def _widened(array: Array, how: Quantization | None) -> Array:
    if how is None:
        return array
    return np.asarray((array.astype(np.float32) - how.zeros[0]) * how.scales[0], np.float32)


def _relative(name: str, pairs: Sequence[tuple[Array, Array]]) -> float:
    size = gap = 0.0
    for a, b in pairs:
        if a.dtype.kind != "f" or not a.size:
            continue
        finite = np.isfinite(a)
        if not np.isfinite(b[finite]).all():
            raise FailedPreconditionError(
                f"export: output {name!r} is not finite with fewer bits, where float32 is\n"
                "  Try: without --float16, --int8, --int8-static or --int16-static"
            )
        if finite.any():
            size = max(size, float(np.max(np.abs(a[finite]))))
            gap = max(gap, float(np.max(np.abs(a[finite] - b[finite]))))
    return gap / size if size else 0.0


def _agreement(pairs: Sequence[tuple[Array, Array]]) -> tuple[float, int]:
    """The share of rows with equal argmax, and the number of rows."""
    hits = rows = 0
    for a, b in pairs:
        if a.dtype.kind != "f" or a.ndim < 2 or a.shape[-1] < 2 or not a.size:
            continue
        same = np.argmax(a, -1) == np.argmax(b, -1)
        hits += int(same.sum())
        rows += same.size
    return (hits / rows if rows else 1.0), rows
