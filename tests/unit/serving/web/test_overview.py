from dataclasses import replace
from pathlib import Path
from typing import Any

from pinnace.serving.config.model_config import All, ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.models.loaded_model import LoadedModel
from unit.serving.memory_server import Server, running
from unit.serving.numpy_models import half_plus_two, read_version, write_version


def overview(server: Server) -> dict[str, Any]:
    reply = server.ask("GET", "/page/models")
    assert reply.status_code == 200
    assert reply.headers["cache-control"] == "no-store"
    return {model["name"]: model for model in reply.json()["models"]}


def test_every_version_with_its_state(tmp_path: Path) -> None:
    write_version(tmp_path, 1)
    write_version(tmp_path, 2, offset=None)
    settings = Settings(
        models=(ModelConfig("m", str(tmp_path), policy=All()),), file_system_poll_s=0
    )
    with running(settings, read_version) as server:
        broken, good = overview(server)["m"]["versions"]
    assert (good["version"], good["state"], good["code"]) == ("1", "AVAILABLE", "OK")
    assert [signature["name"] for signature in good["signatures"]] == ["serving_default"]
    assert (broken["version"], broken["code"]) == ("2", "DATA_LOSS")
    assert "damaged" in broken["message"]
    assert broken["signatures"] == []


def test_signatures_say_how_their_inputs_are_filled(server: Server) -> None:
    (version,) = overview(server)["m"]["versions"]
    found = {signature["name"]: signature for signature in version["signatures"]}
    assert version["signatures"][0]["name"] == "serving_default"
    (image,) = found["digits"]["inputs"]
    assert image["image"] == {"height": 8, "width": 8, "channels": 1, "layout": "pixels"}
    assert (image["shape"], image["dims"], image["zero"]) == ([None, 8, 8, 1], [8, 8, 1], 0)
    assert found["digits"]["form"] == "instances"
    assert found["float16"]["form"] is None
    assert [tensor["name"] for tensor in found["two"]["outputs"]] == ["sum", "difference"]


def test_labels_name_their_versions(tmp_path: Path) -> None:
    for version in (1, 2):
        write_version(tmp_path, version)
    config = ModelConfig("m", str(tmp_path), policy=All(), labels={"stable": 1, "canary": 2})
    with running(Settings(models=(config,), file_system_poll_s=0), read_version) as server:
        assert overview(server)["m"]["labels"] == {"canary": "2", "stable": "1"}


def test_the_page_knows_how_large_a_request_may_be(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_version(tmp_path / name, 1)
    models = tuple(ModelConfig(name, str(tmp_path / name)) for name in ("a", "b"))
    settings = Settings(
        models=models,
        file_system_poll_s=0,
        max_body_bytes=1000,
        max_body_bytes_of=(("b", 50),),
    )
    with running(settings, read_version) as server:
        found = {name: model["most_body_bytes"] for name, model in overview(server).items()}
    assert found == {"a": 1000, "b": 50}


def test_numbers_are_counted_per_model(tmp_path: Path) -> None:
    write_version(tmp_path, 1)
    settings = Settings(models=(ModelConfig("m", str(tmp_path)),), file_system_poll_s=0)
    model = LoadedModel({"serving_default": replace(half_plus_two(), is_pure=True)})
    with running(settings, lambda _: model) as server:
        assert server.ask("GET", "/page/numbers").json() == {}
        for rows in (1, 3):
            assert server.predict({"instances": [0.0] * rows}).status_code == 200
        assert server.predict({"instances": "x"}).status_code == 400
        numbers = server.ask("GET", "/page/numbers").json()["m"]
    assert numbers["requests"] == {"OK": 2, "INVALID_ARGUMENT": 1}
    assert numbers["latency"]["counts"]["+Inf"] == 3
    assert numbers["batch_rows"]["total"] == 4
    assert numbers["batch_rows"]["counts"]["1.0"] == 1
    assert set(numbers["stages"]) == {"read", "parse", "queue", "run", "write"}
    assert numbers["stages"]["run"]["counts"]["+Inf"] == 2
