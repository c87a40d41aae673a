"""A call's profile: its table, notebook form and files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.engine import rejections
from pinnace.engine.ahead import reading
from pinnace.framework import html
from pinnace.profiler.machine import Peak, peak
from pinnace.profiler.rows import Row as Row
from pinnace.profiler.rows import ops_text, rows_of

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from pinnace.engine.observing import Recorder

_HEADS = (
    *("what", "tier", "kind", "out", "calls", "ms", "%", "GFLOP/s", "MB", "% of peak"),
    *("ops", "why not fused, not compiled"),
)
_LONGEST = 44


class Profile:
    """The duration of one call, divided into steps.

    Args:
        recorder: the recorder of the call.
        seconds: duration of the call, without recording.
        result: the call's result.

    Attributes:
        rows: the kernels and regions that ran, parts behind the whole (`depth`).
        seconds: duration of the call, without recording.
        result: the call's result.
        rejections: tables that raised, or disagreed with the plan (`PINNACE_CHECK`).
        ahead: the kernels this process has from files beside models, and why others are missing.
    """

    def __init__(self, recorder: Recorder, seconds: float, result: Any = None) -> None:
        self._recorder = recorder
        self.rows: list[Row] = rows_of(recorder)
        self.seconds = seconds
        self.result = result
        self.rejections = rejections.rejected()
        self.ahead = reading.notes()

    @property
    def peak(self) -> Peak:
        """The peak rates of this machine."""
        return peak()

    @property
    def covered_s(self) -> float:
        """The total seconds of the outermost rows; the rest of `seconds` is Python's."""
        return sum(row.seconds for row in self.rows if row.depth == 0)

    def share(self, row: Row) -> float:
        """A row's minimal time on this machine as a share of its actual time."""
        return self.peak.least_s(row.flops, row.bytes) / row.seconds if row.seconds else 0.0

    def table(self) -> str:
        """The table as text."""
        cells = [_HEADS, *(self._cells(row) for row in self.rows)]
        widths = [max(len(line[column]) for line in cells) for column in range(len(_HEADS))]
        lines = [
            "  ".join(
                text.rjust(width) if 4 <= column <= 9 else text.ljust(width)
                for column, (text, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in cells
        ]
        return "\n".join([*lines, "", *self.notes()])

    def notes(self) -> list[str]:
        """Notes below the table: sums, rejections, precompiled kernels, the peak."""
        sums = (
            f"{1e3 * self.seconds:.3f} ms in all, {1e3 * self.covered_s:.3f} ms of them in what is "
            "listed; the rest is Python's"
        )
        found = [sums, *self._networks()]
        found += [
            f"not used, since it failed or its results differed: {bad.kind} of {bad.function}: "
            f"{bad.difference}"
            for bad in self.rejections
        ]
        found += self.ahead
        found.append(f"peak: {self.peak.text}")
        return found

    def _networks(self) -> list[str]:
        found = []
        for line in self._recorder.lines.values():
            if line.rows and line.count:
                whole, total = line.seconds / line.count, sum(line.rows)
                found.append(
                    f"network of {len(line.rows)} rows: {1e3 * whole:.3f} ms as a whole, "
                    f"{1e3 * total:.3f} ms row by row ({100 * (total / whole - 1):+.0f} %: rows "
                    "are run again, one by one, to be timed)"
                )
        return found

    def _cells(self, row: Row) -> tuple[str, ...]:
        gflops = row.gflops
        return (
            f"{'  ' * row.depth}{_scope(row.name)}",
            row.tier,
            row.kind,
            _short(" ".join(row.gave)),
            str(row.count),
            f"{1e3 * row.seconds:.3f}",
            f"{100 * row.seconds / self.seconds:.1f}" if self.seconds else "",
            "" if not gflops else f"{gflops:.2f}",
            f"{row.bytes / 1e6:.2f}" if row.bytes else "",
            f"{100 * self.share(row):.0f}" if row.flops or row.bytes else "",
            _short(ops_text(row.ops)),
            row.reason,
        )

    def save(self, path: str | os.PathLike[str]) -> list[Path]:
        """Write the trace for Chrome's viewer, Perfetto and TensorBoard.

        Args:
            path: a file that ends in .json or .json.gz, for Chrome's viewer and Perfetto; else
                TensorBoard's log folder, which gets `plugins/profile/...`.

        Returns:
            The files written.

        Raises:
            OpError: the trace cannot be written.
        """
        from pinnace.profiler.files import save

        return save(self._recorder, path)

    def _repr_html_(self) -> str:
        title = f"{1e3 * self.seconds:.3f} ms"
        below = "".join(html.table(note, (), ()) for note in self.notes())
        return html.table(title, _HEADS, map(self._cells, self.rows)) + below

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        return f"<Profile: {len(self.rows)} rows, {1e3 * self.seconds:.3f} ms>"


def _scope(name: str) -> str:
    """The name of a node without outer scopes; for several nodes, of the last one."""
    return _short("/".join(name.rpartition(" … ")[2].split("/")[-2:]))


def _short(text: str) -> str:
    """A text, with its middle removed if it is too long."""
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[: half - 1]}…{text[-half:]}"
