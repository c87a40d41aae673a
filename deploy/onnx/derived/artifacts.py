"""Files derived from a verified one: a smaller variant, ORT's format, a web page."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import onnx

from pinnace.deploy.onnx.derived.accuracy import VariantReport, measure, overflows
from pinnace.deploy.onnx.derived.variants import make_variant, mobile_paths, to_mobile, watched
from pinnace.deploy.onnx.verification.checking import feeds_of, open_session, run_session, same
from pinnace.deploy.page.contents import Page
from pinnace.deploy.program.pixels import Scaling
from pinnace.deploy.program.sources import Program
from pinnace.deploy.sampling.calibration import held_out
from pinnace.deploy.sampling.samples import Run, more_of
from pinnace.framework.errors import InternalError
from pinnace.framework.tensor import Array

# WebAssembly's kernels sum in another order than a PC's; a variant adds twice its own error.
_PAGE_TOLERANCE = 1e-4
# The number of random examples to compare a variant on without given ones, and their time limit.
_ROWS, _MEASURED_S = 100, 3.0
# A variant must be smaller than this share of the float32 file.
_HARDLY = 0.9


def smaller_form(
    kind: str,
    program: Program,
    model: onnx.ModelProto,
    names: Sequence[str],
    feeds: Sequence[Mapping[str, Array]],
    drawn: str,
    examples: list[dict[str, Array]] | None,
) -> tuple[onnx.ModelProto, VariantReport]:
    """The model in another precision, and its accuracy.

    Args:
        kind: one of `variants.KINDS`.
        program: the program to draw further inputs for, if they were drawn.
        model: the float32 model.
        names: the outputs' names, in order.
        feeds: inputs to compare on.
        drawn: the kind of these inputs.
        examples: the calibration examples; some of them are compared on instead of `feeds`.
    """
    calibration: list[dict[str, Array]] = []
    compared = drawn
    if examples is not None:
        calibration, feeds, compared = held_out(examples)
    serialised = model.SerializeToString(deterministic=True)
    made = make_variant(kind, model, calibration)
    small = made.model.SerializeToString(deterministic=True)
    exact = open_session(serialised)
    compared_feeds: Iterable[Mapping[str, Array]] = feeds
    if compared == "random":
        compared_feeds = more_of(program, feeds, _ROWS, _MEASURED_S)
    outputs = measure(kind, names, compared_feeds, exact, open_session(small))
    notes = made.notes
    if kind == "int8" and len(small) > _HARDLY * len(serialised):
        hint = "int8_static (--int8-static --calibration FILE.npz) takes convolutions, too"
        notes += (f"hardly smaller than float32: int8 takes matrix products alone; {hint}",)
    if kind == "float16":
        watching, inner = watched(made.model, model)
        notes += overflows(feeds, exact, open_session(watching.SerializeToString()), inner)
    report = VariantReport(
        kind, outputs, compared, len(feeds), len(calibration), len(serialised), len(small), notes
    )
    return made.model, report


def mobile_files(
    serialised: bytes,
    program: Program,
    runs: Sequence[Run],
    path: str | os.PathLike[str],
    variant: VariantReport | None,
) -> dict[Path, bytes]:
    """The `.ort` file and its list of operators, checked against the ONNX file."""
    made = to_mobile(serialised)
    # Sums in another order may round to the next of 256 steps.
    slack = max(one.relative for one in variant.outputs.values()) if variant else 0.0
    first, second = open_session(serialised), open_session(made.content)
    for given in feeds_of(program, runs):
        for name, a, b in zip(
            program.outputs, run_session(first, given), run_session(second, given), strict=True
        ):
            if a.dtype != b.dtype or a.shape != b.shape or not same(a, b, slack):
                raise InternalError(
                    f"export: output {name!r} of the .ort file differs from the ONNX file's"
                )
    model, operators = mobile_paths(path)
    return {model: made.content, operators: made.operators.encode()}


def page_of(
    serialised: bytes,
    program: Program,
    names: Mapping[str, str],
    runs: Sequence[Run],
    variant: VariantReport | None,
    labels: Mapping[str, Sequence[str]],
    pixels: Mapping[str, Scaling],
) -> Page:
    """Build the contents of a page.

    Args:
        serialised: the file's bytes.
        program: the model.
        names: name of an output in the signature -> name in the file.
        runs: inputs, and the model's outputs for them.
        variant: the accuracy of a variant; None for float32.
        labels: output of the signature -> names of its entries.
        pixels: input -> its scaling of pixels.
    """
    cases = [
        (
            dict(zip(program.inputs, run.inputs, strict=True)),
            {names[name]: a for name, a in zip(program.outputs, run.outputs, strict=True)},
        )
        for run in runs
    ]
    tolerance = _PAGE_TOLERANCE
    about = f"signature {program.signature}, {len(serialised):,} bytes"
    if variant is not None:
        tolerance += 2 * max(one.relative for one in variant.outputs.values())
        about += f", {variant.kind}"
    return Page(
        title=program.source,
        about=about,
        model="model.onnx",
        content=serialised,
        inputs=program.inputs,
        outputs={names[name]: spec for name, spec in program.outputs.items()},
        cases=cases,
        tolerance=tolerance,
        labels={names[name]: told for name, told in labels.items()},
        pixels=pixels,
    )
