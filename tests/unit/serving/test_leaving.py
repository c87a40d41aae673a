"""Shutdown of a server: not ready at once, answering for a while, ended by a second signal."""

import asyncio
import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from attack import http2
from pinnace.proto.health_pb2 import HealthCheckRequest, HealthCheckResponse
from pinnace.proto.inference_service_pb2 import (
    ModelReadyRequest,
    ModelReadyResponse,
    ServerLiveResponse,
    ServerReadyResponse,
)
from unit.serving.numpy_models import write_version
from unit.serving.test_process import PROGRAM, process, read_url, wait_for

FOREVER = "--drain_s=300"
READINESS = ("/readyz", "/readyz?model=half", "/v2/health/ready", "/v2/models/half/ready", "/ping")
LIVENESS = ("/healthz", "/v2/health/live")
WAIT_S = 30
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that can fork")


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz").is_success
    except httpx.HTTPError:
        return False


def connected(url: str) -> http.client.HTTPConnection:
    """A keep-alive connection after one request."""
    host, port = url.removeprefix("http://").split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=WAIT_S)
    assert predict(connection).getheader("connection") is None
    return connection


def predict(connection: http.client.HTTPConnection) -> http.client.HTTPResponse:
    connection.request("POST", "/v1/models/half:predict", b'{"instances": [1]}')
    reply = connection.getresponse()
    assert (reply.status, reply.read()) == (200, b'{"predictions":[2.5]}')
    return reply


def plain_program(folder: Path) -> Path:
    """The tests' server without its hot front."""
    path = folder / "plain.py"
    path.write_text(
        "import runpy, sys\nsys.modules['pinnace.serving.fast'] = None\n"
        f"runpy.run_path({str(PROGRAM)!r}, run_name='__main__')\n"
    )
    return path


@pytest.mark.parametrize("kind", ["hot", "plain", pytest.param("workers", marks=needs_fork)])
def test_a_server_that_leaves_is_not_ready_and_answers(tmp_path: Path, kind: str) -> None:
    write_version(tmp_path / "half", 1)
    program = plain_program(tmp_path) if kind == "plain" else PROGRAM
    flags = ["--rest_api_port=0", FOREVER, "--workers=2" if kind == "workers" else "--workers=1"]
    with process(*flags, f"half={tmp_path / 'half'}", program=program) as server:
        url, _ = read_url(server)
        wait_for(lambda: all(is_ready(url) for _ in range(20)))
        kept = [connected(url) for _ in range(4)]
        begun = connected(url)  # its headers came before the signal, its body comes after
        begun.putrequest("POST", "/v1/models/half:predict")
        begun.putheader("Content-Length", "18")
        begun.endheaders()
        cold = connected(url)  # the same on the application's routes
        cold.putrequest("POST", "/v1/models/half:predict")
        cold.putheader("Transfer-Encoding", "chunked")
        cold.endheaders()
        server.send_signal(signal.SIGTERM)
        wait_for(lambda: not any(is_ready(url) for _ in range(20)))
        for connection in kept:
            assert predict(connection).getheader("connection") == "close"
            assert connection.sock is None  # http.client closed it, and will open another one
            assert predict(connection).getheader("connection") == "close"
        for connection, body in (
            (begun, b'{"instances": [1]}'),
            (cold, b'12\r\n{"instances": [1]}\r\n0\r\n\r\n'),
        ):
            connection.send(body)
            reply = connection.getresponse()
            assert (reply.status, reply.read()) == (200, b'{"predictions":[2.5]}')
            assert reply.getheader("connection") == "close"
        for path in READINESS:
            reply_of = httpx.get(f"{url}{path}")
            assert (reply_of.status_code, reply_of.headers["connection"]) == (503, "close"), path
        for path in LIVENESS:
            assert httpx.get(f"{url}{path}").status_code == 200
        assert server.poll() is None
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=WAIT_S) == 0


def test_grpc_is_told_and_answers(tmp_path: Path) -> None:
    grpc = pytest.importorskip("grpc")
    write_version(tmp_path / "half", 1)
    port = free_port()
    flags = ("--rest_api_port=0", f"--port={port}", FOREVER)
    with process(*flags, f"half={tmp_path / 'half'}") as server:
        url, _ = read_url(server)
        wait_for(lambda: is_ready(url))
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:

            def ask(path: str, data: bytes = b"") -> bytes:
                answer: bytes = channel.unary_unary(path)(data, timeout=WAIT_S)
                return answer

            def health(service: str) -> int:
                data = HealthCheckRequest(service=service).SerializeToString()
                answer = ask("/grpc.health.v1.Health/Check", data)
                return HealthCheckResponse.FromString(answer).status

            def ready() -> tuple[bool, bool]:
                named = ModelReadyRequest(name="half").SerializeToString()
                return (
                    ServerReadyResponse.FromString(
                        ask("/inference.GRPCInferenceService/ServerReady")
                    ).ready,
                    ModelReadyResponse.FromString(
                        ask("/inference.GRPCInferenceService/ModelReady", named)
                    ).ready,
                )

            services = ("", "half", "inference.GRPCInferenceService")
            serving, not_serving = HealthCheckResponse.SERVING, HealthCheckResponse.NOT_SERVING
            assert [health(name) for name in services] == [serving] * 3
            assert ready() == (True, True)
            server.send_signal(signal.SIGTERM)
            wait_for(lambda: not is_ready(url))
            assert [health(name) for name in services] == [not_serving] * 3
            assert ready() == (False, False)
            live = ask("/inference.GRPCInferenceService/ServerLive")
            assert ServerLiveResponse.FromString(live).live


def test_grpc_s_connections_end_by_age_and_are_answered_meanwhile(tmp_path: Path) -> None:
    """A keep-alive connection is told to go within half of the time to drain."""
    pytest.importorskip("grpc")
    write_version(tmp_path / "half", 1)
    port = free_port()
    flags = ("--rest_api_port=0", f"--port={port}", "--drain_s=1")
    with process(*flags, f"half={tmp_path / 'half'}") as server:
        url, _ = read_url(server)
        wait_for(lambda: is_ready(url))

        async def told_to_go() -> bytes:
            reader, writer = await http2.opened(port)
            async with asyncio.timeout(WAIT_S):
                while True:
                    kind, _, _, payload = await http2.next_frame(reader)
                    if kind == http2.GO_AWAY:
                        writer.close()
                        return payload

        begun = time.monotonic()
        payload = asyncio.run(told_to_go())
        assert time.monotonic() - begun >= 0.3
        # gRPC's first message allows any stream, so that no request on its way is lost.
        assert payload[:8] == b"\x7f\xff\xff\xff" + b"\0\0\0\0"


def test_the_time_to_drain_ends(tmp_path: Path) -> None:
    write_version(tmp_path / "half", 1)
    with process("--rest_api_port=0", "--drain_s=1", f"half={tmp_path / 'half'}") as server:
        url, _ = read_url(server)
        wait_for(lambda: is_ready(url))
        begun = time.monotonic()
        server.send_signal(signal.SIGTERM)
        out, err = server.communicate(timeout=WAIT_S)
        assert (server.returncode, out) == (0, "")
        assert time.monotonic() - begun >= 1
        assert [line.split(" INFO ")[1] for line in err.splitlines()] == [
            "SIGTERM came",
            "the server leaves in 1 s",
            "the server ends; requests to answer first: 0",
            "the server has ended",
        ]


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=needs_fork)])
def test_ctrl_c_does_not_wait(tmp_path: Path, workers: int) -> None:
    write_version(tmp_path / "half", 1)
    flags = ("--rest_api_port=0", FOREVER, f"--workers={workers}")
    with process(*flags, f"half={tmp_path / 'half'}") as server:
        url, _ = read_url(server)
        wait_for(lambda: is_ready(url))
        server.send_signal(signal.SIGINT)
        assert server.wait(timeout=WAIT_S) == 0


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=needs_fork)])
def test_a_second_signal_does_not_wait_for_answers(tmp_path: Path, workers: int) -> None:
    write_version(tmp_path / "half", 1)
    flags = ("--rest_api_port=0", f"--workers={workers}", "--body_timeout_in_ms=300000")
    flags = (*flags, "--drain_timeout_in_ms=300000")
    with process(*flags, f"half={tmp_path / 'half'}") as server:
        url, _ = read_url(server)
        wait_for(lambda: is_ready(url))
        unanswered = connected(url)
        unanswered.putrequest("POST", "/v1/models/half:predict")
        unanswered.putheader("Content-Length", "18")
        unanswered.endheaders()
        server.send_signal(signal.SIGTERM)
        wait_for(lambda: is_closed(url))
        assert server.poll() is None  # a request is in flight
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=WAIT_S) == 0
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            unanswered.getresponse()


@needs_fork
def test_a_signal_for_every_process_is_one_signal(tmp_path: Path) -> None:
    """systemd sends one to each process of a unit, and so does a terminal."""
    write_version(tmp_path / "half", 1)
    flags = ("--rest_api_port=0", "--port=0", FOREVER, "--workers=2")
    server = subprocess.Popen(
        [sys.executable, str(PROGRAM), "--host=127.0.0.1", *flags, f"half={tmp_path / 'half'}"],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with server:
        try:
            url, _ = read_url(server)
            wait_for(lambda: all(is_ready(url) for _ in range(20)))
            os.killpg(server.pid, signal.SIGTERM)
            wait_for(lambda: not any(is_ready(url) for _ in range(20)))
            assert predict_status(url) == 200
            os.killpg(server.pid, signal.SIGINT)
            assert server.wait(timeout=WAIT_S) == 0
        finally:
            server.kill()


def predict_status(url: str) -> int:
    return httpx.post(f"{url}/v1/models/half:predict", json={"instances": [1]}).status_code


def is_closed(url: str) -> bool:
    host, port = url.removeprefix("http://").split(":")
    try:
        with socket.create_connection((host, int(port)), timeout=1) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            connection.settimeout(1)
            return connection.recv(1) == b""
    except OSError:
        return True
