"""Hot routes answer before the application exists; it is created once, on the first request."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from pinnace.framework.errors import UnavailableError
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.http import late_application
from pinnace.serving.http.late_application import LateApplication
from pinnace.serving.models.repository import Repository
from pinnace.serving.service import Service
from support.fresh_process import run_fresh
from support.waiting import until_in_loop
from unit.serving.numpy_models import read_version, write_version

FIRST_ANSWER = """
import http.client, json, os, signal, sys, threading, time
from pathlib import Path
from pinnace.serving.command import parse_settings
from pinnace.serving import process

port, model = sys.argv[1:]
found = {}

def client():
    deadline = time.monotonic() + 60
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", server_port(), timeout=30)
        try:
            connection.request("POST", "/v1/models/m:predict", json.dumps({"instances": [[1, 2]]}))
            reply = connection.getresponse()
            break
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.005)
    found["status"], found["body"] = reply.status, json.loads(reply.read())
    found["modules"] = sorted({name.partition(".")[0] for name in sys.modules})
    connection.request("GET", "/v1/models/m")
    reply = connection.getresponse()
    found["late status"], found["late body"] = reply.status, json.loads(reply.read())
    found["late modules"] = sorted({name.partition(".")[0] for name in sys.modules})
    os.kill(os.getpid(), signal.SIGTERM)

listener = process.bind("127.0.0.1", int(port))
server_port = lambda: listener.getsockname()[1]
process.bind = lambda *_, **__: listener
threading.Thread(target=client).start()
settings, _ = parse_settings(["--host=127.0.0.1", "--rest_api_port=0", "--port=0", f"m={model}"])
code = process.serve(settings)
print(json.dumps({**found, "code": code}))
"""
HEAVY = {
    *("fastapi", "starlette", "pydantic", "prometheus_client"),
    *("numba", "llvmlite", "grpc", "onnx", "onnxruntime", "h5py", "PIL", "rich"),
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    import pinnace as tf

    class Sum(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="x")])
        def total(self, x: Any) -> dict[str, Any]:
            return {"y": tf.reduce_sum(x, axis=1)}

    module = Sum()
    tf.saved_model.save(module, str(tmp_path / "m" / "1"), signatures=module.total)
    return tmp_path / "m"


def test_the_first_answer_needs_no_web_framework_and_no_compiler(model: Path) -> None:
    program = run_fresh(FIRST_ANSWER, "0", model)
    found = json.loads(program.splitlines()[-1])
    assert (found["status"], found["body"]) == (200, {"predictions": [3.0]})
    assert not HEAVY & set(found["modules"])
    assert (found["late status"], found["code"]) == (200, 0)
    assert found["late body"]["model_version_status"][0]["state"] == "AVAILABLE"
    assert "fastapi" in found["late modules"]


def make_service(tmp_path: Path) -> Service:
    write_version(tmp_path / "m", 1)
    settings = Settings(models=(ModelConfig("m", str(tmp_path / "m")),), file_system_poll_s=0)
    return Service(settings, Repository(settings, read_version))


async def live(app: LateApplication, ask: Callable[[], Any]) -> list[str]:
    """Start, send requests, stop; return the kinds of ASGI messages received."""
    messages: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    sent: list[str] = []

    async def send(message: Any) -> None:
        sent.append(message["type"])
        if message["type"] == "lifespan.startup.complete":
            started.set()

    started = asyncio.Event()
    await messages.put({"type": "lifespan.startup"})
    task = asyncio.ensure_future(app({"type": "lifespan"}, messages.get, send))
    done, _ = await asyncio.wait(
        (task, asyncio.ensure_future(started.wait())), return_when=asyncio.FIRST_COMPLETED
    )
    if task not in done:
        await ask()
        await messages.put({"type": "lifespan.shutdown"})
    await task
    return sent


def test_requests_that_come_together_make_one_application(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    make = late_application._make_routes

    def count(service: Service) -> Any:
        made.append(service)
        return make(service)

    monkeypatch.setattr(late_application, "_make_routes", count)
    service = make_service(tmp_path)
    app = LateApplication(service, delay_s=0.0)  # besides the server's own request for it
    statuses: list[int] = []

    async def ask() -> None:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            paths = ["/v1/models/m", "/readyz", "/", "/v1/models/none"] * 3
            replies = await asyncio.gather(*map(client.get, paths))
            statuses.extend(reply.status_code for reply in replies)

    sent = asyncio.run(live(app, ask))
    assert statuses == [200, 200, 200, 404] * 3
    assert made == [service]
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert not service.repository.is_ready()  # unloaded


def test_it_is_made_without_being_asked_for(tmp_path: Path) -> None:
    app = LateApplication(make_service(tmp_path), delay_s=0.0)

    async def wait() -> None:
        await until_in_loop(lambda: app._making is not None and app._making.done())

    asyncio.run(live(app, wait))
    assert app._making is not None
    assert app._making.exception() is None


def test_a_start_that_fails_is_told(tmp_path: Path) -> None:
    service = make_service(tmp_path)

    def fail() -> None:
        raise UnavailableError("no port is left")

    service.repository.start = fail  # type: ignore[method-assign]

    async def run() -> None:
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "lifespan.startup"}

        async def send(message: Any) -> None:
            sent.append(message)

        with pytest.raises(UnavailableError):
            await LateApplication(service)({"type": "lifespan"}, receive, send)
        assert sent[0]["type"] == "lifespan.startup.failed"
        assert "no port is left" in sent[0]["message"]

    asyncio.run(run())


def test_what_cannot_be_made_is_tried_again_and_told_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late_application, "_RETRY_S", 0.1)
    app = LateApplication(make_service(tmp_path))
    make = late_application._make_routes
    problems: list[Exception] = [OSError(24, "Too many open files"), ImportError("half a module")]

    def fail(service: Service) -> Any:
        if problems:
            raise problems.pop()
        return make(service)

    monkeypatch.setattr(late_application, "_make_routes", fail)
    paths = ("/readyz", "/", "/monitoring/prometheus/metrics", "/docs", "/v1/models/m")

    async def ask() -> None:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            assert (await client.get("/healthz")).json() == {"live": True}
            reply = await client.get("/readyz")
            assert (reply.status_code, reply.headers["retry-after"]) == (503, "1")
            assert "half a module" in reply.json()["error"]
            async with asyncio.timeout(60):
                while (await client.get("/readyz")).status_code != 200:
                    await asyncio.sleep(0.01)
            assert [(await client.get(path)).status_code for path in paths] == [200] * 5

    sent = asyncio.run(live(app, ask))
    assert sent[-1] == "lifespan.shutdown.complete"
    assert not problems
