"""`pinnace export`: converts a SavedModel to a verified file of another format."""

# No `from __future__ import annotations`: typer reads the annotations.
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pinnace.deploy.cli.export_page import (
    Labels,
    Metadata,
    Normalization,
    Page,
    Vocabulary,
    Web,
    WebRuntime,
    one_or_named,
    page_line,
    page_place,
    scalings,
)
from pinnace.deploy.cli.export_tfjs import (
    Quantize,
    ShardBytes,
    StructuredOutputs,
    Tfjs,
    TfjsLayers,
    TfjsRuntime,
    export_tfjs,
)
from pinnace.framework.visible_text import visible
from pinnace.ops import registry

if TYPE_CHECKING:
    from pinnace.deploy.onnx import ExportReport


def export(
    model: Annotated[
        Path,
        typer.Argument(
            help="A SavedModel's folder, or a .keras, .h5, .tflite or jax.export file, or a frozen "
            ".pb."
        ),
    ],
    output: Annotated[
        Path,
        typer.Argument(
            help="The .onnx file to write, or .tflite for LiteRT; a folder with --tfjs."
        ),
    ],
    signature: Annotated[
        str,
        typer.Option("--signature", "--signature_def", help="Which signature, if there are more."),
    ] = "serving_default",
    tags: Annotated[
        str | None,
        typer.Option("--tags", "--tag_set", help="Tag set, comma-separated.", metavar="TAGS"),
    ] = None,
    shapes: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            help="NAME=SHAPE, such as image=?,224,224,3: the shape of an input, where the model "
            "does not tell it. May be repeated.",
            metavar="NAME=SHAPE",
        ),
    ] = None,
    channels_first: Annotated[
        list[str] | None,
        typer.Option(
            "--channels-first",
            help="The file takes this input as [batch, channels, ...]. May be repeated.",
            metavar="NAME",
        ),
    ] = None,
    inputs: Annotated[
        str | None,
        typer.Option(
            help="Of a frozen graph, the tensors that are given, comma-separated.", metavar="NAMES"
        ),
    ] = None,
    outputs: Annotated[
        str | None,
        typer.Option(
            help="Of a frozen graph, the tensors that are wanted, comma-separated.", metavar="NAMES"
        ),
    ] = None,
    sample: Annotated[
        Path | None,
        typer.Option(help="Inputs to compare on: .npz, arrays by input.", metavar="FILE"),
    ] = None,
    opset: Annotated[int, typer.Option(help="ONNX opset version.")] = 18,
    ir_version: Annotated[int, typer.Option(help="ONNX IR version.")] = 8,
    float16: Annotated[bool, typer.Option("--float16", help="Half precision inside.")] = False,
    int8: Annotated[
        bool, typer.Option("--int8", help="Weights of matrix products in 8 bits.")
    ] = False,
    int8_static: Annotated[
        bool, typer.Option("--int8-static", help="All in 8 bits; needs --calibration.")
    ] = False,
    int16_static: Annotated[
        bool,
        typer.Option(
            "--int16-static",
            help="Of .tflite: activations in 16 bits, weights in 8; needs --calibration.",
        ),
    ] = False,
    calibration: Annotated[
        Path | None,
        typer.Option(help="Examples for --int8-static, --int16-static: .npz, arrays by input."),
    ] = None,
    external_data: Annotated[
        bool, typer.Option("--external-data", help="Weights in OUTPUT.data, as always above 2 GiB.")
    ] = False,
    ort: Annotated[
        bool, typer.Option("--ort", help="Write .ort for phones beside the file, too.")
    ] = False,
    profile: Annotated[
        str | None,
        typer.Option(help="Where it must run: server, node, browser, webgpu, phone, everywhere."),
    ] = None,
    page: Page = False,
    web: Web = None,
    web_runtime: WebRuntime = None,
    labels: Labels = None,
    normalization: Normalization = None,
    vocabulary: Vocabulary = None,
    metadata: Metadata = None,
    cut_strings: Annotated[
        bool,
        typer.Option(
            "--cut-strings",
            help="Take token ids instead of strings; write a tokenizer beside OUTPUT.",
        ),
    ] = False,
    allow_random: Annotated[
        bool,
        typer.Option(
            "--allow-random", help="ONNX Runtime draws numbers that have no seed of the model's."
        ),
    ] = False,
    input_type: Annotated[
        str | None,
        typer.Option(
            help="Of .tflite: int8, uint8 (--int8-static) or int16 (--int16-static) inputs.",
            metavar="TYPE",
        ),
    ] = None,
    output_type: Annotated[
        str | None,
        typer.Option(
            help="Of .tflite: int8, uint8 (--int8-static) or int16 (--int16-static) outputs.",
            metavar="TYPE",
        ),
    ] = None,
    allow_flex: Annotated[
        bool,
        typer.Option(
            "--allow-flex",
            help="Of .tflite: what has no operator stays TensorFlow's op, which few apps have.",
        ),
    ] = False,
    fused_lstm: Annotated[
        bool,
        typer.Option(
            "--fused-lstm",
            help="Of .tflite: LSTMs as one operator, not for LiteRT.js nor CompiledModel.",
        ),
    ] = False,
    verify_timeout: Annotated[
        float, typer.Option(help="Longest run of the check, in seconds.", metavar="SECONDS")
    ] = 60.0,
    report: Annotated[
        Path | None, typer.Option(help="Write what was done, or why not, to FILE.json or FILE.md.")
    ] = None,
    tfjs: Tfjs = False,
    tfjs_layers: TfjsLayers = False,
    tfjs_runtime: TfjsRuntime = None,
    quantize: Quantize = None,
    shard_bytes: ShardBytes = 4 << 20,
    structured_outputs: StructuredOutputs = False,
) -> None:
    """Convert MODEL to ONNX, .tflite or, with --tfjs, TensorFlow.js, run it there and compare."""
    from pinnace.deploy.cli.export_lite import ENDING, export_lite, refuse_lite_options
    from pinnace.deploy.cli.inputs import read_arrays, shapes_of
    from pinnace.framework.errors import InvalidArgumentError

    if tfjs or tfjs_layers:
        export_tfjs(
            model if tfjs_layers else _found(model, inputs, outputs),
            output,
            layers=tfjs_layers,
            others={
                "opset": opset != 18,
                "ir-version": ir_version != 8,
                "float16": float16,
                "int8": int8,
                "int8-static": int8_static,
                "int16-static": int16_static,
                "calibration": calibration,
                "external-data": external_data,
                "ort": ort,
                "profile": profile,
                "web": web,
                "web-runtime": web_runtime,
                "cut-strings": cut_strings,
                "channels-first": channels_first,
            },
            lite={"vocabulary": vocabulary, "metadata": metadata},
            page=page,
            labels=one_or_named("labels", labels),
            normalization=scalings(normalization),
            signature=signature,
            quantize=quantize,
            shard_bytes=shard_bytes,
            runtime=tfjs_runtime,
            sample=None if sample is None else read_arrays(sample),
            report=report,
            verify_timeout_s=verify_timeout,
            tags=tags.split(",") if tags else None,
            shapes=shapes_of(shapes or []),
            allow_random=allow_random,
            structured_outputs=structured_outputs,
        )
        return
    if tfjs_runtime or quantize or structured_outputs or shard_bytes != 4 << 20:
        raise InvalidArgumentError("--quantize, --shard-bytes and the like belong to --tfjs")
    if (int8_static or int16_static) != (calibration is not None):
        flag = "--int16-static" if int16_static else "--int8-static"
        raise InvalidArgumentError(
            f"{flag} and --calibration FILE.npz belong together: the ranges of the numbers come "
            "from examples"
        )
    if output.suffix.lower() == ENDING:
        export_lite(
            _found(model, inputs, outputs),
            output,
            foreign={
                "--opset": opset != 18,
                "--ir-version": ir_version != 8,
                "--channels-first": bool(channels_first),
                "--external-data": external_data,
                "--ort": ort,
                "--profile": profile is not None,
                "--cut-strings": cut_strings,
                "--allow-random": allow_random,
            },
            signature=signature,
            tags=tags,
            shapes=shapes_of(shapes or []),
            sample=None if sample is None else read_arrays(sample),
            float16=float16,
            int8=int8,
            int8_static=calibration if int8_static else None,
            int16_static=calibration if int16_static else None,
            input_type=input_type,
            output_type=output_type,
            allow_flex=allow_flex,
            fused_lstm=fused_lstm,
            verify_timeout_s=verify_timeout,
            report=report,
            web=page_place(output, web, page=page),
            web_runtime=web_runtime,
            labels=one_or_named("labels", labels),
            normalization=scalings(normalization),
            vocabulary=one_or_named("vocabulary", vocabulary),
            metadata=metadata,
        )
        return
    refuse_lite_options(
        output,
        {
            "--input-type": input_type is not None,
            "--output-type": output_type is not None,
            "--allow-flex": allow_flex,
            "--fused-lstm": fused_lstm,
            "--int16-static": int16_static,
            "--vocabulary": vocabulary is not None,
            "--metadata": metadata is not None,
        },
    )
    web = page_place(output, web, page=page)
    from pinnace.deploy import onnx  # needs the package onnx

    gc.freeze()  # imported objects stay alive; the collector need not scan them
    try:
        found = onnx.export(
            _found(model, inputs, outputs),
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
            labels=one_or_named("labels", labels),
            normalization=scalings(normalization),
            report=report,
            profile=profile,
            cut_strings=cut_strings,
            verify_timeout_s=verify_timeout,
            tags=tags.split(",") if tags else None,
            shapes=shapes_of(shapes or []),
            sample=None if sample is None else read_arrays(sample),
            channels_first=tuple(channels_first or ()),
            allow_random=allow_random,
        )
    finally:
        gc.unfreeze()
    for line in _lines(found, output, opset):
        typer.echo(visible(line))
    if report is not None:
        typer.echo(visible(f"{report}: nodes, runtimes, differences"))
    if web is not None:
        typer.echo(visible(page_line(web)))


def _found(model: Path, inputs: str | None, outputs: str | None) -> object:
    """The source of the export: the folder of a SavedModel, or the function of a frozen graph."""
    from pinnace.deploy.cli.inputs import names_of
    from pinnace.deploy.models.finding import find_model
    from pinnace.deploy.models.kinds import FROZEN, SAVED_MODEL
    from pinnace.framework.errors import InvalidArgumentError

    path, kind = find_model(model, (SAVED_MODEL, FROZEN))
    if kind == FROZEN:
        from pinnace.saved_model.frozen_graphs import load_frozen_graph

        # ONNX allows names without `:0`, so first outputs are named after their nodes.
        given, wanted = (
            None if one is None else [name.removesuffix(":0") for name in names_of(one)]
            for one in (inputs, outputs)
        )
        return load_frozen_graph(path, given, wanted)
    if inputs is not None or outputs is not None:
        raise InvalidArgumentError(
            f"{path} has signatures, which say its inputs and outputs; --inputs and --outputs are "
            "for frozen graphs\n  Try: --input NAME=SHAPE for the shape of an input"
        )
    return path


def _lines(found: "ExportReport", output: Path, opset: int) -> Iterator[str]:
    """The lines of a summary of the export."""
    if found.variant is None:
        largest = found.largest_difference
        yield (
            f"{output}: {found.node_count} nodes, opset {opset}, checked against ONNX Runtime"
            + ("" if largest is None else f", largest difference {largest:.1e}")
        )
    else:
        yield (
            f"{output}: {found.node_count} nodes, opset {opset}, as {found.variant.kind}; differs "
            f"from float32 by {found.variant.largest_relative:.2%} of an output's largest value; "
            f"float32 itself agreed with ONNX Runtime to {found.largest_difference:.1e}"
        )
    if found.drawn:
        yield f"drawn anew in each run, and compared by shape: {', '.join(found.drawn)}"
    for kind, said in found.empty.items():
        yield f"not as the model on inputs with {kind}: {said}"
    for name in found.channels_first:
        yield f"input {name} is {found.inputs[name].text}: channels first"
    effects = [f"{count} {op}" for op, count in found.dropped.items() if _is_missed(op)]
    if effects:
        yield f"left out: {', '.join(effects)}; an ONNX model neither stops nor prints"
    yield from _tokenizer_lines(found)
    if found.data_path:
        yield f"{found.data_path}: its weights"
    yield from found.variant.lines() if found.variant else ()
    if found.ort_path:
        yield f"{found.ort_path}: the same for phones"


def _tokenizer_lines(found: "ExportReport") -> Iterator[str]:
    """The lines about the tokenizer that was split off."""
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


def _is_missed(op: str) -> bool:
    """Whether users notice that the op is left out: checks and prints."""
    found = registry.at_hand(op)
    return found is not None and found.effect == "io"
