"""Compiled code that failed: never used, counted and logged once.

Kernels that did not agree with the plan, and plans that could not be looked through.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinnace.framework import config
from pinnace.framework.errors import OpError
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.versions import VERSION
from pinnace.framework.visible_text import visible
from pinnace.graph.copying import Copy
from pinnace.graph.graph import Graph, GraphBuilder, Node, Value, constant_of
from pinnace.graph.text import text_of
from pinnace.ops.array.constants import PLACEHOLDER
from pinnace.ops.state.variables import READ_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

# Rejections that are kept, and characters of a graph.
_MOST_KEPT, _MOST_TEXT = 64, 1 << 20
# What the log says of a kind.
_WHAT = {
    "search": "could not be made",
    "call": "raised an error that its plan does not",
}


@dataclass(frozen=True, slots=True)
class Rejection:
    """One kernel whose first results were not the plan's.

    Attributes:
        kind: region, small plan, loop, recurrence, turns (the clusters of a loop's body), search
            (looking for code failed: there is none) or call (a form that had passed raised).
        function: name of the graph that it is a part of.
        difference: the first number that was another, or the error.
        text: the graph that the kernel was to compute.
    """

    kind: str
    function: str
    difference: str
    text: str


class _Record:
    """All rejections of the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.count = 0
        self.kept: list[Rejection] = []

    def add(self, one: Rejection) -> None:
        with self._lock:
            self.count += 1
            if len(self.kept) < _MOST_KEPT:
                self.kept.append(one)


_record = _Record()


def count() -> int:
    """How many kernels have been rejected in this process."""
    return _record.count


def rejected() -> tuple[Rejection, ...]:
    """The first 64 of them, for those who look after the code generator."""
    return tuple(_record.kept)


def reject(kind: str, function: str, difference: str, text: str) -> None:
    """Count a kernel that will not be used, and log it in one line; called once for each.

    The graph goes into a file of the cache folder, which the user may send.

    Args:
        kind: see `Rejection`.
        function: see `Rejection`.
        difference: see `Rejection`.
        text: see `Rejection`.
    """
    _record.add(Rejection(kind, function, difference, text[:_MOST_TEXT]))
    import logging  # late: most processes never come here

    path = _write(kind, function, difference, text[:_MOST_TEXT])
    logging.getLogger("pinnace").error(
        "compiled code of %s %s and is not used, the answers are the plan's: %s: %s; please report "
        "this %s",
        visible(function).replace("\n", " "),
        _WHAT.get(kind, "did not agree with its plan"),
        kind,
        visible(difference).replace("\n", " "),
        f"and send {path}" if path is not None else "(there is no cache folder to keep the graph)",
    )


def _write(kind: str, function: str, difference: str, text: str) -> Path | None:
    """Keep the graph of what was rejected; where, or None if it cannot be kept."""
    base = config.settings.cache
    if base is None:
        return None
    import hashlib

    from pinnace.engine.ahead.trust import is_safe
    from pinnace.storage.atomic import write_file

    content = f"pinnace {VERSION}, {function}\n{kind}: {difference}\n\n{text}".encode()
    folder = base / "rejected"
    path = folder / f"{hashlib.sha256(content).hexdigest()[:16]}.txt"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not is_safe(folder):
            return None
        write_file(path, content)
    except (OSError, OpError):
        return None
    return path


def part_of(
    name: str,
    inputs: Sequence[Value],
    outputs: Sequence[Value],
    sizes: Mapping[Value, tuple[int, ...]],
) -> Graph | None:
    """The graph of what lies between these values; None if it needs others, too.

    Args:
        name: of the graph.
        inputs: become its arguments; constants stay constants.
        outputs: become its results.
        sizes: shapes of values, where they are known.
    """
    copy = Copy(GraphBuilder(name))
    for number, value in enumerate(value for value in inputs if constant_of(value) is None):
        shape = Shape.of(sizes[value]) if value in sizes else value.shape
        spec = TensorSpec.of(shape, value.dtype)
        copy.values[value] = copy.target.add_input(PLACEHOLDER, spec, f"x{number}")
    pending = [value.node for value in outputs if value not in copy.values]
    made: set[Node] = set()
    while pending:
        node = pending[-1]
        if node in made:
            pending.pop()
            continue
        # Variables are read as often as one likes: nothing assigns to them meanwhile.
        has_effects = node.op.stateful and node.op is not READ_VARIABLE
        if node.op is PLACEHOLDER or has_effects or node.controls or node.op.wants_ctx:
            return None
        missing = [value.node for value in node.inputs if value not in copy.values]
        if missing:
            pending.extend(missing)
            continue
        # A value of this node may be an argument: that one stays.
        known = {value: copy.values[value] for value in node.outputs if value in copy.values}
        copy.node(node)
        copy.values.update(known)
        made.add(node)
    results = [copy.values[value] for value in outputs]
    copy.target.set_outputs(results, [f"y{number}" for number in range(len(outputs))])
    return copy.target.finish()


def text_of_part(name: str, part: Graph | None, nodes: Sequence[Node]) -> str:
    """A part as text: its graph, or, if it has none, the steps by name."""
    if part is not None:
        return text_of(part)
    return "\n".join([f"{name}:", *(f"  {node.name} = {node.op.name}" for node in nodes)]) + "\n"
