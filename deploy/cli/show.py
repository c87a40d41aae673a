"""`pinnace show`: describes a SavedModel without running it."""

# No `from __future__ import annotations`: typer reads the annotations.
import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pinnace.deploy.cli.show_metadata import metadata_in, metadata_json, print_metadata
from pinnace.deploy.cli.terminal import Terminal, print_json, size_text
from pinnace.deploy.models.finding import find_model, unknown_name
from pinnace.deploy.models.kinds import FOREST, FROZEN, ONNX, SAVED_MODEL, is_rewritten
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.visible_text import visible

if TYPE_CHECKING:
    from pinnace.saved_model.inspection import ModelReport

_LARGEST = 8
_OPS = 12


def show(
    model: Annotated[
        Path | None,
        typer.Argument(
            help="A SavedModel's or ydf's folder, a .keras, .h5, .onnx, .tflite, jax.export or .pb "
            "file, or a model.json of TensorFlow.js.",
            show_default=False,
        ),
    ] = None,
    tags: Annotated[
        str | None,
        typer.Option(
            "--tags",
            "--tag_set",
            help="Tag set, comma-separated; the only one if left out.",
            metavar="TAGS",
        ),
    ] = None,
    graph: Annotated[
        str | None,
        typer.Option(help="Print the graph of this signature as text.", metavar="SIGNATURE"),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(help="Write that graph as a picture: one HTML file.", metavar="FILE"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="List every op, variable, function and file.")
    ] = False,
    machine: Annotated[
        bool,
        typer.Option(
            "--machine", help="Instead of MODEL: what machine code runs here, or why none."
        ),
    ] = False,
) -> None:
    """Look at MODEL without running it: signatures, ops, variables, functions, assets.

    With --graph SIGNATURE its graph as text; with --html FILE as a picture to open in a browser.
    With --machine, and no MODEL, which machine code of the installation runs on this machine.
    """
    if machine == (model is not None):
        raise typer.BadParameter("give a MODEL or --machine, one of them")
    if model is None:
        _show_machine(as_json)
        return
    # A forest's graph is shown only if it is asked for.
    wanted = () if graph is not None or html is not None else (FOREST,)
    folder, kind = find_model(model, (SAVED_MODEL, FROZEN, ONNX, *wanted))
    if kind == FOREST:
        from pinnace.deploy.cli.forest_folders import show_forest

        show_forest(folder, as_json=as_json, everything=everything)
        return
    if kind == ONNX:
        from pinnace.deploy.cli.onnx_files import show_onnx

        for option, value in (("--graph", graph), ("--html", html), ("--tags", tags)):
            if value is not None:
                raise InvalidArgumentError(f"{option} is for SavedModels; {folder} is ONNX")
        show_onnx(folder, as_json=as_json, everything=everything)
        return
    chosen = tags.split(",") if tags else None
    if graph is not None or html is not None:
        _show_graph(folder, graph, html, chosen)
        return
    from pinnace.saved_model.inspection import inspect

    report = inspect(folder, chosen)
    metadata = metadata_in(folder)
    if as_json:
        more = {} if metadata is None else {"metadata": metadata_json(metadata)}
        print_json({**_report_json(report), **more})
        return
    terminal = Terminal()
    written = ", ".join(filter(None, (report.writer, report.keras)))
    terminal.heading(
        str(model if model.is_file() or is_rewritten(model) else folder),
        f"{', '.join(report.tags) or 'no tags'} · {report.format} · by {written}",
    )
    _print_signatures(terminal, report)
    print_metadata(terminal, metadata)
    _print_ops(terminal, report, everything)
    _print_variables(terminal, report, everything)
    _print_functions(terminal, report, everything)
    _print_files(terminal, report, everything)
    for problem in report.problems:
        terminal.line(f"problem: {problem}", "red")
    _print_readiness(terminal, report)


def _report_json(report: "ModelReport") -> dict[str, object]:
    return {
        **dataclasses.asdict(report),
        "node_count": report.node_count,
        "variable_bytes": report.variable_bytes,
        "unsupported": [op.name for op in report.unsupported],
    }


def _show_machine(as_json: bool) -> None:
    from pinnace.engine.ahead import processors, reading
    from pinnace.engine.codegen import kernels
    from pinnace.framework import config

    kernels.are_there()  # loads the installed machine code
    library, reason = reading.installed()
    if not config.settings.fusion:
        library, reason = None, "settings: fusion is off"
    family = processors.family()
    if as_json:
        told: dict[str, object] = {"processor": family, "library": None, "kernels": 0}
        if library is not None:
            told |= {"library": library.processor, "kernels": len(library.kernels)}
        print_json({**told, "reason": reason})
        return
    terminal = Terminal()
    terminal.line(f"processor: {family}")
    if library is None:
        terminal.line(f"machine code of the installation: not used, {reason}", "yellow")
    else:
        count = len(library.kernels)
        terminal.line(f"machine code of the installation: {library.processor}, {count} kernels")


def _show_graph(
    folder: Path, signature: str | None, html: Path | None, tags: list[str] | None
) -> None:
    from pinnace.saved_model.inspection import graph_page, graph_text, inspect
    from pinnace.storage.atomic import write_file

    known = [one.name for one in inspect(folder, tags).signatures]
    chosen = signature or ("serving_default" if "serving_default" in known else "")
    if not chosen and len(known) == 1:
        chosen = known[0]
    if chosen not in known:
        raise unknown_name("signature", chosen, known, folder)
    if html is None:
        sys.stdout.write(visible(graph_text(folder, chosen, tags)))
        return
    page = graph_page(folder, chosen, tags).encode()
    write_file(html, page)
    Terminal().line(f"{html}: {size_text(len(page))}, open it in a browser")


def _print_signatures(terminal: Terminal, report: "ModelReport") -> None:
    rows = []
    for signature in report.signatures:
        tensors = [("in", tensor) for tensor in signature.inputs]
        tensors += [("out", tensor) for tensor in signature.outputs]
        for index, (way, tensor) in enumerate(tensors):
            name = signature.name if index == 0 else ""
            rows.append((name, way, tensor.name, tensor.dtype, tensor.shape))
        if not tensors:
            rows.append((signature.name, "", "", "", ""))
    if not rows:
        terminal.line("no signatures")
    terminal.table(("signature", "", "name", "dtype", "shape"), rows)


def _print_ops(terminal: Terminal, report: "ModelReport", everything: bool) -> None:
    missing = report.unsupported
    terminal.heading(
        "ops",
        f"{report.node_count} nodes of {len(report.ops)} ops, "
        + (f"{len(missing)} of them not supported here" if missing else "all supported"),
    )
    if everything:
        rows = [
            (op.name, str(op.count), "" if op.supported else f"not supported: {op.example}")
            for op in report.ops
        ]
        styles = ["" if op.supported else "red" for op in report.ops]
        terminal.table(("op", "nodes", ""), rows, right=(1,), styles=styles)
        return
    common = ", ".join(f"{op.name} {op.count}" for op in report.ops[:_OPS])
    more = f", and {len(report.ops) - _OPS} more (--all)" if len(report.ops) > _OPS else ""
    terminal.line(f"  {common}{more}")
    for op in missing:
        terminal.line(f"  not supported: {op.name} ({op.count}), as in {op.example}", "red")
    terminal.line()


def _print_readiness(terminal: Terminal, report: "ModelReport") -> None:
    """Print the messages of loading and running."""
    if report.load_error:
        terminal.heading("loading", "it cannot be loaded here")
        terminal.line(f"  {report.load_error}", "red")
        return
    unready = [one for one in report.signatures if one.problems]
    count = len(report.signatures)
    ready = f"{count - len(unready)} of {count} signatures can run" if unready else ""
    terminal.heading("loading", ready or "it loads, and every signature can run")
    for signature in unready:
        for problem in signature.problems:
            terminal.line(f"  {signature.name}: {problem}", "red")


def _print_variables(terminal: Terminal, report: "ModelReport", everything: bool) -> None:
    variables = report.variables
    count = sum(_elements(one.shape) for one in variables if one.dtype != "string")
    terminal.heading(
        "variables",
        f"{len(variables)}, {count:,} numbers, {size_text(report.variable_bytes)}"
        if variables
        else "none",
    )
    shown = variables if everything else sorted(variables, key=lambda one: -one.bytes)[:_LARGEST]
    rows = [
        (one.name, one.dtype, f"[{', '.join(map(str, one.shape))}]", size_text(one.bytes))
        for one in shown
    ]
    terminal.table(("variable", "dtype", "shape", "size"), rows, right=(3,))
    if len(shown) < len(variables):
        terminal.line(f"  the largest {len(shown)} of {len(variables)} (--all lists them)")


def _print_functions(terminal: Terminal, report: "ModelReport", everything: bool) -> None:
    if not report.functions:
        return
    traces = sum(len(one.traces) for one in report.functions)
    terminal.heading("functions", f"{len(report.functions)} by name, {traces} traces")
    for function in report.functions if everything else report.functions[:_LARGEST]:
        for trace in function.traces if everything else function.traces[:2]:
            terminal.line(f"  {function.path}{_cut(trace, everything)}")
        if not everything and len(function.traces) > 2:
            terminal.line(f"  {function.path}: {len(function.traces) - 2} more traces (--all)")
    if not everything and len(report.functions) > _LARGEST:
        terminal.line(f"  and {len(report.functions) - _LARGEST} more (--all)")
    terminal.line()


def _print_files(terminal: Terminal, report: "ModelReport", everything: bool) -> None:
    if report.assets:
        terminal.heading("assets", str(len(report.assets)))
        for asset in report.assets:
            size = "missing" if asset.bytes is None else size_text(asset.bytes)
            terminal.line(f"  {asset.name}: {size}", "" if asset.bytes is not None else "red")
        terminal.line()
    total = size_text(sum(report.file_bytes.values()))
    terminal.heading("files", f"{len(report.file_bytes)}, {total}")
    if everything:
        rows = [(name, size_text(size)) for name, size in report.file_bytes.items()]
        terminal.table(("file", "size"), rows, right=(1,))


def _elements(shape: Sequence[int]) -> int:
    total = 1
    for size in shape:
        total *= size
    return total


def _cut(text: str, everything: bool) -> str:
    most = 150
    return text if everything or len(text) <= most else f"{text[:most]}…"
