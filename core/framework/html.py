"""HTML for notebooks: tables, and tensor values in tables."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pinnace.framework.tensor import Array

# The number of elements that a table shows at each end of an axis.
_ENDS = 5
_LONGEST = 40


def table(title: str, heads: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """A table with a title; every text is escaped."""
    head = "".join(f"<th>{escape(str(cell))}</th>" for cell in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    top = f"<thead><tr>{head}</tr></thead>" if head else ""
    return f"<div><b>{escape(title)}</b><table>{top}<tbody>{body}</tbody></table></div>"


def values(title: str, array: Array) -> str:
    """An array of up to two axes as a table, cut in the middle; others as text."""
    if array.ndim > 2 or not array.size:  # not shown as a table
        return f"<div><b>{escape(title)}</b><pre>{escape(str(array))}</pre></div>"
    whole = array.reshape(1, -1) if array.ndim < 2 else array  # a vector is a row
    rows, columns = (_shown(size) for size in whole.shape)
    heads = ["", *("…" if j is None else j for j in columns)] if array.ndim else []
    body = []
    for i in rows:
        cells = ["…" if i is None or j is None else _cell(whole[i, j]) for j in columns]
        label = [] if not array.ndim else ["" if array.ndim == 1 else "…" if i is None else i]
        body.append([*label, *cells])
    return table(title, heads, body)


def _shown(size: int) -> list[int | None]:
    """The indices that are shown; None for the gap between."""
    if size <= 2 * _ENDS + 1:
        return list(range(size))
    return [*range(_ENDS), None, *range(size - _ENDS, size)]


def _cell(value: Any) -> str:
    if isinstance(value, bytes):
        text = value.decode(errors="replace")
        return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    if isinstance(value, np.inexact) and value.dtype.kind == "f":
        return f"{float(value):.6g}"
    return str(value)
