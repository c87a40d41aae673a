"""A model's boxes in Graphviz's language, as text and as a pydot graph."""

from __future__ import annotations

import html
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pinnace.keras.drawing.boxes import Box, Cell, Frame
from pinnace.storage.atomic import write_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_LAID_OUT_S = 300.0
# Endings of files that hold the DOT text itself.
TEXTS = ("dot", "gv", "raw")
INSTALL = "apt install graphviz, or https://graphviz.org/download"
_FONT = "Helvetica"
_INDENT = "  "


class Dot:
    """A graph for Graphviz, with the interface of pydot's graphs that programs use.

    Args:
        frame: the frame to draw.
        settings: attributes of the whole graph: `rankdir`, `dpi`, `splines` and the like.
        cluster: whether it is part of another.
    """

    def __init__(self, frame: Frame, settings: Mapping[str, Any], cluster: bool = False) -> None:
        self._frame = frame
        self._settings = dict(settings)
        self._cluster = cluster

    def to_string(self) -> str:
        """The graph in Graphviz's language."""
        if self._cluster:
            return "\n".join(_cluster(self._frame, 0)) + "\n"
        lines = ["digraph G {"]
        lines += [f"{_INDENT}{name}={_quoted(value)};" for name, value in self._settings.items()]
        lines += [f"{_INDENT}{line}" for line in _parts(self._frame)]
        return "\n".join([*lines, "}", ""])

    def create(self, prog: Any = None, format: str = "ps") -> bytes:
        """The picture, by Graphviz.

        Args:
            prog: the program that lays it out, or a list of it and its arguments; `dot` if None.
            format: Graphviz's name of the format, such as `svg`; `raw` is the text.

        Raises:
            OSError: the program is not there, or refuses.
        """
        if format in TEXTS:
            return self.to_string().encode()
        program, *arguments = [prog or "dot"] if isinstance(prog, (str, type(None))) else prog
        return laid_out(self.to_string(), format, program, arguments)

    def write(
        self,
        path: Any,
        prog: Any = None,
        format: str = "raw",
        encoding: str | None = None,
    ) -> bool:
        """Write the picture, by Graphviz; `raw`, `dot` or `gv`: the text.

        Args:
            path: path of the file.
            prog: see `create`.
            format: see `create`.
            encoding: encoding of the text; UTF-8 if None.

        Raises:
            OSError: Graphviz is not there, or refuses.
        """
        if format in TEXTS:
            content = self.to_string().encode(encoding or "utf-8")
        else:
            content = self.create(prog, format)
        write_file(Path(path), content)
        return True

    def write_png(self, path: Any, prog: Any = None) -> bool:
        """`write` with the format `png`."""
        return self.write(path, prog, "png")

    def write_svg(self, path: Any, prog: Any = None) -> bool:
        """`write` with the format `svg`."""
        return self.write(path, prog, "svg")

    def write_pdf(self, path: Any, prog: Any = None) -> bool:
        """`write` with the format `pdf`."""
        return self.write(path, prog, "pdf")

    def write_dot(self, path: Any, prog: Any = None) -> bool:
        """`write` with the format `dot`: the text."""
        return self.write(path, prog, "dot")

    def write_raw(self, path: Any, prog: Any = None) -> bool:
        """`write` with the format `raw`: the text."""
        return self.write(path, prog, "raw")

    def __str__(self) -> str:
        return self.to_string()


def laid_out(
    text: str, form: str, program: str = "dot", arguments: list[str] | None = None
) -> bytes:
    """The picture of a graph that Graphviz lays out.

    Args:
        text: the graph.
        form: Graphviz's name of the form, such as `png`.
        program: a Graphviz program, such as `dot`.
        arguments: its arguments.

    Raises:
        FileNotFoundError: Graphviz is not there.
        OSError: Graphviz fails.
    """
    found = shutil.which(program)
    if found is None:
        raise FileNotFoundError(f"Graphviz's program {program!r} is not there\n  Try: {INSTALL}")
    run = subprocess.run(
        [found, f"-T{form}", *(arguments or ())],
        input=text.encode(),
        capture_output=True,
        timeout=_LAID_OUT_S,
        check=False,
    )
    if run.returncode:
        told = run.stderr.decode(errors="replace").strip()[-500:]
        raise OSError(f"Graphviz could not write {form!r}: {told}")
    return run.stdout


def as_pydot(pydot: Any, frame: Frame, settings: Mapping[str, Any], cluster: bool) -> Any:
    """The graph as a pydot object, or with `cluster` as pydot's `Cluster`."""
    if cluster:
        graph = pydot.Cluster(graph_name=_quoted(frame.name), style="dashed")
        graph.set("label", _quoted(frame.name))
        graph.set("labeljust", "l")
    else:
        graph = pydot.Dot()
        for name, value in settings.items():
            graph.set(name, value)
        graph.set_node_defaults(shape="record")
    for part in frame.parts:
        if isinstance(part, Frame):
            graph.add_subgraph(as_pydot(pydot, part, settings, True))
        else:
            node = pydot.Node(str(part.key), label=label(part))
            for name, value in (("fontname", _FONT), ("border", "0"), ("margin", "0")):
                node.set(name, value)
            graph.add_node(node)
    for source, target in frame.edges:
        edge = pydot.Edge(str(source), str(target))
        edge.set("penwidth", "2")
        graph.add_edge(edge)
    return graph


def label(box: Box) -> str:
    """The contents of a box as a Graphviz table."""
    columns = max(len(box.cells), 1)
    rows = [_cell(_title(box), columns, "black", "white", 16)]
    if box.activation is not None:
        rows.append(_cell(_fact(box.activation), columns, "white", None, 14))
    if box.cells:
        rows.append(
            "".join(
                _cell(_fact(one), 1, one.colour, None if one.colour == "white" else "white", 14)
                for one in box.cells
            )
        )
    table = "".join(f"<tr>{row}</tr>" for row in rows)
    return f'<<table bgcolor="black" border="0" cellborder="1" cellpadding="10">{table}</table>>'


def _title(box: Box) -> str:
    if not box.name:
        return f"<b>{html.escape(box.kind)}</b>"
    return f"<b>{html.escape(box.name)}</b> ({html.escape(box.kind)})"


def _fact(cell: Cell) -> str:
    return f"{html.escape(cell.before)}<b>{html.escape(cell.value)}</b>"


def _cell(text: str, columns: int, ground: str, colour: str | None, size: int) -> str:
    told = "" if colour is None else f' color="{colour}"'
    font = f'<font point-size="{size}"{told}>{text}</font>'
    return f'<td bgcolor="{ground}" colspan="{columns}">{font}</td>'


def _parts(frame: Frame, depth: int = 0) -> Iterator[str]:
    if not depth:
        yield "node [shape=record];"
    for part in frame.parts:
        if isinstance(part, Frame):
            yield from _cluster(part, depth + 1)
        else:
            yield f"{part.key} [label={label(part)}, fontname={_FONT}, border=0, margin=0];"
    for source, target in frame.edges:
        yield f"{source} -> {target} [penwidth=2];"


def _cluster(frame: Frame, depth: int) -> Iterator[str]:
    name = _quoted(frame.name)
    yield f"subgraph {_quoted(f'cluster_{frame.name}')} {{"
    yield f"{_INDENT}style=dashed;"
    yield f"{_INDENT}label={name};"
    yield f"{_INDENT}labeljust=l;"
    for line in _parts(frame, depth + 1):
        yield f"{_INDENT}{line}"
    yield "}"


def _quoted(value: Any) -> str:
    if isinstance(value, (bool, int, float)):
        return str(value).lower()
    text = str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{text}"'
