"""`make soak`: a server under mixed load for a long time, reloaded often, with faults injected.

Good clients (JSON, raw tensors, gRPC) call two models continuously and check every response;
meanwhile versions are added and removed, broken ones too, and bad clients send garbage, disconnect,
or stall. No request of a good client may fail, and memory may grow by less than 2 % after the
warm-up.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import pinnace as tf

ROWS = 4
_GROWTH = 0.02


@dataclass
class Tally:
    """The results of the clients."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    versions: set[int] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def good(self, kind: str, version: int) -> None:
        """Count a response."""
        with self.lock:
            self.counts[kind] += 1
            self.versions.add(version)

    def failed(self, kind: str, reason: str) -> None:
        """Count a request that should not have failed."""
        with self.lock:
            self.counts[f"{kind} FAILED"] += 1
            if len(self.failures) < 20:
                self.failures.append(f"{kind}: {reason}"[:300])


class Scale(tf.Module):
    """y = x * version, so that a response identifies its version."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = tf.Variable(np.full((16,), factor, np.float32))

    @tf.function(input_signature=[tf.TensorSpec([None, 16], tf.float32, name="x")])
    def scale(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": x * self.factor}


def write_version(base: Path, version: int) -> None:
    """Write a new version, which gets a number as its name when it is complete."""
    model = Scale(float(version))
    temporary = base.with_name(f"{base.name}.new")
    tf.saved_model.save(model, str(temporary), signatures=model.scale)
    temporary.rename(base / str(version))


def check(values: np.ndarray, x: np.ndarray, version: int) -> None:
    """Check that the response is that of the version which it names."""
    np.testing.assert_array_equal(values, x * np.float32(version))


def json_client(port: int, model: str, tally: Tally, stop: threading.Event) -> None:
    """Sends JSON requests on one connection."""
    x = np.arange(ROWS * 16, dtype=np.float32).reshape(ROWS, 16)
    body = json.dumps({"instances": x.tolist()})
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    while not stop.is_set():
        try:
            connection.request("POST", f"/v1/models/{model}:predict", body)
            reply = connection.getresponse()
            text = reply.read()
            assert reply.status == 200, (reply.status, text[:200])
            version = int(reply.headers["x-model-version"])
            check(np.array(json.loads(text)["predictions"], np.float32), x, version)
            tally.good("json", version)
        except Exception as error:
            tally.failed("json", repr(error))
            connection.close()


def raw_client(port: int, model: str, tally: Tally, stop: threading.Event) -> None:
    """Sends raw tensors, each time on a new connection."""
    x = np.arange(ROWS * 16, dtype=np.float32).reshape(ROWS, 16)
    tensor = {"name": "x", "shape": [ROWS, 16], "datatype": "FP32"}
    tensor["parameters"] = {"binary_data_size": x.nbytes}
    head = json.dumps({"inputs": [tensor], "parameters": {"binary_data_output": True}}).encode()
    headers = {"Inference-Header-Content-Length": str(len(head))}
    while not stop.is_set():
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            connection.request("POST", f"/v2/models/{model}/infer", head + x.tobytes(), headers)
            reply = connection.getresponse()
            data = reply.read()
            assert reply.status == 200, (reply.status, data[:200])
            size = int(reply.headers["inference-header-content-length"])
            version = int(reply.headers["x-model-version"])
            check(np.frombuffer(data[size:], np.float32).reshape(x.shape), x, version)
            tally.good("raw", version)
        except Exception as error:
            tally.failed("raw", repr(error))
        finally:
            connection.close()


def grpc_client(port: int, model: str, tally: Tally, stop: threading.Event) -> None:
    """Sends gRPC requests."""
    import grpc

    from pinnace.graph.codec.tensors import decode_tensor, encode_tensor
    from pinnace.proto.predict_pb2 import PredictRequest, PredictResponse

    x = np.arange(ROWS * 16, dtype=np.float32).reshape(ROWS, 16)
    request = PredictRequest()
    request.model_spec.name = model
    request.inputs["x"].CopyFrom(encode_tensor(x))
    data = request.SerializeToString()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        call = channel.unary_unary("/tensorflow.serving.PredictionService/Predict")
        while not stop.is_set():
            try:
                response = PredictResponse.FromString(call(data, timeout=30))
                version = response.model_spec.version.value
                check(decode_tensor(response.outputs["y"]), x, version)
                tally.good("grpc", version)
            except Exception as error:
                tally.failed("grpc", repr(error))


def bad_client(port: int, tally: Tally, stop: threading.Event) -> None:
    """Sends invalid requests."""
    chosen = random.Random(1)
    path = b"POST /v1/models/fast:predict HTTP/1.1\r\nHost: a\r\nContent-Length: "
    garbage = [
        path + b"5\r\n\r\n{{{{{",
        path + b"100000\r\n\r\n{",
        path + b"999999999999\r\n\r\n",
        path + b"-1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET /v1/models/none HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n" * 50,
        path + b'30\r\n\r\n{"instances": [[1,2],[3]]}    ',
        path + b"40\r\n\r\n" + b"[" * 40,
    ]
    while not stop.wait(0.02):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5) as s:
            s.settimeout(0.5)
            s.sendall(chosen.choice(garbage))
            how = chosen.randrange(3)
            if how == 0:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            elif how == 1:
                s.recv(1000)
            tally.good("bad", 0)


def reload(base: Path, every_s: float, tally: Tally, stop: threading.Event) -> None:
    """Add new versions, remove old ones, and have broken ones for a while."""
    version = 1
    while not stop.wait(every_s):
        version += 1
        broken = base / str(version + 1000)
        broken.mkdir()
        (broken / "saved_model.pb").write_bytes(os.urandom(1000))
        write_version(base, version)
        time.sleep(min(3.0, every_s / 4))
        shutil.rmtree(broken)
        if version > 2:
            shutil.rmtree(base / str(version - 2))
        tally.good("reload", version)


def memory_mib(pid: int) -> float:
    """Resident memory of the server.

    Not the proportional share, which is smaller while other processes use the same libraries.
    """
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    found = re.search(r"Rss:\s+(\d+)", text)
    assert found is not None
    return int(found[1]) / 1024


def main() -> int:
    """Run the test and print the results; returns 1 on a failure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    given = parser.parse_args()
    seconds = given.minutes * 60
    every_s = min(60.0, max(2.0, seconds / 10))
    with tempfile.TemporaryDirectory() as temporary:
        return soak(Path(temporary), seconds, every_s)


def soak(folder: Path, seconds: float, every_s: float) -> int:
    """Run once; returns the exit code."""
    for name in ("fast", "slow"):
        (folder / name).mkdir()
        write_version(folder / name, 1)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        grpc_port = free.getsockname()[1]
    log = (folder / "log").open("w")
    models = [f"{name}={folder / name}" for name in ("fast", "slow")]
    flags = ["--host=127.0.0.1", "--rest_api_port=0", f"--port={grpc_port}"]
    command = [sys.executable, "-m", "pinnace.deploy.cli.main", "serve", *models, *flags]
    server = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    stop, tally = threading.Event(), Tally()
    try:
        port = _wait_for_port(folder / "log", server)
        threads = [
            threading.Thread(target=target, args=(*arguments, tally, stop))
            for target, arguments in (
                (json_client, (port, "fast")),
                (json_client, (port, "slow")),
                (json_client, (port, "fast")),
                (raw_client, (port, "fast")),
                (raw_client, (port, "slow")),
                (grpc_client, (grpc_port, "fast")),
                (bad_client, (port,)),
                (reload, (folder / "slow", every_s)),
            )
        ]
        for thread in threads:
            thread.start()
        begin = time.monotonic()
        samples: list[tuple[float, float]] = []
        while (passed := time.monotonic() - begin) < seconds:
            time.sleep(min(5.0, seconds / 20))
            samples.append((passed, memory_mib(server.pid)))
            counts = ", ".join(f"{kind} {n:,}" for kind, n in sorted(tally.counts.items()))
            sys.stderr.write(f"\r{passed:6.0f} s  {samples[-1][1]:.1f} MiB  {counts}   ")
            sys.stderr.flush()
            if server.poll() is not None:
                break
        stop.set()
        for thread in threads:
            thread.join()
        sys.stderr.write("\n")
        alive = server.poll() is None
    finally:
        stop.set()
        server.send_signal(signal.SIGTERM)
        server.wait(60)
        log.close()
    return report(samples, seconds, tally, alive, server.returncode, folder / "log")


def report(
    samples: list[tuple[float, float]],
    seconds: float,
    tally: Tally,
    alive: bool,
    code: int,
    log: Path,
) -> int:
    """Print the results; returns the exit code."""
    # Half of the time warms caches; after it the lowest tenth of samples is the memory in use.
    half = [mib for passed, mib in samples if passed >= seconds / 2]
    third = max(1, len(half) // 3)
    begin, end = min(half[:third]), min(half[-third:])
    growth = end / begin - 1
    failed = sum(n for kind, n in tally.counts.items() if kind.endswith("FAILED"))
    good = sum(tally.counts[kind] for kind in ("json", "raw", "grpc"))
    lines = [
        f"requests of good clients: {good:,} answered, {failed} failed",
        f"versions that answered: {sorted(tally.versions - {0})}",
        f"bad clients: {tally.counts['bad']:,} attempts; reloads: {tally.counts['reload']}",
        f"memory: {begin:.1f} MiB at half time, {end:.1f} MiB at the end, {growth:+.1%}",
        f"server: {'alive until stopped' if alive else 'DIED'}, exit code {code}",
        *(f"  {failure}" for failure in tally.failures),
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    is_good = alive and code == 0 and failed == 0 and good > 0 and growth < _GROWTH
    if not is_good:
        sys.stdout.write(log.read_text()[-4000:])
    return 0 if is_good else 1


def _is_ready(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def _wait_for_port(log: Path, server: subprocess.Popen[bytes]) -> int:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and server.poll() is None:
        found = re.search(r"Serving on http://[^:]+:(\d+)", log.read_text())
        if found and _is_ready(int(found[1])):  # its gRPC port opens after the HTTP port
            return int(found[1])
        time.sleep(0.05)
    raise RuntimeError(f"the server did not start:\n{log.read_text()}")


if __name__ == "__main__":
    sys.exit(main())
