"""A drawing as one self-contained HTML file."""

from __future__ import annotations

import html
import json
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.graph.rows import in_rows
from pinnace.saved_model.picture.families import INPUT
from pinnace.saved_model.picture.scene import ROOT, Scene, scene_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.functions.concrete import ConcreteFunction
    from pinnace.graph.graph import Graph

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body>
{body}
<script id="picture" type="application/json">{data}</script>
<script>
{script}
</script>
</body>
</html>
"""


def picture_page(graph: Graph, title: str = "", given: Mapping[str, str] | None = None) -> str:
    """A page that shows a graph: scopes and functions open and close, nothing is fetched.

    Args:
        graph: the graph to draw; the functions it calls are drawn inside it.
        title: the page's title; the graph's name if empty.
        given: names of captured inputs: name of the input -> name of the variable.

    Returns:
        HTML.
    """
    scene = scene_of(graph, title, given)
    data = json.dumps(picture_data(scene), separators=(",", ":"), ensure_ascii=False)
    return _PAGE.format(
        title=html.escape(scene.title),
        style=_file("view.css"),
        body=_file("view.html"),
        # Names come from the model: they are escaped, so that none can end its element.
        data=data.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"),
        script=_file("view.js"),
    )


def signature_page(function: ConcreteFunction, title: str) -> str:
    """Return a page that shows a signature of a loaded model, with its variables' names."""
    graph = function.graph
    captured = graph.input_names[len(graph.inputs) - len(function.captured) :]
    given = {}
    for name, tensor in zip(captured, function.captured, strict=True):
        if tensor.dtype is dtypes.resource:
            given[name] = getattr(np.asarray(tensor._array)[()], "name", "") or name
        else:
            given[name] = "captured constant"
    return picture_page(graph, title, given)


def picture_data(scene: Scene) -> dict[str, Any]:
    """The data that the page's script draws, ready for JSON.

    Returns:
        `boxes` and `edges` of the scene, and `groups`: per box with boxes inside its `rows`; the
        `routes` of its edges, [from, to, places...]; `entries` and `exits`, [box, places...], of
        edges from and to outside. Numbers beyond those of boxes are places.
    """
    children = scene.children()
    crossing = _Crossings(scene)
    groups = {}
    base = len(scene.boxes)
    for parent, members in children.items():
        index = {one: position for position, one in enumerate(members)}
        pairs = crossing.siblings.get(parent, {})
        drawn = in_rows(
            len(members),
            ((index[a], index[b]) for a, b in pairs),
            [index[one] for one in members if scene.boxes[one].family == INPUT],
            [index[one] for one in crossing.entering.get(parent, ())],
            [index[one] for one in crossing.leaving.get(parent, ())],
        )

        def number(item: int, members: list[int] = members, base: int = base) -> int:
            return members[item] if item < len(members) else base + item - len(members)

        groups[parent] = {
            "rows": [[number(item) for item in row] for row in drawn.rows],
            "routes": [
                [a, b, *map(number, drawn.routes.get((index[a], index[b]), ()))] for a, b in pairs
            ],
            "entries": [[members[a], *map(number, way)] for a, way in drawn.entries.items()],
            "exits": [[members[a], *map(number, way)] for a, way in drawn.exits.items()],
        }
        base += sum(map(len, drawn.rows)) - len(members)
    return {
        "title": scene.title,
        "nodes": scene.node_count,
        "folded": scene.folded_count,
        "boxes": [
            {
                "parent": box.parent,
                "name": box.name,
                "label": box.label,
                "op": box.op,
                "family": box.family,
                "outputs": box.outputs,
                "operands": box.operands,
                "attrs": box.attrs,
                "notes": box.notes,
            }
            for box in scene.boxes
        ],
        "edges": [[e.source, e.target, e.label, int(e.is_control)] for e in scene.edges],
        "groups": groups,
    }


class _Crossings:
    """The edges as each group sees them: between two of its boxes, in from outside, or out.

    Attributes:
        siblings: pairs of boxes, by the group they are in.
        entering: boxes to which an edge comes from outside, by group.
        leaving: boxes from which an edge goes outside, by group.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._paths: dict[int, tuple[int, ...]] = {ROOT: (ROOT,)}
        self.siblings: dict[int, dict[tuple[int, int], None]] = {}
        self.entering: dict[int, dict[int, None]] = {}
        self.leaving: dict[int, dict[int, None]] = {}
        for edge in scene.edges:
            self._add(self._path(edge.source), self._path(edge.target))

    def _path(self, number: int) -> tuple[int, ...]:
        """The enclosing boxes of a box, from the outermost."""
        missing = []
        while number not in self._paths:
            missing.append(number)
            number = self._scene.boxes[number].parent
        found = self._paths[number]
        for one in reversed(missing):
            found = self._paths[one] = (*found, one)
        return found

    def _add(self, source: tuple[int, ...], target: tuple[int, ...]) -> None:
        common = 0
        for one, other in zip(source, target, strict=False):
            if one != other:
                break
            common += 1
        if common in (len(source), len(target)):
            return  # one contains the other
        pair = source[common], target[common]
        self.siblings.setdefault(source[common - 1], {})[pair] = None
        for group, one in zip(source[common:], source[common + 1 :], strict=False):
            self.leaving.setdefault(group, {})[one] = None
        for group, one in zip(target[common:], target[common + 1 :], strict=False):
            self.entering.setdefault(group, {})[one] = None


def _file(name: str) -> str:
    return resources.files("pinnace.saved_model.picture").joinpath(name).read_text("utf-8")
