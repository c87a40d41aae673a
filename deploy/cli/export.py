"""`pinnace export`: a SavedModel as a verified ONNX file."""

# No `from __future__ import annotations`: typer reads the annotations.
from pathlib import Path
from typing import Annotated

import typer


def export(
    model: Annotated[Path, typer.Argument(help="The SavedModel's folder.")],
    output: Annotated[Path, typer.Argument(help="The ONNX file to write.")],
    signature: Annotated[str, typer.Option(help="Which signature.")] = "serving_default",
    opset: Annotated[int, typer.Option(help="ONNX opset version.")] = 18,
    ir_version: Annotated[int, typer.Option(help="ONNX IR version.")] = 8,
) -> None:
    """Convert MODEL to ONNX, check it, run it in ONNX Runtime and compare."""
    from rich.console import Console

    from pinnace.deploy import onnx

    report = onnx.export(model, output, signature=signature, opset=opset, ir_version=ir_version)
    Console().print(
        f"{output}: {report.node_count} nodes, opset {opset}, checked against ONNX Runtime, "
        f"largest difference {report.largest_difference:.1e}",
        highlight=False,
        soft_wrap=True,
    )
