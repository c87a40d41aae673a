"""export: freeze, fold, lower, fuse, lay out, write, check, compare; one function per step."""

import os
from collections import Counter
from collections.abc import Mapping
from importlib import metadata
from typing import Any

from pinnace.deploy.onnx.channels import lay_out
from pinnace.deploy.onnx.checking import Comparison, check_structure, compare, open_session
from pinnace.deploy.onnx.freeze import freeze
from pinnace.deploy.onnx.fusion import fuse, tidy
from pinnace.deploy.onnx.hygiene import Written, write_model
from pinnace.deploy.onnx.lowering import lower
from pinnace.deploy.onnx.report import ExportReport
from pinnace.deploy.onnx.sources import find_program
from pinnace.engine.passes.fold import fold
from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.storage.atomic import write_file

OPSETS = range(
    18, 27
)  # ONNX Runtime 1.31 refuses 27; below 18 reductions take their axes otherwise
IR_VERSIONS = range(8, 14)
_LIMIT = (1 << 31) - 1  # bytes of one protobuf message


def export(
    model: object,
    path: str | os.PathLike[str] | None = None,
    signature: str = "serving_default",
    opset: int = 18,
    ir_version: int = 8,
    verify: bool = True,
    *,
    sample: Mapping[str, Any] | None = None,
) -> ExportReport:
    """Write a model as ONNX, checked by onnx.checker and against pinnace by ONNX Runtime.

    Args:
        model: the folder of a SavedModel, what `saved_model.load` gave, a Keras model, or a
            ConcreteFunction.
        path: of the file; None writes none, the message is in the report.
        signature: which one.
        opset: version of the operators, 18 to 26; 18 runs everywhere.
        ir_version: version of the format, 8 to 13.
        verify: whether ONNX Runtime is asked to load the model and to give the same outputs.
        sample: inputs to compare on, by name; None draws some.

    Returns:
        What was written and how well it agrees.

    Raises:
        UnimplementedError: the model has ops that cannot be written in ONNX; the message names all
            of them with
            their nodes and the lines that called them.
        NotFoundError: there is no such model or signature, or the folder of `path` does not exist.
        InvalidArgumentError: a wrong option, an input of unknown rank, or a weight that is NaN.
        InternalError: what was made is not valid, or differs from the model. Nothing is written.
    """
    _check_options(opset, ir_version)
    program = find_program(model, signature)
    frozen = freeze(program)
    folded = fold(frozen.graph)
    folded.output_names = list(program.outputs)
    g, source_counts = lower(folded, program.inputs, opset)
    fuse(g)
    lay_out(g)
    tidy(g)
    written = write_model(g, program, ir_version, metadata.version("pinnace"))
    check_structure(written.skeleton)
    serialised = _serialise(written)
    comparison = None
    if verify:
        session = open_session(serialised)
        comparison = compare(program, session, sample)
    if path is not None:
        write_file(path, serialised)
    kinds = Counter(node.op_type for node in written.model.graph.node)
    return ExportReport(
        path=None if path is None else os.fspath(path),
        model=written.model,
        signature=program.signature,
        opset=opset,
        ir_version=ir_version,
        inputs=dict(program.inputs),
        outputs={written.output_names[name]: spec for name, spec in program.outputs.items()},
        output_names={name: final for name, final in written.output_names.items() if name != final},
        op_counts=dict(sorted(kinds.items())),
        source_counts=source_counts,
        transposes=kinds["Transpose"],
        casts=dict(sorted(g.casts.items())),
        dropped=frozen.dropped,
        file_bytes=len(serialised),
        **_measured(comparison),
    )


def _check_options(opset: int, ir_version: int) -> None:
    for name, value, allowed in (("opset", opset, OPSETS), ("ir_version", ir_version, IR_VERSIONS)):
        if not isinstance(value, int) or isinstance(value, bool) or value not in allowed:
            message = (
                f"export: {name} must be from {allowed.start} to {allowed.stop - 1}, got {value!r}"
            )
            raise InvalidArgumentError(message)


def _serialise(written: Written) -> bytes:
    size = written.model.ByteSize()
    if size > _LIMIT:
        message = (
            f"export: the model has {size / 1e9:.1f} GB; a file without external data holds "
            f"at most 2 GiB"
        )
        raise UnimplementedError(message)
    return written.model.SerializeToString(deterministic=True)


def _measured(comparison: Comparison | None) -> dict[str, Any]:
    if comparison is None:
        return {"largest_difference": None, "largest_relative": None, "batches": 0}
    return {
        "largest_difference": comparison.largest,
        "largest_relative": comparison.relative,
        "batches": comparison.batches,
    }
