"""PredictionService.Predict under h2load: our gRPC port beside bare grpc.aio servers on uvloop."""

from __future__ import annotations

import json
import os
import re
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import grpc
import numpy as np

from servers.load import MODELS, clean_environment
from servers.models import rows as inputs_of
from servers.peers.wire_format import field, varint
from servers.processes import START_S, Started

CONNECTIONS = 64
_METHOD = "/tensorflow.serving.PredictionService/Predict"
# What the peers are called, and what they do with a request: see peers/grpc_aio_server.py.
_PEERS = {
    "grpc.aio, uvloop: protobuf, NumPy": "same",
    "grpc.aio, uvloop: bytes cut, ONNX Runtime": "bytes",
}


def request(model: str, count: int) -> bytes:
    """A PredictRequest of so many rows, its tensor as bytes."""
    x = inputs_of(count)
    shape = field(2, b"".join(field(2, b"\x08" + varint(size)) for size in x.shape))
    tensor = b"\x08\x01" + shape + field(4, x.tobytes())
    inputs = field(2, field(1, b"inputs") + field(2, tensor))
    return field(1, field(1, model.encode())) + inputs


def start_ours(flags: list[str], environment: dict[str, str], folder: Path) -> Started:
    """`pinnace serve` with its gRPC port."""
    port = _free_port()
    serve = ["-m", "pinnace.deploy.cli.main", "serve", "--host=127.0.0.1", "--rest_api_port=0"]
    return _start([*serve, f"--port={port}", *flags], environment, folder, port)


def start_bare(work: str, environment: dict[str, str], folder: Path) -> Started:
    """grpc.aio on uvloop, and the model.

    Args:
        work: what it does with a request.
        environment: that it gets.
        folder: for its output.
    """
    port = _free_port()
    server = Path(__file__).parent / "peers" / "grpc_aio_server.py"
    return _start([str(server)], environment | {"PORT": str(port), "WORK": work}, folder, port)


def check(started: Started, model: str, expected: np.ndarray) -> None:
    """The server answers what the formula gives."""
    from pinnace.graph.codec.tensors import decode_tensor
    from pinnace.proto.predict_pb2 import PredictResponse

    with grpc.insecure_channel(f"127.0.0.1:{started.port}") as channel:
        call = channel.unary_unary(_METHOD)
        (output,) = PredictResponse.FromString(call(request(model, 4))).outputs.values()
    np.testing.assert_allclose(decode_tensor(output), expected[:4], rtol=1e-3, atol=1e-5)


def alternate(
    servers: dict[str, Started], model: str, seconds: int, runs: int
) -> dict[str, tuple[float, float, int]]:
    """Requests a second, CPU microseconds and failures of each server, asked in turn: medians."""
    found: dict[str, list[tuple[float, float, int]]] = {name: [] for name in servers}
    with tempfile.NamedTemporaryFile() as file:
        message = request(model, 1)
        file.write(b"\0" + struct.pack(">I", len(message)) + message)
        file.flush()
        for turn in range(runs + 1):
            for name, started in servers.items():
                point = _load(started, file.name, seconds)
                if turn:
                    found[name].append(point)
                else:  # it warms
                    started.rest()
    return {
        name: (
            statistics.median(point[0] for point in points),
            statistics.median(point[1] for point in points),
            sum(point[2] for point in points),
        )
        for name, points in found.items()
    }


def measure_grpc(seconds: int, runs: int) -> tuple[list[tuple[str, ...]], bool]:
    """The rows of the gRPC port; and whether its aim is met."""
    environment = clean_environment() | {"MODEL": str(MODELS / "a.onnx")}
    expected = np.array(json.loads((MODELS / "a.json").read_text()))
    servers: dict[str, Started] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        model = f"a={MODELS / 'a'}"
        try:
            servers["pinnace"] = start_ours([model], environment, folder)
            for name, work in _PEERS.items():
                servers[name] = start_bare(work, environment, folder)
            servers["pinnace+onnxruntime"] = start_ours(
                [model, "--engine=onnxruntime"], environment, folder
            )
            for started in servers.values():
                check(started, "a", expected)
            found = alternate(servers, "a", seconds, runs)
        finally:
            for started in servers.values():
                started.stop()
    load = f"a, gRPC, 1 rows, {CONNECTIONS} connections"
    ours, failed = found["pinnace"][0], found["pinnace"][2]
    rows, is_met = [], not failed
    for name, (rate, cpu, errors) in found.items():
        shown = f"{name} ({errors} errors)" if errors else name
        ratio, aim, verdict = "", "", ""
        if name in _PEERS:
            good = ours >= rate
            ratio, aim, verdict = f"{ours / rate:.2f}", "≥ 1", "" if good else "missed"
            is_met &= good
        rows.append((load, shown, f"{rate:,.0f}", f"{cpu:.0f}", "", "", ratio, aim, verdict))
        load = ""
    return rows, is_met


def _load(started: Started, body: str, seconds: int) -> tuple[float, float, int]:
    url = f"http://127.0.0.1:{started.port}{_METHOD}"
    headers = ["-H", "content-type: application/grpc", "-H", "te: trailers"]
    command = ["h2load", "-t1", f"-c{CONNECTIONS}", "-m1", f"-D{seconds}", "-d", body, *headers]
    before = started.cpu_s()
    text = subprocess.run([*command, url], capture_output=True, text=True, check=True).stdout
    done = re.search(r"(\d+) succeeded, (\d+) failed, (\d+) errored", text)
    rate = re.search(r"finished in .*?, ([\d.]+) req/s", text)
    assert done is not None, text
    assert rate is not None, text
    used = (started.cpu_s() - before) / max(int(done[1]), 1)
    return float(rate[1]), used * 1e6, int(done[2]) + int(done[3])


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _start(arguments: list[str], environment: dict[str, str], folder: Path, port: int) -> Started:
    log = folder / f"log-{port}"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *arguments], env=os.environ | environment, stdout=output, stderr=output
        )
    started = Started(process, port, 0.0)
    deadline = time.monotonic() + START_S
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        try:
            grpc.channel_ready_future(channel).result(deadline - time.monotonic())
        except grpc.FutureTimeoutError:
            started.stop()
            raise RuntimeError(f"{arguments}: did not answer\n{log.read_text()}") from None
    return started
