"""`pinnace export`: a SavedModel as a verified ONNX file."""

# No `from __future__ import annotations`: typer reads the annotations.
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pinnace.framework.visible_text import visible

if TYPE_CHECKING:
    from pinnace.deploy.onnx import ExportReport

# Of what is left out, that which somebody may miss.
_TOLD = frozenset({"Assert", "Print", "PrintV2"})


def export(
    model: Annotated[Path, typer.Argument(help="A SavedModel's folder, or a .keras or .h5 file.")],
    output: Annotated[Path, typer.Argument(help="The ONNX file to write.")],
    signature: Annotated[str, typer.Option(help="Which signature.")] = "serving_default",
    opset: Annotated[int, typer.Option(help="ONNX opset version.")] = 18,
    ir_version: Annotated[int, typer.Option(help="ONNX IR version.")] = 8,
    float16: Annotated[bool, typer.Option("--float16", help="Half precision inside.")] = False,
    int8: Annotated[
        bool, typer.Option("--int8", help="Weights of matrix products in 8 bits.")
    ] = False,
    int8_static: Annotated[
        bool, typer.Option("--int8-static", help="All in 8 bits; needs --calibration.")
    ] = False,
    calibration: Annotated[
        Path | None, typer.Option(help="Examples for --int8-static: .npz, arrays by input.")
    ] = None,
    external_data: Annotated[
        bool,
        typer.Option("--external-data", help="Weights in OUTPUT.data, as always above 2 GiB."),
    ] = False,
    ort: Annotated[
        bool, typer.Option("--ort", help="Write .ort for phones beside the file, too.")
    ] = False,
    profile: Annotated[
        str | None,
        typer.Option(help="Where it must run: server, node, browser, webgpu, phone, everywhere."),
    ] = None,
    web: Annotated[
        Path | None, typer.Option(help="Folder for a page that runs the model in the browser.")
    ] = None,
    web_runtime: Annotated[
        Path | None, typer.Option(help="Where onnxruntime-web is, if not in node_modules here.")
    ] = None,
    cut_strings: Annotated[
        bool,
        typer.Option(
            "--cut-strings",
            help="Take token ids instead of strings; write a tokenizer beside OUTPUT.",
        ),
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option(help="Write what was done, or why not, to FILE.json or FILE.md."),
    ] = None,
) -> None:
    """Convert MODEL to ONNX, check it, run it in ONNX Runtime and compare."""
    from pinnace.deploy import onnx
    from pinnace.deploy.cli.models import find_model
    from pinnace.framework.errors import InvalidArgumentError

    if int8_static != (calibration is not None):
        raise InvalidArgumentError(
            "--int8-static and --calibration FILE.npz belong together: the ranges of the numbers "
            "come from examples"
        )
    gc.freeze()  # what was imported stays: the collector need not look at it again
    try:
        found = onnx.export(
            find_model(model)[0],
            output,
            signature=signature,
            opset=opset,
            ir_version=ir_version,
            float16=float16,
            int8=int8,
            int8_static=calibration,
            external_data=external_data or None,
            ort=ort,
            web=web,
            web_runtime=web_runtime,
            report=report,
            profile=profile,
            cut_strings=cut_strings,
        )
    finally:
        gc.unfreeze()
    for line in _lines(found, output, opset):
        typer.echo(visible(line))
    if report is not None:
        typer.echo(visible(f"{report}: nodes, runtimes, differences"))
    if web is not None:
        typer.echo(visible(f"{web}: a page; look at it with: python -m http.server -d {web}"))


def _lines(found: "ExportReport", output: Path, opset: int) -> Iterator[str]:
    """What was made, and what was left out."""
    yield (
        f"{output}: {found.node_count} nodes, opset {opset}, checked against ONNX Runtime, "
        f"largest difference {found.largest_difference:.1e}"
    )
    effects = [f"{count} {op}" for op, count in found.dropped.items() if op in _TOLD]
    if effects:
        yield f"left out: {', '.join(effects)}; an ONNX model neither stops nor prints"
    yield from _tokenizer_lines(found)
    if found.data_path:
        yield f"{found.data_path}: its weights"
    yield from found.variant.lines() if found.variant else ()
    if found.ort_path:
        yield f"{found.ort_path}: the same for phones"


def _tokenizer_lines(found: "ExportReport") -> Iterator[str]:
    """What was cut off."""
    if found.tokenizer is None or found.tokenizer_path is None:
        return
    texts = ", ".join(found.tokenizer["inputs"])
    numbers = ", ".join(
        f"{name} ({found.inputs[name].text})" for name in found.tokenizer["outputs"]
    )
    yield (
        f"{found.tokenizer_path}: the strings are cut off; it makes {numbers} of {texts}; "
        "tokenizer.js and tokenizer.py beside it run it, checked against the model"
    )
