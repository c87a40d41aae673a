import asyncio
from pathlib import Path

import grpc
import pytest

from pinnace.framework.errors import PermissionDeniedError
from pinnace.proto import inference_service_pb2 as v2
from pinnace.proto.model_service_pb2 import ReloadConfigRequest, ReloadConfigResponse
from pinnace.serving.command import parse_settings
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.grpc.listening import listening
from pinnace.serving.models.repository import Repository
from pinnace.serving.observing.metrics import Metrics
from pinnace.serving.requests.control import ModelControl
from pinnace.serving.requests.exchange import Exchange
from unit.serving.memory_server import running
from unit.serving.numpy_models import every_kind, read_version, write_version

RELOAD = "/tensorflow.serving.ModelService/HandleReloadConfigRequest"
UNLOAD = "/inference.GRPCInferenceService/RepositoryModelUnload"
LOAD = "/inference.GRPCInferenceService/RepositoryModelLoad"
CHANGES = ("/v2/repository/models/m/unload", "/v2/repository/models/m/load")


def served(base: Path, **options: object) -> Settings:
    write_version(base / "m", 7)
    models = (ModelConfig("m", str(base / "m")),)
    return Settings(models=models, file_system_poll_s=0, **options)  # type: ignore[arg-type]


def test_nobody_loads_or_unloads_over_http_by_default(tmp_path: Path) -> None:
    with running(served(tmp_path), lambda _: every_kind()) as server:
        for path in CHANGES:
            reply = server.ask("POST", path)
            assert reply.status_code == 403
            assert "Try: pinnace serve --model_control" in reply.json()["error"]
        assert server.predict({"instances": [1.0]}).status_code == 200


def test_the_flag_or_a_key_allows_it(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("right\n")
    settings = served(tmp_path / "a", model_control=True)
    with running(settings, lambda _: every_kind()) as server:
        assert [server.ask("POST", path).status_code for path in CHANGES] == [200, 200]
    settings = served(tmp_path / "b", api_keys_file=str(keys))
    with running(settings, lambda _: every_kind()) as server:
        assert [server.ask("POST", path).status_code for path in CHANGES] == [401, 401]
        headers = {"X-API-Key": "right"}
        found = [server.ask("POST", path, headers=headers).status_code for path in CHANGES]
        assert found == [200, 200]


@pytest.mark.parametrize("cors", [False, True])
@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Origin": "http://test"}, 200),
        ({"Origin": "https://TEST"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://test.evil.example"}, 403),
        ({"Origin": "http://test:81"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": ""}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
    ],
)
def test_a_page_of_another_origin_changes_nothing(
    tmp_path: Path, headers: dict[str, str], expected: int, cors: bool
) -> None:
    settings = served(tmp_path, model_control=True, cors=cors)
    with running(settings, lambda _: every_kind()) as server:
        for path in CHANGES:
            assert server.ask("POST", path, headers=headers).status_code == expected
        ready = server.ask("GET", "/v2/models/m/ready").status_code
        assert ready == 200


async def asked_over_grpc(
    settings: Settings, path: str, request: bytes
) -> tuple[grpc.StatusCode, str, bytes]:
    repository = Repository(settings, read_version)
    repository.start()
    exchange = Exchange(settings, repository, Metrics(lambda name: name in repository))
    try:
        async with (
            listening(exchange, "127.0.0.1:0") as port,
            grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
        ):
            try:
                reply = await channel.unary_unary(path)(request, timeout=20)
            except grpc.aio.AioRpcError as error:
                return error.code(), error.details() or "", b""
            return grpc.StatusCode.OK, "", reply
    finally:
        repository.close()


async def _refused(tmp_path: Path, path: str, request_bytes: bytes) -> None:
    code, details, _ = await asked_over_grpc(served(tmp_path), path, request_bytes)
    assert code is grpc.StatusCode.PERMISSION_DENIED
    assert "--model_control" in details


def test_nobody_reloads_loads_or_unloads_over_grpc_by_default(tmp_path: Path) -> None:
    unload = v2.RepositoryModelUnloadRequest(model_name="m").SerializeToString()
    load = v2.RepositoryModelLoadRequest(model_name="m").SerializeToString()
    for i, (path, data) in enumerate(((RELOAD, b""), (UNLOAD, unload), (LOAD, load))):
        asyncio.run(_refused(tmp_path / str(i), path, data))


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/models/m", "s3://bucket/m", "gs://b/m"])
def test_a_client_names_no_url_to_load_from(tmp_path: Path, url: str) -> None:
    reload = ReloadConfigRequest()
    reload.config.model_config_list.config.add(name="m", base_path=url)
    settings = served(tmp_path, model_control=True)
    code, _, reply = asyncio.run(asked_over_grpc(settings, RELOAD, reload.SerializeToString()))
    assert code is grpc.StatusCode.OK
    status = ReloadConfigResponse.FromString(reply).status
    assert status.error_code == 7  # PERMISSION_DENIED
    assert "--model_control_urls" in status.error_message


def test_the_flags_say_what_clients_may_do() -> None:
    models = (ModelConfig("m", "s3://bucket/m"),)
    plain, _ = parse_settings(["m=models"])
    with pytest.raises(PermissionDeniedError):
        ModelControl(plain).check({})
    assert not plain.model_control_urls
    allowed, _ = parse_settings(["m=models", "--model_control", "--model-control-urls"])
    control = ModelControl(allowed)
    control.check({})
    control.check_sources(models)
