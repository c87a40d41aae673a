"""`make bench-serving`: pinnace beside other servers, the same models and load on the same cores.

Each server answers once and its answer is compared with the formula in float64; then wrk loads it
from the same machine. CPU is the time of the server's process tree for each request: less noisy
than requests a second where the load generator shares the cores.
"""

import argparse
import functools
import json
import math
import os
import platform
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from servers import aims, fresh, grpc_load, models, reloading  # noqa: E402
from servers.bodies import FORMS, Form  # noqa: E402
from servers.load import (  # noqa: E402
    MODELS,
    Case,
    Point,
    Side,
    cells,
    clean_environment,
    measure_in_turn,
    own_time_ms,
)
from servers.processes import Started, ask, start  # noqa: E402

UVICORN = ["-m", "uvicorn", "--host", "127.0.0.1", "--log-level", "error", "--no-access-log"]


@dataclass(frozen=True)
class Server:
    """A way to start a server.

    Attributes:
        python: environment variable that names its interpreter; empty for ours.
        arguments: of the interpreter; @PORT@, @MODELS@ and @MODEL@ are filled in.
        paths: route for each form of request.
    """

    python: str
    arguments: tuple[str, ...]
    paths: dict[str, str]


TFS, V2 = "/v1/models/@MODEL@:predict", "/v2/models/@MODEL@/infer"
PINNACE = (
    *("-m", "pinnace.deploy.cli.main", "serve", "--host=127.0.0.1", "--port=0"),
    *("--rest_api_port=@PORT@", "@MODEL@=@MODELS@/@MODEL@"),
)
SERVERS = {
    "pinnace": Server("", PINNACE, {"json": TFS, "binary": V2, "v2": V2}),
    aims.ECHO: Server(
        "", (*UVICORN, "--port=@PORT@", "uvicorn_echo:app"), {"echo": "/", "binary echo": "/"}
    ),
    aims.BARE: Server(
        "PINNACE_PEERS_PYTHON",
        (*UVICORN, "--port=@PORT@", "--http=bare_protocol:Bare", "bare_protocol:app"),
        {"json": "/", "binary": "/"},
    ),
    "pinnace+onnxruntime": Server("", (*PINNACE, "--engine=onnxruntime"), {"json": TFS}),
    "fastapi": Server(
        "PINNACE_PEERS_PYTHON",
        (*UVICORN, "--port=@PORT@", "fastapi_server:app"),
        {"json": "/predict"},
    ),
    "litserve": Server(
        "PINNACE_PEERS_PYTHON", (str(HERE / "peers" / "litserve_server.py"),), {"json": "/predict"}
    ),
    "mlserver": Server(
        "PINNACE_MLSERVER_PYTHON",
        ("-c", "from mlserver.cli import main; main()", "start", "."),
        {"v2": "/v2/models/m/infer"},
    ),
    "bentoml": Server(
        "PINNACE_BENTOML_PYTHON",
        (
            "-m",
            "bentoml",
            "serve",
            "bentoml_server:Perceptron",
            "--host=127.0.0.1",
            "--port=@PORT@",
        ),
        {"json": "/predict"},
    ),
}

# Loaded in turn, since what they are compared by comes close: a machine's pace changes in minutes.
NEAR = ("pinnace", aims.ECHO, aims.BARE)

CASES = (
    Case(
        *("a", "json", 1, 64),
        {
            "litserve": 35,
            "mlserver": 10,
            aims.ECHO: 1,
            "fastapi": 1,
            "bentoml": 1,
            aims.BARE: 0,
        },
        cpu_us=25,
    ),
    Case("a", "binary", 1, 64, {aims.ECHO: 1.7, aims.BARE: 0}, cpu_us=12),
    Case("a", "json", 32, 64, {"litserve": 30, "mlserver": 1, "fastapi": 1}),
    # With our own engine, at least what ONNX Runtime serves behind the same server.
    Case(
        *("b", "json", 1, 64),
        {"litserve": 7, "mlserver": 1, "fastapi": 1, "pinnace+onnxruntime": 1},
    ),
    Case("b", "json", 1, 64, {"litserve": 14}, ours="pinnace+onnxruntime"),
    Case(
        *("b", "json", 1, 1),
        {"litserve": 1, "fastapi": 1, aims.ECHO: 0, aims.BARE: 0},
        beyond_ms=0.1,
    ),
)


@dataclass
class Running:
    """A server that answers.

    Attributes:
        name: in `SERVERS`.
        started: its processes.
        paths: route for each form of request.
        begin: seconds to its first answer, and memory then.
    """

    name: str
    started: Started
    paths: dict[str, str]
    begin: dict[str, float]


@contextmanager
def running(name: str, model: str) -> Iterator[Running]:
    """A server with one model, as long as the block lasts."""
    server = SERVERS[name]
    ours = os.environ.get("PINNACE_WHEEL_PYTHON", sys.executable)
    python = os.environ.get(server.python, "") if server.python else ours
    if not python:
        raise SystemExit(f"{server.python} is not set: run `make bench-serving`")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    values = {"@PORT@": str(port), "@MODELS@": str(MODELS), "@MODEL@": model}

    def filled(text: str) -> str:
        for key, value in values.items():
            text = text.replace(key, value)
        return text

    environment = clean_environment() | {
        "PORT": str(port),
        "MODEL": str(MODELS / f"{model}.onnx"),
        "BENTOML_DO_NOT_TRACK": "true",
        "PATH": f"{Path(python).parent}:{os.environ['PATH']}",
    }
    paths = {form: filled(path) for form, path in server.paths.items()}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        _write_mlserver(folder, port)
        kind, path = next(iter(paths.items()))
        form = FORMS[kind]
        started = start(
            [python, *map(filled, server.arguments)],
            environment,
            folder,
            port,
            path,
            form.body(1),
            form.headers(1),
        )
        try:
            begin = {"cold_s": started.cold_s, "pss_mib": started.pss_mib()}
            yield Running(name, started, paths, begin)
        finally:
            started.stop()


def run_servers(
    names: Sequence[str], model: str, seconds: int, runs: int
) -> tuple[list[Point], dict[str, dict[str, float]]]:
    """The points of some servers with one model, loaded in turn; and their starts."""
    points = []
    cases = [
        (case, [name for name in names if name in (case.ours, *case.peers)])
        for case in CASES
        if case.model == model
    ]
    wanted = [name for name in names if any(name in asked for _, asked in cases)]
    with ExitStack() as stack:
        here = {name: stack.enter_context(running(name, model)) for name in wanted}
        for case, asked in cases:
            sides = []
            for name in asked:
                one = here[name]
                kind = _form_for(SERVERS[name], case.form)
                _check(name, one.started.port, one.paths[kind], FORMS[kind], case)
                alone = None
                if case.beyond_ms and name == case.ours:
                    alone = functools.partial(own_time_ms, model, seconds)
                sides.append(Side(one.started, one.paths[kind], FORMS[kind], alone))
            # What is compared with a time, not a ratio, is measured more often.
            times = 2 * runs if case.beyond_ms and case.ours in asked else runs
            found = measure_in_turn(sides, case, seconds, times) if sides else []
            for name, point in zip(asked, found, strict=True):
                point.server, point.form = name, _form_for(SERVERS[name], case.form)
                points.append(point)
                Console(stderr=True).print(
                    f"{name:13} {model} {point.form:11} {case.rows:2} rows, "
                    f"{case.connections:2} connections: {point.per_second:8.0f} /s, "
                    f"{point.cpu_us:6.0f} us CPU, p50 {point.p50_ms:.2f} ms, "
                    f"p99 {point.p99_ms:.2f} ms, {point.errors} errors"
                )
        return points, {name: one.begin for name, one in here.items()}


def _form_for(server: Server, form: str) -> str:
    if form in server.paths:
        return form
    if form == "binary" and "binary echo" in server.paths:
        return "binary echo"
    return next(iter(server.paths))


def _check(name: str, port: int, path: str, form: Form, case: Case) -> None:
    """The server answers what the formula gives."""
    status, body, headers = ask(port, path, form.body(case.rows), form.headers(case.rows))
    assert status == 200, (name, status, body[:500])
    if form.read is not None:
        expected = np.array(json.loads((MODELS / f"{case.model}.json").read_text()))[: case.rows]
        np.testing.assert_allclose(form.read(body, headers), expected, rtol=1e-3, atol=1e-5)


def _write_mlserver(folder: Path, port: int) -> None:
    settings = {
        "http_port": port,
        "grpc_port": port + 1 if port < 65000 else port - 1,
        "metrics_port": port + 2 if port < 65000 else port - 2,
        "host": "127.0.0.1",
        "debug": False,
        "parallel_workers": 0,
        "metrics_dir": str(folder),
    }
    (folder / "settings.json").write_text(json.dumps(settings))
    model = {"name": "m", "implementation": "mlserver_runtime.Onnx"}
    (folder / "model-settings.json").write_text(json.dumps(model))


def measure_all(
    names: list[str], seconds: int, runs: int
) -> tuple[list[Point], dict[str, dict[str, float]]]:
    """The points of these servers, and their starts."""
    points: list[Point] = []
    starts: dict[str, dict[str, float]] = {}
    near = [name for name in NEAR if name in names]
    for group in (near, *([name] for name in names if name not in near)):
        for model in models.SIZES:
            try:
                found, begun = run_servers(group, model, seconds, runs)
            except (OSError, RuntimeError) as error:
                if group == near or group[0].startswith("pinnace"):
                    raise
                sys.stderr.write(f"{group[0]} gives no figures with model {model}: {error}\n")
                continue
            points += found
            for name, begin in begun.items():
                starts.setdefault(name, begin)
    return points, starts


def main() -> int:
    """Measure, print the table, and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--servers", default=",".join(SERVERS), help="names, with commas")
    parser.add_argument("--seconds", type=int, default=3, help="of one run")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--markdown", type=Path, help="file to write the table to")
    given = parser.parse_args()
    for tool, package in (("wrk", "wrk"), ("h2load", "nghttp2-client")):
        if shutil.which(tool) is None:
            sys.stderr.write(f"{tool} is missing; it makes load.\n  Try: apt install {package}\n")
            return 1
    MODELS.mkdir(parents=True, exist_ok=True)
    for name in models.SIZES:
        models.write(name, MODELS)
    points, starts = measure_all(given.servers.split(","), given.seconds, given.runs)
    rows, is_met = compare(points, starts)
    if "pinnace" in given.servers.split(","):
        for measured in (reloading.measure_reloads, grpc_load.measure_grpc):
            more, good = measured(given.seconds, given.runs)
            rows += more
            is_met &= good
        for model in models.SIZES:
            rows.append(fresh.measure_fresh(model).row())
            is_met &= not rows[-1][-1]
    headings = (
        "load",
        "server",
        "requests/s",
        "CPU µs",
        "p50 ms",
        "p99 ms",
        "ours / theirs",
        "aim",
        "",
    )
    table = Table(*headings, title="pinnace beside other servers, load generator on the same cores")
    for row in rows:
        table.add_row(*row)
    Console(width=140).print(table)
    if given.markdown:
        write_markdown(given.markdown, headings, rows, points, starts)
    return 0 if is_met else 2


def write_markdown(
    path: Path,
    headings: tuple[str, ...],
    rows: list[tuple[str, ...]],
    points: list[Point],
    starts: dict[str, dict[str, float]],
) -> None:
    """The table as a page, and the figures beside it as JSON."""
    lines = [
        "# Serving benchmarks",
        "",
        "Written by `make bench-serving`: wrk and the servers share the machine's cores;",
        "answers are checked before they are timed. CPU is the processor time of the server's",
        "process tree for each request. Model a is 784-128-10, model b 784-2048-2048-10.",
        *aims.EXPLAINED,
        "",
        f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} then.",
        "",
        "| " + " | ".join(headings) + " |",
        "|" + "---|" * len(headings),
        *("| " + " | ".join(row) + " |" for row in rows),
    ]
    path.write_text("\n".join(lines) + "\n")
    path.with_suffix(".json").write_text(
        json.dumps({"points": [asdict(p) for p in points], "starts": starts}, indent=1) + "\n"
    )


def compare(
    points: list[Point], starts: dict[str, dict[str, float]]
) -> tuple[list[tuple[str, ...]], bool]:
    """The rows of the table; and whether no aim is missed."""
    rows: list[tuple[str, ...]] = []
    for case in CASES:
        load = f"{case.model}, {case.form}, {case.rows} rows, {case.connections} connections"

        def point(server: str, case: Case = case) -> Point | None:
            wanted = (server, case.model, case.rows, case.connections)
            form = _form_for(SERVERS[server], case.form)
            for p in points:
                if (p.server, p.model, p.rows, p.connections) == wanted and p.form == form:
                    return p
            return None

        ours = point(case.ours)
        if ours is None:
            continue
        aim, verdict = aims.of_work(case, ours, point(aims.BARE))
        rows.append((load, *cells(ours), "", aim, aims.MISSED if ours.errors else verdict))
        if case.beyond_ms:
            alone = ("the model alone", "", "", f"{ours.alone_ms:.2f}", "")
            rest = aims.of_delay(case, ours, point(aims.ECHO))
            rows.append(("", *alone, f"{ours.beyond_ms:+.2f} ms", *rest))
        for peer, least in case.peers.items():
            theirs = point(peer)
            if theirs is not None:
                ratio = ours.per_second / theirs.per_second if theirs.per_second else math.inf
                rows.append(("", *cells(theirs), f"{ratio:.2f}", *aims.of_ratio(ratio, least)))
    for name, begin in starts.items():
        text = f"{begin['cold_s']:.2f} s to the first answer, {begin['pss_mib']:.0f} MiB"
        rest = aims.of_start(begin, starts.get(aims.FASTAPI)) if name == "pinnace" else ("", "")
        rows.append((f"start: {text}", name, "", "", "", "", "", *rest))
    return rows, all(row[-1] != aims.MISSED for row in rows)


if __name__ == "__main__":
    sys.exit(main())
