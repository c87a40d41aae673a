"""`make bench-memory`: how a client of the same machine sends pictures, and gets pictures back.

One client, one connection, one request after the other. What is timed goes from an array to an
array: the client's own work of writing the request and reading the answer is part of it, for a way
in that is fast for the server alone helps nobody. The model inverts pictures, which takes next to
no time: what is left is the way.
"""

from __future__ import annotations

import argparse
import functools
import http.client
import json
import os
import platform
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import TypeAlias

import grpc
import numpy as np
import orjson
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import pinnace as tf  # noqa: E402
from pinnace.proto import inference_service_pb2 as v2  # noqa: E402
from servers.load import clean_environment  # noqa: E402
from servers.processes import Started, start  # noqa: E402

PICTURE = (224, 224, 3)
COUNTS = (1, 8)  # pictures of a request
_INFER = "/v2/models/m/infer"
_METHOD = "/inference.GRPCInferenceService/ModelInfer"
_REGION = "pictures"
_BODY = "--max_expansion_bytes=1073741824"
Way: TypeAlias = Callable[[np.ndarray], np.ndarray]


@dataclass
class Point:
    """What was measured of one way; medians of the rounds.

    Attributes:
        way: its name.
        pictures: of each request.
        ms: from an array to an array.
        cpu_ms: processor time of the server for a request.
    """

    way: str
    pictures: int
    ms: float
    cpu_ms: float


def write_model(folder: Path) -> None:
    """A model whose answer is as large as what it is asked."""
    module = tf.Module()
    spec = tf.TensorSpec([None, *PICTURE], tf.float32, name="x")
    module.f = tf.function(lambda x: {"y": 1.0 - x}, input_signature=[spec], autograph=False)
    tf.saved_model.save(module, str(folder), signatures=module.f)


def pictures(count: int) -> np.ndarray:
    """[count, 224, 224, 3] of float32 in [0, 1), in steps that float32 has exactly."""
    drawn = np.random.default_rng(0).integers(0, 2**16, (count, *PICTURE))
    return (drawn / np.float32(2**16)).astype(np.float32)


class Client:
    """The ways in.

    Args:
        http: port.
        channel: of gRPC.
        memory: that is registered as a region; its first half is for inputs, the rest for answers.
    """

    def __init__(self, http_port: int, channel: grpc.Channel, memory: SharedMemory) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", http_port, timeout=120)
        self._infer = channel.unary_unary(_METHOD)
        self._memory = memory
        self._half = memory.size // 2
        key = {"key": memory.name, "offset": 0, "byte_size": memory.size}
        self._post(f"/v2/systemsharedmemory/region/{_REGION}/register", json.dumps(key).encode())

    @property
    def ways(self) -> dict[str, Way]:
        """By name; the others are compared with the first."""
        return {
            "HTTP, shared memory": self.by_memory,
            "gRPC, shared memory": self.by_memory_and_grpc,
            "HTTP, bytes": self.by_bytes,
            "gRPC, bytes": self.by_grpc,
            "HTTP, JSON": self.by_json,
        }

    def forget(self) -> None:
        """Clear the memory for answers: no way is given the answer of another one."""
        np.ndarray(self._half, np.uint8, self._memory.buf, self._half)[:] = 0

    def by_json(self, x: np.ndarray) -> np.ndarray:
        """Numbers as text, rows of pictures."""
        body = orjson.dumps({"instances": x}, option=orjson.OPT_SERIALIZE_NUMPY)
        reply, _ = self._post("/v1/models/m:predict", body)
        return np.array(orjson.loads(reply)["predictions"], np.float32)

    def by_bytes(self, x: np.ndarray) -> np.ndarray:
        """A JSON header, and the bytes of the array after it."""
        data = x.tobytes()
        tensor = _tensor(x, {"binary_data_size": len(data)})
        head = orjson.dumps({"inputs": [tensor], "parameters": {"binary_data_output": True}})
        headers = {"Inference-Header-Content-Length": str(len(head))}
        reply, found = self._post(_INFER, head + data, headers)
        begin = int(found["inference-header-content-length"])
        return np.frombuffer(reply, np.float32, offset=begin).reshape(x.shape)

    def by_memory(self, x: np.ndarray) -> np.ndarray:
        """A JSON request that says where the array is."""
        inside, outside = self._places(x)
        request = {
            "inputs": [_tensor(x, inside)],
            "outputs": [{"name": "y", "parameters": outside}],
        }
        self._post(_INFER, orjson.dumps(request))
        return self._answer(x)

    def by_grpc(self, x: np.ndarray) -> np.ndarray:
        """The bytes of the array in a message."""
        request = _message(x)
        request.raw_input_contents.append(x.tobytes())
        found = v2.ModelInferResponse.FromString(self._infer(request.SerializeToString()))
        return np.frombuffer(found.raw_output_contents[0], np.float32).reshape(x.shape)

    def by_memory_and_grpc(self, x: np.ndarray) -> np.ndarray:
        """A message that says where the array is."""
        request = _message(x)
        output = request.outputs.add(name="y")
        for parameters, place in zip(
            (request.inputs[0].parameters, output.parameters), self._places(x), strict=True
        ):
            for name, value in place.items():
                if isinstance(value, str):
                    parameters[name].string_param = value
                else:
                    parameters[name].int64_param = value
        self._infer(request.SerializeToString())
        return self._answer(x)

    def _places(self, x: np.ndarray) -> tuple[dict[str, str | int], dict[str, str | int]]:
        """Put the pictures into the memory; where they are, and where the answer shall be."""
        np.ndarray(x.shape, x.dtype, self._memory.buf)[:] = x
        place = {"shared_memory_region": _REGION, "shared_memory_byte_size": x.nbytes}
        return place, {**place, "shared_memory_offset": self._half}

    def _answer(self, x: np.ndarray) -> np.ndarray:
        return np.ndarray(x.shape, np.float32, self._memory.buf, self._half)

    def _post(
        self, path: str, body: bytes, headers: dict[str, str] | None = None
    ) -> tuple[bytes, dict[str, str]]:
        self._connection.request("POST", path, body, headers or {})
        reply = self._connection.getresponse()
        data = reply.read()
        assert reply.status == 200, data[:500]
        return data, {name.lower(): value for name, value in reply.getheaders()}


def _tensor(x: np.ndarray, parameters: dict[str, str | int]) -> dict[str, object]:
    return {"name": "x", "shape": x.shape, "datatype": "FP32", "parameters": parameters}


def _message(x: np.ndarray) -> v2.ModelInferRequest:
    request = v2.ModelInferRequest(model_name="m")
    request.inputs.add(name="x", datatype="FP32", shape=x.shape)
    return request


@contextmanager
def served(most: int) -> Iterator[tuple[Client, Started]]:
    """A server with the model, and a client of it.

    Args:
        most: pictures of a request.
    """
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_model(folder / "m" / "1")
        port, grpc_port = _free_port(), _free_port()
        flags = [f"--rest_api_port={port}", f"--port={grpc_port}", "--shared_memory", _BODY]
        serve = ["-m", "pinnace.deploy.cli.main", "serve", "--host=127.0.0.1", *flags]
        python = os.environ.get("PINNACE_WHEEL_PYTHON", sys.executable)
        form = (orjson.dumps({"instances": pictures(1).tolist()}), {})
        started = start(
            [python, *serve, f"m={folder / 'm'}"],
            clean_environment(),
            folder,
            port,
            "/v1/models/m:predict",
            *form,
        )
        size = 2 * most * int(np.prod(PICTURE)) * 4
        memory = SharedMemory(create=True, size=size)
        options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        try:
            with grpc.insecure_channel(f"127.0.0.1:{grpc_port}", options) as channel:
                yield Client(port, channel, memory), started
        finally:
            started.stop()
            memory.close()
            memory.unlink()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def measure(counts: Sequence[int], seconds: float, rounds: int) -> list[Point]:
    """The points of all ways, which are asked in turn: what slows one slows the others.

    Args:
        counts: pictures of a request.
        seconds: that each way is asked in a round.
        rounds: whose medians count.
    """
    points = []
    with served(max(counts)) as (client, started):
        for count in counts:
            x = pictures(count)
            for name, way in client.ways.items():
                for _ in range(2):  # the second answer is that of what was compiled meanwhile
                    client.forget()
                    np.testing.assert_array_equal(way(x), 1.0 - x, err_msg=name)
            started.rest()
            found: dict[str, list[tuple[float, float]]] = {name: [] for name in client.ways}
            for _ in range(rounds):
                for name, way in client.ways.items():
                    found[name].append(_round(functools.partial(way, x), started, seconds))
            for name, rows in found.items():
                ms, cpu = (statistics.median(column) for column in zip(*rows, strict=True))
                points.append(Point(name, count, ms * 1e3, cpu * 1e3))
    return points


def _round(ask: Callable[[], np.ndarray], started: Started, seconds: float) -> tuple[float, float]:
    """Median seconds of a request, and of the server's processor time for each."""
    times = []
    before = started.cpu_s()
    end = time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        begin = time.perf_counter()
        ask()
        times.append(time.perf_counter() - begin)
    return statistics.median(times), (started.cpu_s() - before) / len(times)


HEADINGS = ("pictures", "way in", "ms", "server's CPU ms", "in times of shared memory")


def rows_of(points: list[Point]) -> list[tuple[str, ...]]:
    """The rows of the table."""
    rows = []
    for count in dict.fromkeys(point.pictures for point in points):
        mine = [point for point in points if point.pictures == count]
        size = count * int(np.prod(PICTURE)) * 4 / 2**20
        for place, point in enumerate(mine):
            ratio = "" if not place else f"{point.ms / mine[0].ms:.1f}"
            load = "" if place else f"{count} ({size:.1f} MiB)"
            rows.append((load, point.way, f"{point.ms:.2f}", f"{point.cpu_ms:.2f}", ratio))
    return rows


def write_markdown(path: Path, points: list[Point]) -> None:
    """The table as a page, and the figures beside it as JSON."""
    lines = [
        "# Ways in for clients on the same machine",
        "",
        "Written by `make bench-memory`: pictures of 224 × 224 × 3 float32 values go to a model",
        "that inverts them, and come back; one client, one request after the other, from an array",
        "to an array. Answers are checked before they are timed, and the ways take turns.",
        "[Shared memory](../docs/guide/serving.md) needs `--shared_memory`.",
        "",
        f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} then.",
        "",
        "| " + " | ".join(HEADINGS) + " |",
        "|" + "---|" * len(HEADINGS),
        *("| " + " | ".join(row) + " |" for row in rows_of(points)),
    ]
    path.write_text("\n".join(lines) + "\n")
    figures = [asdict(point) for point in points]
    path.with_suffix(".json").write_text(json.dumps(figures, indent=1) + "\n")


def main() -> int:
    """Measure, print the table, and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="of a way in a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--short", action="store_true", help="ask each way a few times, for tests")
    parser.add_argument("--markdown", type=Path, help="file to write the table to")
    given = parser.parse_args()
    plan = ((1,), 0.0, 2) if given.short else (COUNTS, given.seconds, given.rounds)
    points = measure(*plan)
    table = Table(*HEADINGS, title="from an array to an array")
    for row in rows_of(points):
        table.add_row(*row)
    Console(width=120).print(table)
    if given.markdown:
        write_markdown(given.markdown, points)
    return 0


if __name__ == "__main__":
    sys.exit(main())
