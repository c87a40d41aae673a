"""A recorder's events as rows of a table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pinnace.engine.codegen.pairs import Pair
from pinnace.engine.networks.region import Network
from pinnace.engine.standing import why_alone
from pinnace.framework.dtypes import as_dtype
from pinnace.profiler.counting import of_layer, of_nodes, operations

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pinnace.engine.networks.layers import Layer
    from pinnace.engine.observing import Line, Recorder, Unit
    from pinnace.engine.steps import Region
    from pinnace.graph.graph import Node

# The most mode bits of a layer, and the most ops of a region, that are named.
_MOST_NAMED = 6


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a profile.

    Attributes:
        depth: depth of what it is a part of.
        tier: "eager", "plan", "workspace" (the plan, its memory used again), "compiled", "small
            plan", "network row", "loop" or "trial".
        kind: kind of kernel or region: an op, "Network", "Fused", "PRODUCT", ...
        name: name of the function, the node or the layer.
        ops: names, in their order.
        took: shapes of the inputs, as text.
        gave: shapes of the outputs, as text.
        count: how often it ran.
        seconds: their total time in seconds.
        flops: floating-point operations of all together; None if they are not known.
        bytes: bytes read and written by all together, each array counted once.
        reason: why it is not compiled, or stands alone; empty for what is compiled.
    """

    depth: int
    tier: str
    kind: str
    name: str
    ops: tuple[str, ...]
    took: tuple[str, ...]
    gave: tuple[str, ...]
    count: int
    seconds: float
    flops: int | None
    bytes: int
    reason: str = ""

    @property
    def gflops(self) -> float | None:
        """1e9 floating-point operations per second; None if unknown."""
        return None if self.flops is None or not self.seconds else self.flops / self.seconds / 1e9


def rows_of(recorder: Recorder) -> list[Row]:
    """The rows, each after the row it belongs to."""
    found: list[Row] = []
    for line in ordered(recorder):
        found.append(row_of(line))
        found += network_rows(line)
    return found


def ordered(recorder: Recorder) -> list[Line]:
    """The recorded lines, each call before its steps, threads one after the other."""
    # A call is recorded before its steps, but a step after the calls it makes: these are moved
    # behind it.
    found: list[Line] = []
    waiting: list[Line] = []
    for line in recorder.lines.values():
        if not line.count:
            continue
        if line.kind in {"step", "region"}:
            held = [one for one in waiting if one.depth >= line.depth]
            waiting = [one for one in waiting if one.depth < line.depth]
            found += [line, *held]
        elif line.depth and line.kind != "op":
            waiting.append(line)
        else:
            found += [*waiting, line]
            waiting = []
    return found + waiting


def row_of(line: Line) -> Row:
    """The row of one line."""
    if line.unit is None:
        return _eager(line)
    if line.kind in {"step", "region"}:
        return _step(line, line.unit)
    unit = line.unit
    graph = unit.plan.graph
    ops = tuple(step.node.op.name for step in unit.plan.steps)
    known = {} if unit.layout is None else unit.layout.known
    flops = None
    if line.kind == "whole":
        flops = of_nodes([step.node for step in unit.plan.steps], known)
    return Row(
        line.depth,
        unit.standing.tier,
        {"call": "function", "whole": "machine code", "loop": "loop"}[line.kind],
        graph.name,
        ops if line.kind == "whole" else (),
        tuple(_value_text(value) for value in graph.inputs if value.dtype.name != "resource"),
        tuple(_value_text(value) for value in graph.outputs),
        line.count,
        line.seconds,
        None if flops is None else flops * line.count,
        0,
        unit.standing.reason,
    )


def _value_text(value: Any) -> str:
    return f"{value.dtype.name}{value.shape.text}"


def _eager(line: Line) -> Row:
    op = line.what.op
    flops = operations(op, line.what.attrs, _shapes(line.took), _shapes(line.gave))
    return Row(
        line.depth,
        "eager",
        op.name,
        op.name,
        (op.name,),
        _texts(line.took),
        _texts(line.gave),
        line.count,
        line.seconds,
        None if flops is None else flops * line.count,
        (_bytes(line.took) + _bytes(line.gave)) * line.count,
        "called eagerly: in a `function` it could be fused",
    )


def region_of(line: Line) -> Region | None:
    """The region that a line is of."""
    unit = line.unit
    if unit is None or unit.layout is None or line.kind != "region":
        return None
    return unit.layout.regions.get(line.what)


def _step(line: Line, unit: Unit) -> Row:
    steps = unit.plan.steps
    region = region_of(line)
    places: Sequence[int] = [line.what] if region is None else region.cluster.members
    nodes = [steps[place].node for place in places]
    node = nodes[-1]
    flops: int | None
    if region is None:
        flops = operations(node.op, node.attrs, _shapes(line.took), _shapes(line.gave))
        reason = unit.standing.reason
        if unit.layout is not None and unit.standing.tier == "compiled":
            reason = why_alone(node, unit.layout)
        tier, kind = unit.standing.tier, node.op.name
        tier = "plan" if tier == "compiled" else tier
    else:
        known = {} if unit.layout is None else unit.layout.known
        if isinstance(region, Network):
            flops = sum(of_layer(region, layer)[0] for layer in region.layers)
        else:
            flops = of_nodes(nodes, known)
        tier = "compiled"
        kind = region.pattern if isinstance(region, Pair) else type(region).__name__
        reason = f"{region.misses} calls had other shapes" if region.misses else ""
    moved = 0
    if node.op.view is None or region is not None:
        moved = (_bytes(line.took) + _bytes(line.gave)) * line.count
    return Row(
        line.depth,
        tier,
        kind,
        _name(nodes),
        tuple(one.op.name for one in nodes),
        _texts(line.took),
        _texts(line.gave),
        line.count,
        line.seconds,
        None if flops is None else flops * line.count,
        moved,
        reason,
    )


def network_rows(line: Line) -> Iterator[Row]:
    """The rows of a network's table; empty for other lines."""
    region = region_of(line)
    if not isinstance(region, Network) or not line.rows:
        return
    for layer, seconds in zip(region.layers, line.rows, strict=True):
        flops, moved = of_layer(region, layer)
        took = tuple(_image_text(region.image(value)) for value in layer.reads())
        yield Row(
            line.depth + 1,
            "network row",
            layer.kind,
            layer.node.name,
            _layer_ops(layer),
            took,
            (_image_text(region.image(layer.out)),),
            1,
            seconds,
            flops,
            moved,
        )


def _layer_ops(layer: Layer) -> tuple[str, ...]:
    from pinnace.engine.networks import fields

    found = [layer.node.op.name, *(one.what for one in layer.scalings)]
    found += [one.what.lower() for one in layer.program]
    bits = {
        fields.PLUS: "add a tensor",
        fields.RECTIFY: "relu",
        fields.CLIP: "clip at 6",
        fields.GATE: "times its hard sigmoid",
        fields.SILU: "times its sigmoid",
        fields.SIGMOID: "sigmoid",
        fields.TANH: "tanh",
        fields.GELU: "gelu",
        fields.GELU_BY_TANH: "gelu by tanh",
    }
    found += [text for bit, text in bits.items() if layer.mode & bit]
    return tuple(found)


def _image_text(image: Sequence[int]) -> str:
    return f"float32[{', '.join(map(str, image))}]"


def _name(nodes: Sequence[Node]) -> str:
    first, last = nodes[0].name, nodes[-1].name
    return first if len(nodes) == 1 else f"{first} … {last}"


def _shapes(specs: Sequence[tuple[tuple[int, ...], str]]) -> list[tuple[int, ...]]:
    return [shape for shape, _ in specs]


def _texts(specs: Sequence[tuple[tuple[int, ...], str]]) -> tuple[str, ...]:
    return tuple(f"{dtype}[{', '.join(map(str, shape))}]" for shape, dtype in specs)


def _bytes(specs: Sequence[tuple[tuple[int, ...], str]]) -> int:
    total = 0
    for shape, dtype in specs:
        if dtype not in {"string", "resource", "variant", "object"}:
            total += math.prod(shape) * as_dtype(dtype).size
    return total


def ops_text(ops: Sequence[str]) -> str:
    """The ops of a row, with long lists truncated."""
    shown = list(ops[:_MOST_NAMED])
    if len(ops) > _MOST_NAMED:
        shown.append(f"… {len(ops)} in all")
    return " ".join(shown)
