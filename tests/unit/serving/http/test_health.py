import asyncio
import re
import shutil
from pathlib import Path

from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.http.application import create_app
from pinnace.serving.models.repository import Repository
from unit.serving.memory_server import Server, running
from unit.serving.numpy_models import read_version, write_version


def test_a_server_with_its_models_is_live_and_ready(server: Server) -> None:
    for method in ("GET", "HEAD"):
        assert server.ask(method, "/healthz").status_code == 200
        assert server.ask(method, "/readyz").status_code == 200
    assert server.ask("GET", "/readyz").json() == {"ready": True}


def test_a_server_without_a_version_is_live_and_not_ready(tmp_path: Path) -> None:
    write_version(tmp_path, 1)
    settings = Settings(models=(ModelConfig("m", str(tmp_path)),), file_system_poll_s=0)
    with running(settings, read_version) as server:
        shutil.rmtree(tmp_path / "1")
        server.repository.refresh()
        assert server.ask("GET", "/healthz").status_code == 200
        reply = server.ask("GET", "/readyz")
        assert (reply.status_code, reply.json()) == (503, {"ready": False})


def test_prometheus_reads_tensorflow_serving_s_names(server: Server) -> None:
    server.predict({"instances": [1]})
    server.predict({"instances": [1]})
    server.predict({"instances": []})
    server.predict({"instances": [1]}, model="never%0Aheard")
    reply = server.ask("GET", "/monitoring/prometheus/metrics")
    assert reply.headers["content-type"].startswith("text/plain")
    lines = reply.text.splitlines()
    name = ":tensorflow:serving:request_count"
    assert f'{name}{{model_name="m",status="OK"}} 2.0' in lines
    assert f'{name}{{model_name="m",status="INVALID_ARGUMENT"}} 1.0' in lines
    assert f'{name}{{model_name="",status="NOT_FOUND"}} 1.0' in lines
    labels = 'API="predict",entrypoint="REST",model_name="m"'
    assert f":tensorflow:serving:request_latency_count{{{labels}}} 3.0" in lines
    labels = 'API="predict",model_name="m",runtime="pinnace"'
    assert f":tensorflow:serving:runtime_latency_count{{{labels}}} 2.0" in lines
    assert "never" not in reply.text
    assert len(re.findall(r"runtime_latency_bucket", reply.text)) == 34  # 33, and +Inf


def test_the_path_of_metrics_can_be_chosen(tmp_path: Path) -> None:
    write_version(tmp_path, 1)
    models = (ModelConfig("m", str(tmp_path)),)
    for path, status in (("/metrics", 200), ("", 404)):
        settings = Settings(models=models, metrics_path=path, file_system_poll_s=0)
        with running(settings, read_version) as server:
            assert server.ask("GET", path or "/metrics").status_code == status


def test_the_lifespan_loads_and_unloads(tmp_path: Path) -> None:
    write_version(tmp_path, 1)
    repository = Repository(Settings(models=(ModelConfig("m", str(tmp_path)),)), read_version)
    app = create_app(Settings(), repository)

    async def live() -> None:
        async with app.router.lifespan_context(app):
            assert repository.is_ready()

    asyncio.run(live())
    assert not repository.is_ready()
