"""`pinnace export`: a SavedModel as a verified ONNX file."""

# No `from __future__ import annotations`: typer reads the annotations.
from pathlib import Path
from typing import Annotated

import typer


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
    web: Annotated[
        Path | None, typer.Option(help="Folder for a page that runs the model in the browser.")
    ] = None,
    web_runtime: Annotated[
        Path | None, typer.Option(help="Where onnxruntime-web is, if not in node_modules here.")
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Write what was done, or why not, to FILE.json or FILE.md."),
    ] = None,
) -> None:
    """Convert MODEL to ONNX, check it, run it in ONNX Runtime and compare."""
    from rich.console import Console

    from pinnace.deploy import onnx
    from pinnace.deploy.cli.models import find_model
    from pinnace.framework.errors import InvalidArgumentError

    if int8_static != (calibration is not None):
        raise InvalidArgumentError(
            "--int8-static and --calibration FILE.npz belong together: the ranges of the numbers "
            "come from examples"
        )
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
    )
    console = Console()
    console.print(
        f"{output}: {found.node_count} nodes, opset {opset}, checked against ONNX Runtime, "
        f"largest difference {found.largest_difference:.1e}",
        highlight=False,
        soft_wrap=True,
    )
    if found.data_path:
        console.print(f"{found.data_path}: its weights", highlight=False, soft_wrap=True)
    for line in found.variant.lines() if found.variant else ():
        console.print(line, highlight=False, soft_wrap=True, markup=False)
    if found.ort_path:
        console.print(f"{found.ort_path}: the same for phones", highlight=False, soft_wrap=True)
    if report is not None:
        console.print(f"{report}: nodes, runtimes, differences", highlight=False, soft_wrap=True)
    if web is not None:
        console.print(
            f"{web}: a page; look at it with: python -m http.server -d {web}",
            highlight=False,
            soft_wrap=True,
        )
