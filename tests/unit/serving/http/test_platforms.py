"""Routes that SageMaker and Vertex AI use, and Prometheus' default path."""

from pathlib import Path

import pytest

from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from unit.serving.memory_server import Server, running
from unit.serving.numpy_models import every_kind, read_version, write_version

HEALTH, PREDICT = "/v1/endpoints/1/deployedModels/2", "/v1/endpoints/1/deployedModels/2:predict"
BODY = {"instances": [1.0, 2.0]}


def settings_of(folder: Path, *names: str, **more: object) -> Settings:
    for name in names:
        if not (folder / name).exists():
            write_version(folder / name, 1)
    models = tuple(ModelConfig(name, str(folder / name)) for name in names)
    return Settings(models=models, file_system_poll_s=0, **more)  # type: ignore[arg-type]


def test_sagemaker_s_routes_are_predict_and_readiness(server: Server) -> None:
    expected = server.predict(BODY)
    reply = server.ask("POST", "/invocations", json=BODY)
    assert (reply.status_code, reply.content) == (200, expected.content)
    assert reply.headers["x-model-version"] == "7"
    assert server.ask("POST", "/invocations", content=b"{").status_code == 400
    assert server.ask("GET", "/ping").status_code == 200
    server.repository.unload("m")
    assert server.ask("GET", "/ping").status_code == 200  # nothing is wanted, nothing lacks
    server.repository.is_leaving = True
    assert server.ask("GET", "/ping").status_code == 503


@pytest.mark.parametrize("names", [("a", "b")])
def test_a_request_without_a_model_is_for_the_only_one(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    with running(settings_of(tmp_path, *names), read_version) as server:
        reply = server.ask("POST", "/invocations", json=BODY)
        assert reply.status_code == 400
        assert reply.json() == {
            "error": "/invocations asks the only model, and 2 are served: ask /v1/models/a:predict"
        }


def test_vertex_ai_s_routes_are_those_that_it_names(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, "m", health_route=HEALTH, predict_route=PREDICT)
    with running(settings, lambda _: every_kind()) as server:
        assert server.ask("GET", HEALTH).status_code == 200
        reply = server.ask("POST", PREDICT, json={**BODY, "parameters": {"confidence": 0.5}})
        assert (reply.status_code, reply.json()) == (200, server.predict(BODY).json())
        server.repository.is_leaving = True
        assert server.ask("GET", HEALTH).status_code == 503
    with running(settings_of(tmp_path, "m"), read_version) as server:
        assert server.ask("POST", PREDICT, json=BODY).status_code == 400


def test_keys_are_asked_for_predictions_and_not_for_health(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("secret\n")
    more = {"api_keys_file": str(tmp_path / "keys"), "health_route": HEALTH}
    settings = settings_of(tmp_path, "m", predict_route=PREDICT, **more)
    with running(settings, read_version) as server:
        for path in ("/ping", HEALTH, "/metrics"):
            assert server.ask("GET", path).status_code == 200, path
        for path in ("/invocations", PREDICT):
            assert server.ask("POST", path, json=BODY).status_code == 401, path
    closed = settings_of(tmp_path, "m", health_without_key=False, metrics_without_key=False, **more)
    with running(closed, read_version) as server:
        for path in ("/ping", HEALTH, "/metrics", "/monitoring/prometheus/metrics"):
            assert server.ask("GET", path).status_code == 401, path


def test_prometheus_finds_metrics_where_it_looks(server: Server) -> None:
    server.predict(BODY)
    name = ':tensorflow:serving:request_count{model_name="m",status="OK"} 1.0'
    for path in ("/metrics", "/monitoring/prometheus/metrics"):
        assert name in server.ask("GET", path).text.splitlines()
