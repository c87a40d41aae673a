"""HTTP answers before the gRPC port is open; the server is ready only once it is."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.grpc import late_opening
from pinnace.serving.grpc.late_opening import opened_late
from pinnace.serving.http.application import application
from pinnace.serving.models.repository import Repository
from pinnace.serving.service import Service
from unit.serving.numpy_models import read_version, write_version

if TYPE_CHECKING:
    from pathlib import Path

grpc = pytest.importorskip("grpc")
from pinnace.proto.health_pb2 import HealthCheckResponse  # noqa: E402
from pinnace.proto.inference_service_pb2 import ServerReadyResponse  # noqa: E402
from support.waiting import until_in_loop  # noqa: E402

WAIT_S = 20.0


def service_on(folder: Path, port: int) -> Service:
    write_version(folder / "m", 7)
    models = (ModelConfig("m", str(folder / "m")),)
    settings = Settings(models=models, file_system_poll_s=0)
    repository = Repository(settings, read_version)
    front: Any = lambda exchange: opened_late(exchange, f"127.0.0.1:{port}", 0.0)  # noqa: E731
    return Service(settings, repository, [front])


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def test_http_answers_while_grpc_is_imported_and_readiness_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, let_go = threading.Event(), threading.Event()
    real = late_opening._listening

    def slow() -> Any:
        asked.set()
        assert let_go.wait(WAIT_S)
        return real()

    monkeypatch.setattr(late_opening, "_listening", slow)

    async def work() -> None:
        port = free_port()
        service = service_on(tmp_path, port)
        transport = httpx.ASGITransport(application(service))
        async with (
            service.running(),
            httpx.AsyncClient(transport=transport, base_url="http://test") as http,
            grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
        ):
            await until_in_loop(asked.is_set)
            reply = await http.post("/v1/models/m:predict", json={"instances": [1, 2]})
            assert reply.json() == {"predictions": [2.5, 3.0]}
            assert (await http.get("/healthz")).status_code == 200
            for path in ("/readyz", "/v2/health/ready"):
                assert (await http.get(path)).status_code == 503, path
            # This model answers over HTTP, so that its readiness does not depend on gRPC.
            assert (await http.get("/readyz?model=m")).status_code == 200
            let_go.set()
            ready = channel.unary_unary("/inference.GRPCInferenceService/ServerReady")
            found = await ready(b"", timeout=WAIT_S, wait_for_ready=True)
            assert ServerReadyResponse.FromString(found).ready
            health = await channel.unary_unary("/grpc.health.v1.Health/Check")(b"")
            assert HealthCheckResponse.FromString(health).status == HealthCheckResponse.SERVING
            for path in ("/readyz", "/v2/health/ready"):
                assert (await http.get(path)).status_code == 200, path

    asyncio.run(work())


def test_a_server_that_ends_before_grpc_is_there_just_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, let_go = threading.Event(), threading.Event()
    real = late_opening._listening

    def slow() -> Any:
        asked.set()
        assert let_go.wait(WAIT_S)
        return real()

    monkeypatch.setattr(late_opening, "_listening", slow)

    async def work() -> None:
        async with service_on(tmp_path, free_port()).running():
            await until_in_loop(asked.is_set)
            asyncio.get_running_loop().call_later(0.05, let_go.set)

    asyncio.run(work())


def test_a_port_that_somebody_took_meanwhile_is_said_and_the_server_is_not_ready(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            service = service_on(tmp_path, taken.getsockname()[1])
            with caplog.at_level(logging.ERROR):
                async with service.running():
                    await until_in_loop(lambda: "gRPC is not served" in caplog.text)
                    assert not service.repository.is_ready()

    asyncio.run(work())


def test_an_import_that_fails_once_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late_opening, "_RETRY_S", 0.05)
    real = late_opening._listening
    problems: list[Exception] = [OSError(24, "Too many open files"), ImportError("half a module")]

    def fail() -> Any:
        if problems:
            raise problems.pop()
        return real()

    monkeypatch.setattr(late_opening, "_listening", fail)

    async def work() -> None:
        service = service_on(tmp_path, free_port())
        async with service.running():
            await until_in_loop(service.repository.is_ready)
            assert not problems

    asyncio.run(work())
