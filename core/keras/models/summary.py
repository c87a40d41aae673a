"""Summary: a model as a table of layers, shapes and numbers of weights."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.framework.specs import TensorSpec
from pinnace.keras.weights import count_numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.keras.layer import Layer
    from pinnace.keras.training.compile import Compiled

Row = tuple[str, ...]


def print_summary(
    model: Compiled,
    *,
    line_length: int | None = None,
    print_fn: Callable[..., Any] | None = None,
    expand_nested: bool = False,
    show_trainable: bool = False,
) -> None:
    """Print a model's layers: a rich table on a terminal, plain text elsewhere.

    Args:
        model: what to show.
        line_length: width of the table.
        print_fn: takes the text, instead of printing it.
        expand_nested: whether layers inside layers are shown.
        show_trainable: whether a column says what is trainable.
    """
    heads: Row = ("Layer (type)", "Output Shape", "Param #")
    if show_trainable:
        heads = (*heads, "Trainable")
    rows = _rows(model, 0, expand_nested, show_trainable)
    title = f'Model: "{model.name}"'
    totals = _totals(model)
    if print_fn is None and sys.stdout.isatty():
        _print_rich(title, heads, rows, totals, line_length)
        return
    text = "\n".join([title, *_plain(heads, rows, line_length), *totals])
    if print_fn is not None:
        print_fn(text)
    else:
        sys.stdout.write(f"{text}\n")


def _rows(model: Any, depth: int, expand: bool, trainable: bool) -> list[Row]:
    rows: list[Row] = []
    for layer in model.layers:
        inner = getattr(layer, "layers", None)
        name = f"{'  ' * depth}{layer.name} ({type(layer).__name__})"
        count = count_numbers(layer.weights)
        row: Row = (name, _shape(layer), f"{count:,}" if layer.built else "? (not built)")
        rows.append((*row, "yes" if layer.trainable else "no") if trainable else row)
        if expand and inner:
            rows.extend(_rows(layer, depth + 1, expand, trainable))
    return rows


def _shape(layer: Layer) -> str:
    specs = layer._output_specs
    if specs is None and layer._nodes:
        specs = structure.map_structure(lambda x: x.spec, layer._nodes[0].outputs)
    if specs is None:
        return "?"
    shapes = [
        f"({', '.join(str(n) for n in spec.shape)}{',' if spec.shape.rank == 1 else ''})"
        for spec in structure.flatten(specs)
        if isinstance(spec, TensorSpec) and spec.shape.rank is not None
    ]
    return ", ".join(shapes) or "?"


def _totals(model: Compiled) -> list[str]:
    trained = model.trainable_weights
    others = model.non_trainable_weights
    lines = [(" Trainable params", trained), (" Non-trainable params", others)]
    every = [*trained, *others]
    optimizer = getattr(model, "optimizer", None)
    if optimizer is not None and optimizer.built:
        lines.append((" Optimizer params", optimizer.variables))
        every += optimizer.variables
    return [
        f"{name}: {count_numbers(variables):,} ({_bytes(variables)})"
        for name, variables in [(" Total params", every), *lines]
    ]


def _bytes(variables: list[Any]) -> str:
    size = float(sum(count_numbers([v]) * v.dtype.numpy.itemsize for v in variables))
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1024 or unit == "GB":
            return f"{size:.2f} {unit}"
        size /= 1024
    return ""


def _plain(heads: Row, rows: list[Row], line_length: int | None) -> list[str]:
    widths = [max(len(row[i]) for row in [heads, *rows]) + 2 for i in range(len(heads))]
    if line_length is not None:
        widths[0] += max(line_length - sum(widths), 0)
    line = "─" * sum(widths)
    lines = [line, _line(heads, widths), line]
    lines.extend(_line(row, widths) for row in rows)
    return [*lines, line]


def _line(row: Row, widths: list[int]) -> str:
    cells = [
        cell.rjust(width - 1) + " " if index == 2 else f" {cell}".ljust(width)
        for index, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "".join(cells).rstrip()


def _print_rich(
    title: str, heads: Row, rows: list[Row], totals: list[str], line_length: int | None
) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=line_length)
    table = Table(show_lines=True)
    for index, head in enumerate(heads):
        table.add_column(head, justify="right" if index == 2 else "left")
    for row in rows:
        table.add_row(*[Text(cell) for cell in row])
    console.print(Text(title, style="bold"))
    console.print(table)
    for line in totals:
        console.print(Text(line))
