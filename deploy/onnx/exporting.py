"""export: freeze, fold, lower, fuse, lay out, write, check, compare; one function per step."""

import os
from collections import Counter
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from pinnace.deploy.onnx.accuracy import (
    VariantReport,
    calibration_feeds,
    held_out,
    measure,
    overflows,
)
from pinnace.deploy.onnx.channels import lay_out
from pinnace.deploy.onnx.checking import (
    Comparison,
    check_structure,
    compare,
    feeds_of,
    open_session,
    run_session,
    runs_of,
    same,
)
from pinnace.deploy.onnx.freeze import freeze
from pinnace.deploy.onnx.fusion import fuse, tidy
from pinnace.deploy.onnx.hygiene import Written, write_model
from pinnace.deploy.onnx.lowering import lower
from pinnace.deploy.onnx.report import ExportReport
from pinnace.deploy.onnx.sources import Program, find_program
from pinnace.deploy.onnx.variants import KINDS, make_variant, mobile_paths, to_mobile, watched
from pinnace.deploy.onnx.web import Page, check_page, find_runtime, write_page
from pinnace.engine.passes.fold import fold
from pinnace.framework.errors import InternalError, InvalidArgumentError, UnimplementedError
from pinnace.framework.tensor import Array
from pinnace.storage.atomic import write_file

OPSETS = range(
    18, 27
)  # ONNX Runtime 1.31 refuses 27; below 18 reductions take their axes otherwise
IR_VERSIONS = range(8, 14)
# WebAssembly's kernels sum in other orders than those of a PC; a smaller form adds twice its cost.
_PAGE_TOLERANCE = 1e-4
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
    float16: bool = False,
    int8: bool = False,
    int8_static: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    ort: bool = False,
    web: str | os.PathLike[str] | None = None,
    web_runtime: str | os.PathLike[str] | None = None,
) -> ExportReport:
    """Write a model as ONNX, checked by onnx.checker and against pinnace by ONNX Runtime.

    A smaller form (at most one of `float16`, `int8`, `int8_static`) is made of the float32 file
    once that is verified; what it costs is measured against it and stands in `report.variant`.

    Args:
        model: the folder of a SavedModel, what `saved_model.load` gave, a Keras model, or a
            ConcreteFunction.
        path: of the file; None writes none, the message is in the report.
        signature: which one.
        opset: version of the operators, 18 to 26; 18 runs everywhere.
        ir_version: version of the format, 8 to 13.
        verify: whether ONNX Runtime is asked to load the model and to give the same outputs.
        sample: inputs to compare on, by name; None draws some.
        float16: weights and arithmetic in half precision; inputs and outputs stay as they are.
        int8: weights of matrix products in 8 bits, those of activations found at run time: for
            transformers and dense networks.
        int8_static: everything in 8 bits, QuantizeLinear and DequantizeLinear around each op, also
            of convolutions: the `.npz` file, or the arrays by input, of examples to find the
            ranges with. Every fifth run of them is left out, and compared on.
        ort: whether to write `.ort` beside the file as well, ONNX Runtime's format for phones, and
            the list of operators that a reduced build of it needs.
        web: folder for a page that runs the model in the browser and checks itself; it loads
            nothing from elsewhere.
        web_runtime: the folder, npm package or project with the files of onnxruntime-web; None
            looks for `node_modules` here and above.

    Returns:
        What was written and how well it agrees.

    Raises:
        UnimplementedError: the model has ops that cannot be written in ONNX; the message names all
            of them with
            their nodes and the lines that called them.
        NotFoundError: there is no such model or signature, or the folder of `path` does not exist.
        InvalidArgumentError: a wrong option, an input of unknown rank, a weight that is NaN, a
            calibration that does not fit, or a smaller form that would change nothing.
        FailedPreconditionError: onnxruntime or its tools are missing, or a smaller form gives NaN
            where float32 does not, or an output is beyond float16.
        InternalError: what was made is not valid, or differs from the model. Nothing is written.
    """
    _check_options(opset, ir_version)
    kind = _kind(float16=float16, int8=int8, int8_static=int8_static is not None)
    if ort and path is None:
        message = "export: ort=True writes a file beside `path`; path is None"
        raise InvalidArgumentError(message)
    program = find_program(model, signature)
    runtime = None
    if web is not None:
        runtime = find_runtime(web_runtime)
        check_page(program.inputs, program.outputs)
    examples = None if int8_static is None else calibration_feeds(int8_static, program)
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
    message_out, variant = written.model, None
    if kind is not None:
        message_out, serialised, variant = _smaller(
            kind, written, serialised, program, sample, examples
        )
    mobile: dict[Path, bytes] = {}
    if ort and path is not None:
        mobile = _mobile(serialised, program, sample, os.fspath(path), variant)
    if path is not None:
        write_file(path, serialised)
        for place, content in mobile.items():
            write_file(place, content)
    if web is not None and runtime is not None:
        write_page(web, _page(program, written, serialised, sample, variant), runtime)
    kinds = Counter(node.op_type for node in message_out.graph.node)
    return ExportReport(
        path=None if path is None else os.fspath(path),
        model=message_out,
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
        variant=variant,
        ort_path=os.fspath(mobile_paths(path)[0]) if mobile and path is not None else None,
        **_measured(comparison),
    )


def _check_options(opset: int, ir_version: int) -> None:
    for name, value, allowed in (("opset", opset, OPSETS), ("ir_version", ir_version, IR_VERSIONS)):
        if not isinstance(value, int) or isinstance(value, bool) or value not in allowed:
            message = (
                f"export: {name} must be from {allowed.start} to {allowed.stop - 1}, got {value!r}"
            )
            raise InvalidArgumentError(message)


def _kind(**chosen: bool) -> str | None:
    kinds = [kind for kind in KINDS if chosen[kind]]
    if len(kinds) > 1:
        message = f"export: a file has one precision; got {' and '.join(kinds)}"
        raise InvalidArgumentError(message)
    return kinds[0] if kinds else None


def _smaller(
    kind: str,
    written: Written,
    serialised: bytes,
    program: Program,
    sample: Mapping[str, Any] | None,
    examples: list[dict[str, Array]] | None,
) -> tuple[Any, bytes, VariantReport]:
    """The file in another precision, and what that costs."""
    if examples is not None:
        calibration, feeds, compared = held_out(examples)
    else:
        calibration, feeds = [], feeds_of(program, sample)
        compared = "random" if sample is None else "sample"
    made = make_variant(kind, written.model, calibration)
    check_structure(made.model)
    small = made.model.SerializeToString(deterministic=True)
    exact = open_session(serialised)
    outputs = measure(
        kind,
        [written.output_names[name] for name in program.outputs],
        feeds,
        exact,
        open_session(small),
    )
    notes = made.notes
    if kind == "float16":
        watching, names = watched(made.model, written.model)
        notes += overflows(feeds, exact, open_session(watching.SerializeToString()), names)
    report = VariantReport(
        kind,
        outputs,
        compared,
        len(feeds),
        len(calibration),
        len(serialised),
        len(small),
        notes,
    )
    return made.model, small, report


def _mobile(
    serialised: bytes,
    program: Program,
    sample: Mapping[str, Any] | None,
    path: str,
    variant: VariantReport | None,
) -> dict[Path, bytes]:
    """The `.ort` file and its list of operators; it gives what the ONNX file gives."""
    made = to_mobile(serialised)
    # A sum in another order may round to the next of 256 steps.
    slack = max(one.relative for one in variant.outputs.values()) if variant else 0.0
    first, second = open_session(serialised), open_session(made.content)
    for given in feeds_of(program, sample):
        for name, a, b in zip(
            program.outputs, run_session(first, given), run_session(second, given), strict=True
        ):
            if a.dtype != b.dtype or a.shape != b.shape or not same(a, b, slack):
                message = f"export: output {name!r} of the .ort file differs from the ONNX file's"
                raise InternalError(message)
    model, operators = mobile_paths(path)
    return {model: made.content, operators: made.operators.encode()}


def _page(
    program: Program,
    written: Written,
    serialised: bytes,
    sample: Mapping[str, Any] | None,
    variant: VariantReport | None,
) -> Page:
    renamed = written.output_names
    cases = [
        (
            dict(zip(program.inputs, arrays, strict=True)),
            {renamed[name]: a for name, a in zip(program.outputs, results, strict=True)},
        )
        for arrays, results in runs_of(program, sample)
    ]
    tolerance = _PAGE_TOLERANCE
    about = f"signature {program.signature}, {len(serialised):,} bytes"
    if variant is not None:
        tolerance += 2 * max(one.relative for one in variant.outputs.values())
        about += f", {variant.kind}"
    return Page(
        program.source,
        about,
        serialised,
        program.inputs,
        {renamed[name]: spec for name, spec in program.outputs.items()},
        cases,
        tolerance,
    )


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
