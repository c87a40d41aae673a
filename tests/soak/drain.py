"""`make drain-test`: servers are replaced one by one under load, and no request fails.

This simulates Kubernetes on one machine: clients know one address, which forwards connections to
ready servers, like kube-proxy; a server gets SIGTERM, and still gets connections for a while after
it is no longer ready, since endpoints are updated late. Eight HTTP clients with keep-alive and
three gRPC clients send requests without pause, do not retry any that reached a server, and check
each response.

It runs for both front ends, with several workers, and with TLS. `--drain_s 0` shows the effect of
not draining: requests fail.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import pinnace as tf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Tell = Callable[[str, int], None]
    Once = Callable[[], None]

ROWS = 4
_LATE_S = 0.6  # seconds from when a server is not ready to the last connection that it gets
_LOOK_S = 0.2
_TIMEOUT_S = 30
_PLAIN = (
    "import sys; sys.modules['pinnace.serving.fast'] = None\n"
    "from pinnace.deploy.cli.main import main; sys.exit(main(sys.argv[1:]))"
)
VARIANTS: dict[str, tuple[str, ...]] = {
    "hot": (),
    "plain": (),
    "workers": ("--workers=2",),
    "tls": (),
}


class Scale(tf.Module):
    """y = x * version, so that a response identifies its server."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = tf.Variable(np.full((16,), factor, np.float32))

    @tf.function(input_signature=[tf.TensorSpec([None, 16], tf.float32, name="x")])
    def scale(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": x * self.factor}


@dataclass
class Tally:
    """The results of the clients.

    Attributes:
        good: number of responses, by kind of client.
        last: time of each server's last response, by `time.monotonic`.
        failures: requests without a response, or with a wrong one.
    """

    good: Counter[str] = field(default_factory=Counter)
    last: dict[int, float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answered(self, kind: str, version: int) -> None:
        """Count a response."""
        with self.lock:
            self.good[kind] += 1
            self.last[version] = time.monotonic()

    def failed(self, kind: str, error: Exception) -> None:
        """Count a request that should not have failed."""
        with self.lock:
            self.failures.append(f"{kind}: {error!r}"[:300])


class Server:
    """A server process with a separate model: version N multiplies by N.

    Args:
        folder: contains the models `N/1..`.
        number: number of the server, and of its version.
        variant: one of `VARIANTS`.
        drain_s: value of the flag; None omits it.
    """

    def __init__(self, folder: Path, number: int, variant: str, drain_s: float) -> None:
        self.number = number
        self.http_port, self.grpc_port = _free_port(), _free_port()
        self._tls = _client_tls(folder) if variant == "tls" else None
        flags = [
            "serve",
            f"m={folder / str(number)}",
            "--host=127.0.0.1",
            f"--rest_api_port={self.http_port}",
            f"--port={self.grpc_port}",
            f"--drain_s={drain_s}",
            *VARIANTS[variant],
        ]
        if variant == "tls":
            flags += [f"--tls_cert={folder / 'server.pem'}", f"--tls_key={folder / 'server.key'}"]
        program = ["-c", _PLAIN] if variant == "plain" else ["-m", "pinnace.deploy.cli.main"]
        self._log = (folder / f"log-{number}").open("w+")
        self.process = subprocess.Popen(
            [sys.executable, *program, *flags], stdout=self._log, stderr=subprocess.STDOUT
        )

    def is_ready(self) -> bool:
        """Whether it reports that it is ready."""
        connection = _connection(self.http_port, self._tls)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def wait_until_ready(self) -> None:
        """Wait until the server is ready.

        Raises:
            RuntimeError: it ended, or took too long.
        """
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and self.process.poll() is None:
            if self.is_ready():
                return
            time.sleep(0.05)
        raise RuntimeError(f"server {self.number} did not start:\n{self.log()}")

    def log(self) -> str:
        """The output of the server."""
        self._log.flush()
        self._log.seek(0)
        return self._log.read()

    def close(self) -> None:
        """Kill the server if it is still running."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._log.close()


class Balancer:
    """Two ports whose connections go to servers that are, or recently were, ready."""

    def __init__(self) -> None:
        self._servers: dict[Server, float] = {}  # and the time until which they get connections
        self._turn = 0
        self.http_port = self.grpc_port = 0
        opened = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(opened,), daemon=True)
        self._thread.start()
        opened.wait()

    def add(self, server: Server) -> None:
        """Start to forward connections to a ready server."""
        self._servers[server] = float("inf")
        asyncio.run_coroutine_threadsafe(self._look(server), self._loop)

    def close(self) -> None:
        """Accept no more connections."""
        self._loop.call_soon_threadsafe(self._is_over.set)
        self._thread.join()

    def _run(self, opened: threading.Event) -> None:
        asyncio.run(self._live(opened))

    async def _live(self, opened: threading.Event) -> None:
        self._loop, self._is_over = asyncio.get_running_loop(), asyncio.Event()
        ports = []
        for kind in ("http_port", "grpc_port"):

            async def take(
                reader: asyncio.StreamReader, writer: asyncio.StreamWriter, kind: str = kind
            ) -> None:
                await self._forward(kind, reader, writer)

            listening = await asyncio.start_server(take, "127.0.0.1", 0)
            ports.append(listening.sockets[0].getsockname()[1])
        self.http_port, self.grpc_port = ports
        opened.set()
        await self._is_over.wait()

    async def _look(self, server: Server) -> None:
        # Each separately, since a new worker that is busy with its start responds late.
        while await asyncio.to_thread(server.is_ready):
            await asyncio.sleep(_LOOK_S)
        self._servers[server] = time.monotonic() + _LATE_S

    async def _forward(
        self, kind: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        now = time.monotonic()
        there = [server for server, until in self._servers.items() if until > now]
        self._turn += 1
        try:
            if not there:
                return
            port = getattr(there[self._turn % len(there)], kind)
            back, forth = await asyncio.open_connection("127.0.0.1", port)
            await asyncio.gather(_pump(reader, forth), _pump(back, writer))
        except (OSError, asyncio.CancelledError):
            pass  # its client sees a closed connection; or the test has ended
        finally:
            writer.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(2**16):
            writer.write(data)
            await writer.drain()
    writer.close()


def _connection(port: int, tls: ssl.SSLContext | None) -> http.client.HTTPConnection:
    if tls is None:
        return http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_S)
    return http.client.HTTPSConnection("localhost", port, timeout=_TIMEOUT_S, context=tls)


def json_client(balancer: Balancer, tls: ssl.SSLContext | None, tell: Tell) -> Once:
    """Sends JSON requests on one connection, as long as the server keeps it open."""
    x = np.arange(ROWS * 16, dtype=np.float32).reshape(ROWS, 16)
    body = json.dumps({"instances": x.tolist()})
    connection = _connection(balancer.http_port, tls)

    def once() -> None:
        connection.request("POST", "/v1/models/m:predict", body)
        reply = connection.getresponse()
        text = reply.read()
        assert reply.status == 200, (reply.status, text[:200])
        version = int(reply.headers["x-model-version"])
        found = np.array(json.loads(text)["predictions"], np.float32)
        np.testing.assert_array_equal(found, x * np.float32(version))
        tell("json", version)

    return once


def metadata_client(balancer: Balancer, tls: ssl.SSLContext | None, tell: Tell) -> Once:
    """Requests metadata: a route of the application, never of the hot front end."""
    connection = _connection(balancer.http_port, tls)

    def once() -> None:
        connection.request("GET", "/v1/models/m/metadata")
        reply = connection.getresponse()
        text = reply.read()
        assert reply.status == 200, (reply.status, text[:200])
        tell("metadata", int(json.loads(text)["model_spec"]["version"]))

    return once


def grpc_client(balancer: Balancer, certificate: bytes | None, tell: Tell) -> Once:
    """Sends gRPC requests on a separate channel."""
    import grpc

    from pinnace.graph.codec.tensors import decode_tensor, encode_tensor
    from pinnace.proto.predict_pb2 import PredictRequest, PredictResponse

    x = np.arange(ROWS * 16, dtype=np.float32).reshape(ROWS, 16)
    request = PredictRequest()
    request.model_spec.name = "m"
    request.inputs["x"].CopyFrom(encode_tensor(x))
    data = request.SerializeToString()
    # No retry policy. Every gRPC client resends requests that a server never saw, because it had
    # just sent GOAWAY, to the next one by itself.
    options = [("grpc.use_local_subchannel_pool", 1)]
    address = f"localhost:{balancer.grpc_port}"
    if certificate is None:
        channel = grpc.insecure_channel(address, options)
    else:
        credentials = grpc.ssl_channel_credentials(certificate)
        channel = grpc.secure_channel(address, credentials, options)
    call = channel.unary_unary("/tensorflow.serving.PredictionService/Predict")

    def once() -> None:
        response = PredictResponse.FromString(call(data, timeout=_TIMEOUT_S))
        version = response.model_spec.version.value
        found = decode_tensor(response.outputs["y"])
        np.testing.assert_array_equal(found, x * np.float32(version))
        tell("grpc", version)

    return once


@contextlib.contextmanager
def clients(balancer: Balancer, folder: Path, variant: str, tally: Tally) -> Iterator[None]:
    """Eight HTTP clients and three gRPC clients send requests during this context."""
    tls = _client_tls(folder) if variant == "tls" else None
    certificate = (folder / "server.pem").read_bytes() if variant == "tls" else None
    asks = [json_client(balancer, tls, tally.answered) for _ in range(6)]
    asks += [metadata_client(balancer, tls, tally.answered) for _ in range(2)]
    asks += [grpc_client(balancer, certificate, tally.answered) for _ in range(3)]
    stop = threading.Event()

    def go_on(once: Once) -> None:
        while not stop.is_set():
            try:
                once()
            except Exception as error:
                tally.failed(once.__qualname__.split(".")[0], error)
                time.sleep(0.05)

    threads = [threading.Thread(target=go_on, args=(once,), daemon=True) for once in asks]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(_TIMEOUT_S)


def replace(folder: Path, variant: str, drain_s: float, times: int) -> list[str]:
    """Replace a server this often under load; returns the failures."""
    tally, wrong = Tally(), []
    balancer = Balancer()
    server = Server(folder, 1, variant, drain_s)
    servers = [server]
    try:
        server.wait_until_ready()
        balancer.add(server)
        with clients(balancer, folder, variant, tally):
            for number in range(2, 2 + times):
                new = Server(folder, number, variant, drain_s)
                servers.append(new)
                new.wait_until_ready()
                balancer.add(new)
                time.sleep(0.5)
                told = time.monotonic()
                server.process.send_signal(signal.SIGTERM)
                code = server.process.wait(drain_s + 60)
                ended = time.monotonic() - told
                if code:
                    wrong.append(f"server {server.number} ended with {code}\n{server.log()}")
                if ended < drain_s:
                    wrong.append(f"server {server.number} ended after {ended:.2f} s")
                after = tally.last.get(server.number, 0.0) - told
                if after < min(drain_s, _LATE_S):
                    wrong.append(f"server {server.number} was asked {after:.2f} s after SIGTERM")
                sys.stdout.write(
                    f"{variant}: server {server.number} answered for {after:.2f} s after SIGTERM, "
                    f"ended after {ended:.2f} s\n"
                )
                server = new
    finally:
        balancer.close()
        for one in servers:
            one.close()
    counts = ", ".join(f"{count} {kind}" for kind, count in sorted(tally.good.items()))
    sys.stdout.write(f"{variant}: {counts}; {len(tally.failures)} failed\n")
    if set(tally.good) != {"json", "metadata", "grpc"}:
        wrong.append(f"some clients had no answer: {dict(tally.good)}")
    return [*wrong, *tally.failures[:20]]


def main() -> int:
    """Run the test and print the results; returns 1 if a request failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--drain_s", type=float, default=5.0)
    parser.add_argument("--times", type=int, default=3, help="servers replaced, of each variant")
    parser.add_argument("--only", choices=VARIANTS, action="append")
    given = parser.parse_args()
    bad = False
    for variant in given.only or VARIANTS:
        if variant == "workers" and not hasattr(os, "fork"):
            continue
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            for number in range(1, 2 + given.times):
                model = Scale(float(number))
                to = folder / str(number) / str(number)
                to.parent.mkdir()
                tf.saved_model.save(model, str(to), signatures=model.scale)
            if variant == "tls" and not _write_certificate(folder):
                sys.stdout.write("tls: left out, there is no openssl\n")
                continue
            wrong = replace(folder, variant, given.drain_s, given.times)
        for line in wrong:
            sys.stdout.write(f"  {line}\n")
        bad = bad or bool(wrong)
    return 1 if bad else 0


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _write_certificate(folder: Path) -> bool:
    """Write a certificate for `localhost` and its key; False without a program for this."""
    program = shutil.which("openssl")
    if program is None:
        return False
    command = [program, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    command += ["-keyout", str(folder / "server.key"), "-out", str(folder / "server.pem")]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _client_tls(folder: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(folder / "server.pem"))


if __name__ == "__main__":
    sys.exit(main())
