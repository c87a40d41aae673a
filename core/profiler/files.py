"""The files of a profile: Chrome's trace events, and TensorBoard's folder with them and an XSpace.

Sources: "Trace Event Format" (Google, 2016): complete events `X`, times in microseconds, metadata
`M`. tsl/profiler/protobuf/xplane.proto for the XSpace; TensorBoard's profile plugin looks for
`plugins/profile/<run>/<host>.xplane.pb` (older ones: `<host>.trace.json.gz`), and for an event file
beside `plugins` that says that there is a run.
"""

from __future__ import annotations

import gzip
import json
import os
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pinnace.framework.errors import AlreadyExistsError
from pinnace.profiler.machine import peak
from pinnace.profiler.rows import Row, network_rows, row_of
from pinnace.storage.atomic import write_file
from pinnace.storage.system_errors import explained
from pinnace.storage.varints import field_header, varint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pinnace.engine.observing import Line, Recorder

_PROCESS = 1
# Rows of networks have lanes of their own, numbered far from those of threads.
_ROWS_LANE = 1000


class Piece(NamedTuple):
    """One bar of a trace.

    Attributes:
        name: text on the bar.
        lane: the lane it lies in.
        begin: seconds since the profile began.
        seconds: how long.
        facts: shown when it is chosen.
    """

    name: str
    lane: int
    begin: float
    seconds: float
    facts: Mapping[str, Any]


def pieces_of(recorder: Recorder) -> tuple[list[Piece], dict[int, str]]:
    """The bars of a trace by start time, and the names of its lanes."""
    lanes = {thread: number for number, thread in enumerate(sorted(recorder.threads), 1)}
    names = {lanes[thread]: name for thread, name in recorder.threads.items()}
    facts: dict[int, tuple[str, Mapping[str, Any]]] = {}
    found = []
    for span in recorder.spans:
        lane = lanes[span.thread]
        if isinstance(span.line, str):
            found.append(Piece(span.line, lane, span.begin, span.seconds, span.facts or {}))
            continue
        if id(span.line) not in facts:
            facts[id(span.line)] = _facts_of_line(span.line)
        name, shown = facts[id(span.line)]
        found.append(Piece(name, lane, span.begin, span.seconds, shown))
        if span.line.rows:
            names[lane + _ROWS_LANE] = f"{names[lane]}: rows of networks, timed one by one"
            found += _row_pieces(span.line, lane + _ROWS_LANE, span.begin, span.seconds)
    found.sort(key=lambda piece: (piece.begin, -piece.seconds))
    return found, names


def _facts_of_line(line: Line) -> tuple[str, Mapping[str, Any]]:
    row = row_of(line)
    name = f"{row.kind}: {row.name}" if row.kind != row.name else row.name
    return name, _facts(row, row.seconds / max(row.count, 1), row.count)


def _facts(row: Row, seconds: float, count: int) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "tier": row.tier,
        "kind": row.kind,
        "ops": " ".join(row.ops),
        "inputs": " ".join(row.took),
        "outputs": " ".join(row.gave),
    }
    flops, moved = row.flops, row.bytes // max(count, 1)
    if flops:
        shown["GFLOP/s"] = round(flops / max(count, 1) / seconds / 1e9, 3) if seconds else 0
        shown["flops"] = flops // max(count, 1)
    if moved:
        shown["bytes"] = moved
    if (flops or moved) and seconds:
        least = peak().least_s((flops or 0) // max(count, 1), moved)
        shown["% of peak"] = round(100 * least / seconds, 1)
    if row.reason:
        shown["why not fused, not compiled"] = row.reason
    return shown


def _row_pieces(line: Line, lane: int, begin: float, seconds: float) -> Iterator[Piece]:
    """Bars for a network's rows, side by side, with widths proportional to their shares."""
    scale = seconds / (sum(line.rows) or 1.0)
    for row in network_rows(line):
        width = row.seconds * scale
        shown = {**_facts(row, row.seconds, 1), "measured by itself, us": 1e6 * row.seconds}
        yield Piece(f"{row.kind}: {row.name}", lane, begin, width, shown)
        begin += width


# Chrome.


def chrome_trace(recorder: Recorder) -> bytes:
    """The trace as JSON."""
    pieces, lanes = pieces_of(recorder)
    events: list[dict[str, Any]] = [
        {"ph": "M", "pid": _PROCESS, "name": "process_name", "args": {"name": "pinnace"}}
    ]
    for lane, name in sorted(lanes.items()):
        common = {"ph": "M", "pid": _PROCESS, "tid": lane}
        events.append({**common, "name": "thread_name", "args": {"name": name}})
        events.append({**common, "name": "thread_sort_index", "args": {"sort_index": lane}})
    events += [
        {
            "ph": "X",
            "pid": _PROCESS,
            "tid": piece.lane,
            "name": piece.name,
            "cat": str(piece.facts.get("tier", "user")),
            "ts": round(1e6 * piece.begin, 3),
            "dur": round(1e6 * piece.seconds, 3),
            "args": {key: _plain(value) for key, value in piece.facts.items()},
        }
        for piece in pieces
    ]
    whole = {
        "displayTimeUnit": "ns",
        "otherData": {"peak": peak().text},
        "traceEvents": events,
    }
    return json.dumps(whole, separators=(",", ":")).encode()


def _plain(value: Any) -> str | int | float | bool:
    return value if isinstance(value, str | int | float | bool) else str(value)


# XSpace.


def xspace(recorder: Recorder) -> bytes:
    """The trace as an XSpace message: one plane, with a line per lane."""
    pieces, lanes = pieces_of(recorder)
    names: dict[str, int] = {}
    stats: dict[str, int] = {}
    lines: dict[int, list[bytes]] = {lane: [] for lane in lanes}
    for piece in pieces:
        number = names.setdefault(piece.name, len(names) + 1)
        event = _number(1, number) + _number(2, round(1e12 * piece.begin))
        event += _number(3, round(1e12 * piece.seconds))
        for key, value in piece.facts.items():
            event += _field(4, _stat(stats.setdefault(key, len(stats) + 1), _plain(value)))
        lines[piece.lane].append(event)
    plane = _number(1, 1) + _field(2, b"/host:CPU")
    for lane, events in lines.items():
        body = _number(1, lane) + _field(2, lanes[lane].encode())
        plane += _field(3, body + b"".join(_field(4, event) for event in events))
    plane += _named(4, names) + _named(5, stats)
    return _field(1, plane) + _field(4, socket.gethostname().encode())


def _named(number: int, names: Mapping[str, int]) -> bytes:
    """A map of ids to metadata: id and name."""
    found = b""
    for name, one in names.items():
        metadata = _number(1, one) + _field(2, name.encode())
        found += _field(number, _number(1, one) + _field(2, metadata))
    return found


def _stat(number: int, value: str | float) -> bytes:
    head = _number(1, number)
    if isinstance(value, int):
        return head + _number(3, max(0, int(value)))
    text = value if isinstance(value, str) else f"{value:.6g}"
    return head + _field(5, text.encode())


def _number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(max(0, value))


def _field(number: int, data: bytes) -> bytes:
    return field_header(number, len(data)) + data


# Files.


def save(recorder: Recorder, path: str | os.PathLike[str]) -> list[Path]:
    """Write a trace; see `Profile.save`."""
    target = Path(os.fspath(path))
    if target.name.endswith((".json", ".json.gz")):
        with explained("make", target.parent):
            target.parent.mkdir(parents=True, exist_ok=True)
        data = chrome_trace(recorder)
        write_file(target, gzip.compress(data) if target.name.endswith(".gz") else data)
        return [target]
    return _save_folder(recorder, target)


def _save_folder(recorder: Recorder, logdir: Path) -> list[Path]:
    host = socket.gethostname() or "host"
    with explained("make", logdir):
        runs = logdir / "plugins" / "profile"
        runs.mkdir(parents=True, exist_ok=True)
    folder = _new_folder(runs)
    contents: Iterable[tuple[str, bytes]] = (
        (f"{host}.trace.json.gz", gzip.compress(chrome_trace(recorder))),
        (f"{host}.xplane.pb", xspace(recorder)),
    )
    written = []
    for name, data in contents:
        write_file(folder / name, data)
        written.append(folder / name)
    if not any(logdir.glob("*.profile-empty")):
        # TensorBoard finds profiles only beside an event file.
        from pinnace.storage.record import RecordWriter

        name = f"events.out.tfevents.{int(time.time()):010d}.{host}.profile-empty"
        with explained("write", logdir / name):
            RecordWriter(logdir / name).close()
        written.append(logdir / name)
    return written


def _new_folder(runs: Path) -> Path:
    """A folder for this run, named by time as in TensorFlow, and numbered if it exists."""
    stamp = time.strftime("%Y_%m_%d_%H_%M_%S")
    for number in range(1000):
        folder = runs / (stamp if not number else f"{stamp}_{number}")
        with explained("make", folder):
            try:
                folder.mkdir()
            except FileExistsError:
                continue
            return folder
    raise AlreadyExistsError(f"{runs / stamp}: a thousand profiles of this second are there")
