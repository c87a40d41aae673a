"""KServe v1, where it differs from TensorFlow Serving's interface."""

from pathlib import Path

import pytest

from pinnace.serving.command import parse_settings
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from unit.serving.memory_server import Server, running
from unit.serving.numpy_models import read_version, write_version


@pytest.mark.parametrize("flag", [[], ["--kserve_status"]])
def test_the_status_has_its_keys_if_asked(tmp_path: Path, flag: list[str]) -> None:
    write_version(tmp_path / "m", 1)
    assert parse_settings([str(tmp_path / "m"), *flag])[0].kserve_status == bool(flag)
    settings = Settings(
        models=(ModelConfig("m", str(tmp_path / "m")),),
        file_system_poll_s=0,
        kserve_status=bool(flag),
    )
    with running(settings, read_version) as server:
        found = server.ask("GET", "/v1/models/m").json()
        assert found.pop("model_version_status")[0]["state"] == "AVAILABLE"
        assert found == ({"name": "m", "ready": True} if flag else {})
        assert server.ask("GET", "/v1/models/x").status_code == 404
        server.repository.unload("m")
        after = server.ask("GET", "/v1/models/m").json()
        assert after.get("ready", False) is False


def test_the_list_of_models(server: Server) -> None:
    assert server.ask("GET", "/v1/models").json() == {"models": ["m"]}


def test_nothing_is_explained(server: Server) -> None:
    reply = server.ask("POST", "/v1/models/m:explain", json={"instances": [0.0]})
    assert reply.status_code == 501
    assert "no explainer" in reply.json()["error"]
    assert server.ask("POST", "/v1/models/x:explain", json={}).status_code == 404
