"""`pinnace show`: what a SavedModel is, without running it."""

# No `from __future__ import annotations`: typer reads the annotations.
import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from pinnace.saved_model.inspection import ModelReport


def show(
    model: Annotated[Path, typer.Argument(help="The SavedModel's folder.")],
    tags: Annotated[
        str | None, typer.Option(help="Tag set, comma-separated; the only one if left out.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="List every op, variable and function too.")
    ] = False,
) -> None:
    """Print the signatures of MODEL as a table, and what else is in it."""
    from pinnace.saved_model.inspection import inspect

    report = inspect(model, tags.split(",") if tags else None)
    if as_json:
        print(json.dumps(dataclasses.asdict(report), indent=2))  # noqa: T201 (this is the output)
        return
    from rich.console import Console

    console = Console(highlight=False)
    _print_signatures(console, report)
    _print_summary(console, report)
    if everything:
        _print_details(console, report)
    for problem in report.problems:
        console.print(f"[red]problem[/] {problem}", soft_wrap=True)


def _print_signatures(console: "Console", report: "ModelReport") -> None:
    from rich.table import Table

    table = Table(title=f"{report.path}  [dim]({', '.join(report.tags)}; {report.writer})[/]")
    for column in ("signature", "", "name", "dtype", "shape"):
        table.add_column(column)
    for signature in report.signatures:
        rows = [("in", tensor) for tensor in signature.inputs]
        rows += [("out", tensor) for tensor in signature.outputs]
        for index, (way, tensor) in enumerate(rows):
            last = index == len(rows) - 1
            name = signature.name if index == 0 else ""
            shape = tensor.shape.replace("[", r"\[")
            table.add_row(name, way, tensor.name, tensor.dtype, shape, end_section=last)
    console.print(table)


def _print_summary(console: "Console", report: "ModelReport") -> None:
    nodes = sum(op.count for op in report.ops)
    size = sum(variable.bytes for variable in report.variables)
    console.print(
        f"{nodes} nodes of {len(report.ops)} ops, {len(report.variables)} variables "
        f"({size / 1e6:.2f} MB), {len(report.functions)} functions, {len(report.assets)} assets"
    )
    missing = [op for op in report.ops if not op.supported]
    if missing:
        console.print("[yellow]not supported here:[/]", soft_wrap=True)
        for op in missing:
            console.print(f"  {op.name} ({op.count}), for example {op.example}", soft_wrap=True)


def _print_details(console: "Console", report: "ModelReport") -> None:
    from rich.table import Table

    ops = Table("op", "nodes", "supported", title="ops")
    for op in report.ops:
        ops.add_row(op.name, str(op.count), "yes" if op.supported else "[red]no[/]")
    console.print(ops)
    variables = Table("variable", "dtype", "shape", "bytes", title="variables")
    for variable in report.variables:
        shape = f"[{', '.join(map(str, variable.shape))}]"
        shape = shape.replace("[", r"\[")
        variables.add_row(variable.name, variable.dtype, shape, str(variable.bytes))
    console.print(variables)
    for function in report.functions:
        console.print(f"[bold]{function.path}[/]")
        for trace in function.traces:
            console.print(f"  {trace}", markup=False)
    for asset in report.assets:
        size = "missing" if asset.bytes is None else f"{asset.bytes} bytes"
        console.print(f"asset {asset.name}: {size}")
