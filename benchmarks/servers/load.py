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
    from collections.abc import Callable

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


def measure(
    started: Started,
    path: str,
    form: Form,
    case: Case,
    seconds: int,
    runs: int,
    warming: int = 3,
    alone: Callable[[], float] | None = None,
) -> Point:
    """Load a server with wrk.

    Args:
        started: the server.
        path: of the requests.
        form: of the requests.
        case: the load.
        seconds: of a run.
        runs: whose medians count.
        warming: loads of a second before, each until the server is done with what it began.
        alone: measures the model's own time in milliseconds: before, between and after the runs,
            since the machine changes meanwhile.
    """
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "load.lua"
        (Path(folder) / "body").write_bytes(form.body(case.rows))
        headers = "".join(
            f'wrk.headers["{key}"] = "{value}"\n' for key, value in form.headers(case.rows).items()
        )
        script.write_text(
            f'local file = io.open("{folder}/body", "rb")\nwrk.body = file:read("*a")\n'
            f'file:close()\nwrk.method = "POST"\n{headers}'
            "done = function(summary, latency)\n"
            '  io.write(string.format("DONE %d %d %d %d\\n", summary.requests, summary.duration,'
            " latency:percentile(50), latency:percentile(99)))\nend\n"
        )
        url = f"http://127.0.0.1:{started.port}{path}"
        load = ["wrk", "-t1", f"-c{case.connections}", "--timeout=20s", "-s", str(script), url]
        for _ in range(warming):
            subprocess.run([*load, "-d1s"], capture_output=True, check=True)
            started.rest()
        found = []
        own = [alone()] if alone else []
        for _ in range(runs):
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
            found.append((requests / duration * 1e6, p50 / 1e3, p99 / 1e3, each_us, errors))
            if alone:
                own.append(alone())
    columns = list(zip(*found, strict=True))
    middle = [statistics.median(column) for column in columns[:4]]
    point = Point("", case.model, "", case.rows, case.connections, *middle, sum(columns[4]))
    if own:
        point.alone_ms = statistics.median(own)
        above = [p50 - sum(own[i : i + 2]) / 2 for i, p50 in enumerate(columns[1])]
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
