"""`pinnace export --tfjs`: the options of TensorFlow.js exports, and their implementation."""

# No `from __future__ import annotations`: typer reads the annotations.
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from pinnace.deploy.cli.export_page import page_line
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.visible_text import visible

Tfjs = Annotated[
    bool,
    typer.Option("--tfjs", help="Write a graph model of TensorFlow.js into the folder OUTPUT."),
]
TfjsLayers = Annotated[
    bool,
    typer.Option(
        "--tfjs-layers", help="Write a Keras model as a layers model of TensorFlow.js instead."
    ),
]
TfjsRuntime = Annotated[
    Path | None,
    typer.Option(help="Where @tensorflow/tfjs is, if not in node_modules here.", metavar="FOLDER"),
]
Quantize = Annotated[
    str | None,
    typer.Option(help="How --tfjs stores weights: float16, uint8 or uint16.", metavar="TYPE"),
]
ShardBytes = Annotated[
    int, typer.Option(help="Size of a file of weights of --tfjs.", metavar="BYTES")
]
StructuredOutputs = Annotated[
    bool,
    typer.Option("--structured-outputs", help="With --tfjs, predict() gives outputs by name."),
]

# Options of both graph models and layers models.
_LAYERS = (
    *("quantize", "shard_bytes", "runtime", "sample", "report", "verify_timeout_s"),
    *("page", "labels", "normalization"),
)


def export_tfjs(
    source: object,
    output: Path,
    *,
    layers: bool,
    others: Mapping[str, Any],
    lite: Mapping[str, Any],
    **options: Any,
) -> None:
    """Write OUTPUT, and print a summary.

    Args:
        source: the model: a path, or a loaded function.
        output: the output folder.
        layers: whether to write a layers model.
        others: options of ONNX files -> their value; None or False if not given.
        lite: options of .tflite files -> their values, in the same form.
        **options: options of `pinnace.deploy.tfjs.export`.

    Raises:
        InvalidArgumentError: an option of another format was given.
    """
    from pinnace.deploy import tfjs

    for name, value in others.items():
        if value:
            raise InvalidArgumentError(f"--{name} is for ONNX files, not for --tfjs")
    for name, value in lite.items():
        if value:
            raise InvalidArgumentError(f"--{name} is for .tflite files, not for --tfjs")
    if layers:
        for name in options.keys() - {*_LAYERS, "signature", "verify", "tags"}:
            if options[name]:
                option = name.replace("_", "-")
                raise InvalidArgumentError(f"--{option} is for graph models, not --tfjs-layers")
        told = tfjs.export_layers(source, output, **{name: options[name] for name in _LAYERS})
    else:
        told = tfjs.export(source, output, **options)
    for line in told.lines():
        typer.echo(visible(line))
    if options["page"]:
        typer.echo(visible(page_line(output)))
