"""Summary: a model as a table of layers, output shapes and numbers of parameters."""

from __future__ import annotations

import re
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.keras.forms import is_spec
from pinnace.keras.weights import count_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.keras.layer import Layer
    from pinnace.keras.models.model import Model

Row = tuple[str, ...]


def print_summary(
    model: Model,
    *,
    line_length: int | None = None,
    print_fn: Callable[..., Any] | None = None,
    expand_nested: bool = False,
    show_trainable: bool = False,
    layer_range: Sequence[str] | None = None,
) -> None:
    """Print a model's layers: a rich table on a terminal, plain text elsewhere.

    Args:
        model: the model to show.
        line_length: width of the table.
        print_fn: takes the text, instead of printing it.
        expand_nested: whether layers inside layers are shown.
        show_trainable: whether to show which layers are trainable, in a column.
        layer_range: names of the first and the last layer to show, as patterns.

    Raises:
        ValueError: `layer_range` is no pair of names that layers have.
    """
    heads, rows = table_of(model, expand_nested, show_trainable, layer_range)
    title = title_of(model)
    totals = _totals(model)
    if print_fn is None and sys.stdout.isatty():
        _print_rich(title, heads, rows, totals, line_length)
        return
    text = "\n".join([title, *_plain(heads, rows, line_length), *totals])
    if print_fn is not None:
        print_fn(text)
    else:
        sys.stdout.write(f"{text}\n")


def title_of(model: Any) -> str:
    """The line above the table."""
    return f'Model: "{model.name}"'


def table_of(
    model: Any,
    expand: bool = False,
    trainable: bool = False,
    layer_range: Sequence[str] | None = None,
) -> tuple[Row, list[Row]]:
    """The header and the rows of a model's table."""
    heads: Row = ("Layer (type)", "Output Shape", "Param #")
    sources = _sources(model)
    if sources is not None:
        heads = (*heads, "Connected to")
    if trainable:
        heads = (*heads, "Trainable")
    layers = model.layers
    if layer_range is not None:
        layers = _between(layers, layer_range)
    return heads, _rows(layers, (model,), expand, trainable, sources)


def _between(layers: list[Any], ends: Sequence[str]) -> list[Any]:
    if len(ends) != 2 or not all(isinstance(name, str) for name in ends):
        raise ValueError(f"summary: layer_range must be two names, got {ends!r}")
    found = [[i for i, layer in enumerate(layers) if re.match(name, layer.name)] for name in ends]
    for name, places in zip(ends, found, strict=True):
        if not places:
            raise ValueError(
                f"summary: layer_range must name layers, got {name!r}; there are "
                f"{', '.join(layer.name for layer in layers)}"
            )
    return layers[min(found[0]) : max(found[1]) + 1]


def _sources(model: Any) -> dict[int, str] | None:
    """Id of a layer -> its inputs; None for a linear model."""
    topology = model._topology
    if topology is None:
        return None
    used = Counter(id(x) for node in topology.nodes for x in node.inputs)
    calls = Counter(id(node.layer) for node in topology.nodes)
    several = len(topology.flat_inputs) > 1 or len(topology.flat_outputs) > 1
    if (
        not several
        and max([*used.values(), *calls.values()], default=1) == 1
        and all(len(node.inputs) == 1 for node in topology.nodes)
    ):
        return None
    found: dict[int, list[str]] = {}
    for node in topology.nodes:
        found.setdefault(id(node.layer), []).extend(_place(x) for x in node.inputs)
    return {key: ", ".join(names) for key, names in found.items()}


def _place(x: Any) -> str:
    """A tensor in Keras' notation: layer[index of the call][index of the output]."""
    node = x.node
    if node is None:
        return str(x.name)
    call = next(i for i, known in enumerate(node.layer._inbound_nodes) if known is node)
    output = next(i for i, known in enumerate(structure.flatten(node.outputs)) if known is x)
    return f"{node.layer.name}[{call}][{output}]"


def _rows(
    layers: list[Any],
    around: tuple[Any, ...],
    expand: bool,
    trainable: bool,
    sources: dict[int, str] | None,
) -> list[Row]:
    rows: list[Row] = []
    for layer in layers:
        inner = getattr(layer, "layers", None)
        name = f"{'  ' * (len(around) - 1)}{layer.name} ({type(layer).__name__})"
        count = count_numbers(layer.weights)
        row: Row = (name, _shape(layer), f"{count:,}" if layer.built else "? (not built)")
        if sources is not None:
            row = (*row, sources.get(id(layer), "-"))
        rows.append((*row, "yes" if layer.trainable else "no") if trainable else row)
        # A layer may be inside itself.
        if expand and inner and not any(layer is one for one in around):
            rows.extend(_rows(inner, (*around, layer), expand, trainable, sources))
    return rows


def _shape(layer: Layer) -> str:
    specs = layer._output_specs
    if specs is None and layer._inbound_nodes:
        specs = structure.map_structure(lambda x: x.spec, layer._inbound_nodes[0].outputs)
    if specs is None:
        return "?"
    shapes = [
        f"({', '.join(str(n) for n in spec.shape)}{',' if spec.shape.rank == 1 else ''})"
        for spec in structure.flatten(specs)
        if is_spec(spec) and spec.shape.rank is not None
    ]
    return ", ".join(shapes) or "?"


def _totals(model: Model) -> list[str]:
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
