"""A scene as SVG."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pinnace.keras.drawing.scene import XY, Edge, Line, Rect, Scene

_FONTS = "Helvetica, Arial, sans-serif"


def as_svg(scene: Scene, title: str) -> str:
    """The picture, which needs no other file.

    Args:
        scene: what to draw.
        title: for those who hear it instead.
    """
    width, height = _number(scene.width), _number(scene.height)
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{_FONTS}">',
        f"<title>{html.escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
        *map(_rect, scene.rects),
        *map(_edge, scene.edges),
        *map(_line, scene.lines),
        "</svg>",
        "",
    ]
    return "\n".join(lines)


def _rect(rect: Rect) -> str:
    dashes = ' stroke-dasharray="6 4"' if rect.dashed else ""
    place = f'x="{_number(rect.x)}" y="{_number(rect.y)}"'
    size = f'width="{_number(rect.width)}" height="{_number(rect.height)}"'
    return f'<rect {place} {size} fill="{rect.fill}" stroke="black"{dashes}/>'


def _edge(edge: Edge) -> str:
    way = [f"M{_point(edge.curves[0].start)}"]
    way += [f"C{_point(c.first)} {_point(c.second)} {_point(c.end)}" for c in edge.curves]
    head = " ".join(map(_point, edge.head))
    return (
        f'<path d="{"".join(way)}" fill="none" stroke="black" stroke-width="2"/>'
        f'<polygon points="{head}"/>'
    )


def _line(line: Line) -> str:
    pieces = "".join(
        f'<tspan font-weight="bold">{html.escape(piece.text)}</tspan>'
        if piece.bold
        else html.escape(piece.text)
        for piece in line.pieces
    )
    # Other fonts than the one that was reckoned with are fitted into the room there is.
    fitted = f'textLength="{_number(line.width)}" lengthAdjust="spacingAndGlyphs"'
    return (
        f'<text x="{_number(line.x)}" y="{_number(line.y)}" font-size="{_number(line.size)}" '
        f'fill="{line.colour}" text-anchor="middle" dominant-baseline="central" '
        f'{fitted} xml:space="preserve">{pieces}</text>'
    )


def _point(place: XY) -> str:
    return f"{_number(place[0])},{_number(place[1])}"


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
