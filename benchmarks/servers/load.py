"""A load of requests by wrk, and what it measured."""

from __future__ import annotations

import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from servers.bodies import Form
    from servers.processes import Started

HERE = Path(__file__).resolve().parent
MODELS = HERE.parent.parent / ".cache" / "serving-models"
PINNED = ("OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")


@dataclass(frozen=True)
class Case:
    """One load.

    Attributes:
        model: of `models.SIZES`.
        form: of the requests to us; peers that do not read it get the one they read.
        rows: of each request.
        connections: that ask at once.
        peers: with the least ratio of our requests a second to theirs.
        cpu_us: the most processor time for each request; 0 for no aim.
        ours: which of our servers.
        beyond_ms: the most by which p50 may lie above the model's own time; 0 for no aim.
    """

    model: str
    form: str
    rows: int
    connections: int
    peers: dict[str, float]
    cpu_us: float = 0.0
    ours: str = "pinnace"
    beyond_ms: float = 0.0


@dataclass
class Point:
    """What was measured of one server under one load; medians of the runs.

    Attributes:
        alone_ms: the model's own time for a row.
        beyond_ms: how far p50 lies above it: of each run, above the times just before and after.
    """

    server: str
    model: str
    form: str
    rows: int
    connections: int
    per_second: float
    p50_ms: float
    p99_ms: float
    cpu_us: float
    errors: int
    alone_ms: float = 0.0
    beyond_ms: float = 0.0


@dataclass(frozen=True)
class Side:
    """A server under load.

    Attributes:
        started: the server.
        path: of the requests.
        form: of the requests.
        alone: measures the model's own time in milliseconds, just before and after each run, since
            the machine changes meanwhile; None if nobody asks.
    """

    started: Started
    path: str
    form: Form
    alone: Callable[[], float] | None = None


def measure(
    started: Started, path: str, form: Form, case: Case, seconds: int, runs: int, warming: int = 3
) -> Point:
    """Load a server with wrk; see `measure_in_turn`."""
    (point,) = measure_in_turn([Side(started, path, form)], case, seconds, runs, warming)
    return point


def measure_in_turn(
    sides: Sequence[Side], case: Case, seconds: int, runs: int, warming: int = 3
) -> list[Point]:
    """Load servers with wrk, one after the other in each round: what slows one slows the others.

    Args:
        sides: the servers.
        case: the load.
        seconds: of a run.
        runs: whose medians count.
        warming: loads of a second before, each until the server is done with what it began.
    """
    with tempfile.TemporaryDirectory() as folder:
        loads = []
        for number, side in enumerate(sides):
            place = Path(folder) / str(number)
            place.mkdir()
            loads.append(load_command(side, case, place))
        for side, load in zip(sides, loads, strict=True):
            for _ in range(warming):
                subprocess.run([*load, "-d1s"], capture_output=True, check=True)
                side.started.rest()
        found: list[list[tuple[float, ...]]] = [[] for _ in sides]
        own: list[list[float]] = [[] for _ in sides]
        for _ in range(runs):
            for side, load, rows, times in zip(sides, loads, found, own, strict=True):
                before = side.alone() if side.alone else 0.0
                rows.append(run_load(side.started, load, seconds))
                after = side.alone() if side.alone else 0.0
                times.append((before + after) / 2)
    return [_point(case, *columns) for columns in zip(found, own, strict=True)]


def load_command(side: Side, case: Case, folder: Path) -> list[str]:
    """The command that makes load, without its length."""
    script = folder / "load.lua"
    (folder / "body").write_bytes(side.form.body(case.rows))
    headers = "".join(
        f'wrk.headers["{key}"] = "{value}"\n' for key, value in side.form.headers(case.rows).items()
    )
    script.write_text(
        f'local file = io.open("{folder}/body", "rb")\nwrk.body = file:read("*a")\n'
        f'file:close()\nwrk.method = "POST"\n{headers}'
        "done = function(summary, latency)\n"
        '  io.write(string.format("DONE %d %d %d %d\\n", summary.requests, summary.duration,'
        " latency:percentile(50), latency:percentile(99)))\nend\n"
    )
    url = f"http://127.0.0.1:{side.started.port}{side.path}"
    return ["wrk", "-t1", f"-c{case.connections}", "--timeout=20s", "-s", str(script), url]


def run_load(started: Started, load: list[str], seconds: int) -> tuple[float, ...]:
    """Requests a second, p50 and p99 in milliseconds, microseconds of each request, and errors."""
    before = started.cpu_s()
    done = subprocess.run([*load, f"-d{seconds}s"], capture_output=True, check=True)
    used = started.cpu_s() - before
    text = done.stdout.decode()
    match = re.search(r"DONE (\d+) (\d+) (\d+) (\d+)", text)
    assert match is not None, text
    requests, duration, p50, p99 = map(int, match.groups())
    failed = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    errors = int(failed[1]) if failed else 0
    broken = re.search(
        r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", text
    )
    errors += sum(map(int, broken.groups())) if broken else 0
    each_us = used / requests * 1e6 if requests else math.inf
    return requests / duration * 1e6, p50 / 1e3, p99 / 1e3, each_us, errors


def _point(case: Case, found: list[tuple[float, ...]], own: list[float]) -> Point:
    """The medians of the runs of one side.

    Args:
        case: the load.
        found: of each run.
        own: the model's own time around each run; 0 where it was not measured.
    """
    columns = list(zip(*found, strict=True))
    middle = [statistics.median(column) for column in columns[:4]]
    point = Point(
        "", case.model, "", case.rows, case.connections, *middle, errors=int(sum(columns[4]))
    )
    if any(own):
        point.alone_ms = statistics.median(own)
        above = [p50 - alone for p50, alone in zip(columns[1], own, strict=True)]
        point.beyond_ms = statistics.median(above)
    return point


def own_time_ms(model: str, seconds: int) -> float:
    """Median of the model's own time for a row, in a process that does nothing else."""
    command = [sys.executable, str(HERE / "alone.py"), str(MODELS / model / "1"), str(seconds)]
    done = subprocess.run(command, env=clean_environment(), capture_output=True, check=True)
    return float(done.stdout)


def clean_environment() -> dict[str, str]:
    """That of this process, without what pins the kernels of NumPy."""
    found = {key: value for key, value in os.environ.items() if key not in PINNED}
    return found | {"PYTHONPATH": f"{HERE / 'peers'}{os.pathsep}{HERE.parent}"}


def cells(point: Point) -> tuple[str, ...]:
    name = point.server + (f" ({point.errors} errors)" if point.errors else "")
    return (
        name,
        f"{point.per_second:,.0f}",
        f"{point.cpu_us:.0f}",
        f"{point.p50_ms:.2f}",
        f"{point.p99_ms:.2f}",
    )
