"""A scene as pixels, by Pillow."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pinnace.keras.drawing.scene import XY, Curve, Line, Scene

# A page has 96 pixels an inch, as in browsers.
_PAGE_DPI = 96.0
# Larger pictures are made smaller: few programs open them.
_MOST_PIXELS = 1 << 26
# Edges are drawn larger and then made smaller, so that they are smooth.
_FINE = 2
_STEPS = 24


def as_image(pillow: Any, scene: Scene, dpi: float) -> Any:
    """The picture as an image of Pillow, RGB.

    Args:
        pillow: Pillow's package.
        scene: what to draw.
        dpi: pixels an inch, of which a page has 96.
    """
    from PIL import ImageDraw, ImageFont

    scale = min(dpi / _PAGE_DPI, math.sqrt(_MOST_PIXELS / (scene.width * scene.height)))
    size = math.ceil(scene.width * scale), math.ceil(scene.height * scale)
    fine = _FINE if size[0] * size[1] * _FINE**2 <= _MOST_PIXELS else 1
    scale *= fine
    image = pillow.new("RGB", (size[0] * fine, size[1] * fine), "white")
    pen = ImageDraw.Draw(image)
    stroke = max(round(scale), 1)
    for rect in scene.rects:
        corners = [(rect.x * scale, rect.y * scale)]
        corners.append((corners[0][0] + rect.width * scale, corners[0][1] + rect.height * scale))
        if rect.dashed:
            _dashed(pen, corners[0], corners[1], scale)
        else:
            pen.rectangle(corners, fill=rect.fill, outline="black", width=stroke)
    for edge in scene.edges:
        points = [_scaled(p, scale) for curve in edge.curves for p in _along(curve)]
        pen.line(points, fill="black", width=2 * stroke, joint="curve")
        pen.polygon([_scaled(p, scale) for p in edge.head], fill="black")
    for line in scene.lines:
        _write(pen, line, scale, ImageFont)
    return image if fine == 1 else image.resize(size, pillow.Resampling.LANCZOS)


def _scaled(place: XY, scale: float) -> XY:
    return place[0] * scale, place[1] * scale


def _along(curve: Curve) -> list[XY]:
    """Points of a cubic curve, both ends among them."""
    found = []
    for step in range(_STEPS + 1):
        t = step / _STEPS
        shares = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
        x, y = (sum(s * p[i] for s, p in zip(shares, curve, strict=True)) for i in (0, 1))
        found.append((x, y))
    return found


def _dashed(pen: Any, start: XY, end: XY, scale: float) -> None:
    (left, top), (right, bottom) = start, end
    dash, period = 6 * scale, 10 * scale
    for place in range(math.ceil((right - left) / period)):
        x = left + place * period
        for y in (top, bottom):
            pen.line([(x, y), (min(x + dash, right), y)], "black", max(round(scale), 1))
    for place in range(math.ceil((bottom - top) / period)):
        y = top + place * period
        for x in (left, right):
            pen.line([(x, y), (x, min(y + dash, bottom))], "black", max(round(scale), 1))


def _write(pen: Any, line: Line, scale: float, fonts: Any) -> None:
    """A line of text, no wider than what was reckoned with."""
    size = line.size * scale
    font = fonts.load_default(size)
    widths = [font.getlength(piece.text) for piece in line.pieces]
    if sum(widths) > line.width * scale:
        font = fonts.load_default(size * line.width * scale / sum(widths))
        widths = [font.getlength(piece.text) for piece in line.pieces]
    x = line.x * scale - sum(widths) / 2
    for piece, wide in zip(line.pieces, widths, strict=True):
        bold = max(round(size / 30), 1) if piece.bold else 0
        pen.text(
            (x, line.y * scale), piece.text, line.colour, font, anchor="lm", stroke_width=bold / 2
        )
        x += wide
