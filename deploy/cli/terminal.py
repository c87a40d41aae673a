"""The output of commands: coloured tables on a terminal, plain columns in a pipe."""

from __future__ import annotations

import json
import math
import sys
from typing import TYPE_CHECKING, Any

from pinnace.framework.visible_text import visible, visible_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

_KILO = 1000.0
_NOT_FINITE = {math.inf: "Infinity", -math.inf: "-Infinity"}


class Terminal:
    """Standard output for people or for programs.

    Args:
        plain: whether the output is for a program; None: whether it is not a terminal.
    """

    def __init__(self, plain: bool | None = None) -> None:
        self._console: Console | None = None
        if not (not sys.stdout.isatty() if plain is None else plain):
            from rich.console import Console

            self._console = Console(highlight=False)

    def heading(self, text: str, note: str = "") -> None:
        """Print a title and a note."""
        if self._console is None:
            _print(visible_line(f"{text}  {note}".rstrip()))
            return
        from rich.text import Text

        line = Text(visible_line(text), "bold")
        line.append(f"  {visible_line(note)}" if note else "", "not bold dim")
        self._console.print(line, soft_wrap=True)

    def line(self, text: str = "", style: str = "") -> None:
        """Print a line; line breaks in it are escaped."""
        if self._console is None:
            _print(visible_line(text))
            return
        from rich.text import Text

        self._console.print(Text(visible_line(text), style), soft_wrap=True)

    def table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        title: str = "",
        right: Sequence[int] = (),
        styles: Sequence[str] = (),
    ) -> None:
        """Print rows under headings; nothing if there are no rows.

        Args:
            columns: the headings.
            rows: the cells of each row.
            title: the table's title.
            right: indices of columns aligned to the right.
            styles: the style of each row on a terminal.
        """
        if not rows:
            return
        rows = [[visible_line(one) for one in row] for row in rows]
        if self._console is None:
            self._plain_table(columns, rows, title, right)
            return
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(
            title=title or None, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD
        )
        for index, column in enumerate(columns):
            table.add_column(column, justify="right" if index in right else "left", overflow="fold")
        for index, row in enumerate(rows):
            style = styles[index] if index < len(styles) else ""
            table.add_row(*map(Text, row), style=style)
        self._console.print(table)

    def _plain_table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        title: str,
        right: Sequence[int],
    ) -> None:
        if title:
            _print(title)
        widths = [
            max(len(column), *(len(row[index]) for row in rows))
            for index, column in enumerate(columns)
        ]
        for row in (columns, *rows):
            cells = [
                one.rjust(width) if index in right else one.ljust(width)
                for index, (one, width) in enumerate(zip(row, widths, strict=True))
            ]
            _print("  ".join(cells).rstrip())
        _print("")


def print_json(value: Any) -> None:
    """Print a value as JSON; NaN and infinities become strings."""
    _print(json.dumps(_jsonable(value), indent=2, allow_nan=False))


def _jsonable(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _jsonable(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return _NOT_FINITE.get(value, "NaN")
    return value


def _print(text: str) -> None:
    sys.stdout.write(f"{visible(text)}\n")


def size_text(count: float) -> str:
    """A number of bytes with its unit."""
    if count < _KILO:
        return f"{count:.0f} B"
    units = ["kB", "MB", "GB", "TB"]
    count /= _KILO
    while count >= _KILO and len(units) > 1:
        count /= _KILO
        units.pop(0)
    return f"{count:.3g} {units[0]}"


def time_text(seconds: float) -> str:
    """A duration with its unit."""
    if seconds >= 1:
        return f"{seconds:.3g} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"
