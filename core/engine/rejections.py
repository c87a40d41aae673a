"""Compiled code that failed: it is not used any more, counted, and logged once.

Kernels disagreed with the plan, forms raised an error, or the search for a form failed.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinnace.framework import config
from pinnace.framework.errors import OpError
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.visible_text import visible
from pinnace.graph.copying import Copy
from pinnace.graph.graph import Graph, GraphBuilder, Node, Value, constant_of
from pinnace.graph.text import text_of
from pinnace.ops.array.constants import PLACEHOLDER
from pinnace.ops.state.variables import READ_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

# Most rejections that are kept; most characters of a graph's text.
_MOST_KEPT, _MOST_TEXT = 64, 1 << 20
# The log's message for each kind.
_WHAT = {
    "search": "could not be made",
    "call": "raised an error that its plan does not",
}


@dataclass(frozen=True, slots=True)
class Rejection:
    """Code that does not agree with its plan, or raised where the plan does not.

    Attributes:
        kind: region, turns (the regions of a loop's body), small plan, loop, search (the search for
            a form failed) or call (a form raised).
        function: name of the graph that it belongs to.
        difference: the first number that differed, or the error.
        text: the graph that the kernel should have computed.
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
    """The number of kernels that have been rejected in this process."""
    return _record.count


def rejected() -> tuple[Rejection, ...]:
    """The first 64 rejections, for developers of the code generator."""
    return tuple(_record.kept)


def reject(kind: str, function: str, difference: str, text: str) -> None:
    """Count a kernel that will not be used, and log it in one line; called once for each.

    The graph is written to a file in the cache folder, which the user may attach to a report.

    Args:
        kind: see `Rejection`.
        function: see `Rejection`.
        difference: see `Rejection`.
        text: see `Rejection`.
    """
    _record.add(Rejection(kind, function, difference, text[:_MOST_TEXT]))
    import logging  # imported here: most processes never get here

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
    """Write the graph of a rejected kernel; its path, or None if it cannot be written."""
    base = config.settings.cache
    if base is None:
        return None
    import hashlib

    from pinnace.framework.versions import VERSION  # it is looked up, and seldom wanted
    from pinnace.storage.atomic import write_file

    content = f"pinnace {VERSION}, {function}\n{kind}: {difference}\n\n{text}".encode()
    folder = base / "rejected"
    path = folder / f"{hashlib.sha256(content).hexdigest()[:16]}.txt"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_safe(folder):
            return None
        write_file(path, content)
    except (OSError, OpError):
        return None
    return path


def _is_safe(folder: Path) -> bool:
    """Whether a folder belongs to the user or the superuser, and nobody else may write to it."""
    facts = folder.stat()
    if not hasattr(os, "getuid"):
        return True
    return facts.st_uid in {os.getuid(), 0} and not facts.st_mode & 0o022


def part_of(
    name: str,
    inputs: Sequence[Value],
    outputs: Sequence[Value],
    sizes: Mapping[Value, tuple[int, ...]],
) -> Graph | None:
    """The subgraph between these values; None if it needs others too.

    Args:
        name: the graph's name.
        inputs: values that become its arguments; constants stay constants.
        outputs: values that become its results.
        sizes: known shapes of values.
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
        # Variables may be read repeatedly: nothing in the part assigns to them.
        has_effects = node.op.stateful and node.op is not READ_VARIABLE
        if node.op is PLACEHOLDER or has_effects or node.controls or node.op.wants_ctx:
            return None
        missing = [value.node for value in node.inputs if value not in copy.values]
        if missing:
            pending.extend(missing)
            continue
        # A value of this node may be an argument: it stays one.
        known = {value: copy.values[value] for value in node.outputs if value in copy.values}
        copy.node(node)
        copy.values.update(known)
        made.add(node)
    results = [copy.values[value] for value in outputs]
    copy.target.set_outputs(results, [f"y{number}" for number in range(len(outputs))])
    return copy.target.finish()


def text_of_part(name: str, part: Graph | None, nodes: Sequence[Node]) -> str:
    """A part as text: its graph, or the names of its steps if it has none."""
    if part is not None:
        return text_of(part)
    return "\n".join([f"{name}:", *(f"  {node.name} = {node.op.name}" for node in nodes)]) + "\n"
