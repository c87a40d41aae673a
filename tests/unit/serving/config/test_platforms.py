"""The environments of Kubernetes, Cloud Run, Vertex AI and SageMaker."""

from pathlib import Path

import pytest

from pinnace.framework.errors import InvalidArgumentError
from pinnace.serving.command import main, parse_settings
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.platforms import read_platform
from pinnace.serving.flags import UsageError

NONE = Path("/no/such/folder")


def test_nothing_is_said_where_there_is_no_platform() -> None:
    settings, _ = parse_settings(["m=/m"], read_platform({}, NONE))
    assert (settings.rest_api_port, settings.drain_s) == (8501, 0)
    assert (settings.health_route, settings.predict_route) == ("", "")


@pytest.mark.parametrize(
    ("environment", "port"),
    [
        ({"PORT": "8080"}, 8080),
        ({"PORT": "8080", "SAGEMAKER_BIND_TO_PORT": "9000"}, 9000),
        ({"PORT": "8080", "AIP_HTTP_PORT": "7080"}, 7080),
        ({"PORT": ""}, 8501),
    ],
)
def test_a_platform_names_the_port_unless_a_flag_does(
    environment: dict[str, str], port: int
) -> None:
    platform = read_platform(environment, NONE)
    assert parse_settings(["m=/m"], platform)[0].rest_api_port == port
    assert parse_settings(["m=/m", "--rest_api_port=0"], platform)[0].rest_api_port == 0


@pytest.mark.parametrize("text", ["http", "0", "65536", "-1", "80.0"])
def test_a_port_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"PORT must be a port .*{text}"):
        read_platform({"PORT": text}, NONE)


def test_vertex_ai_names_routes_and_the_model() -> None:
    environment = {
        "AIP_HTTP_PORT": "8080",
        "AIP_HEALTH_ROUTE": "/v1/endpoints/1/deployedModels/2",
        "AIP_PREDICT_ROUTE": "/v1/endpoints/1/deployedModels/2:predict",
        "AIP_STORAGE_URI": "gs://bucket/model",
    }
    platform = read_platform(environment, NONE)
    settings, _ = parse_settings([], platform)
    assert settings.models == (ModelConfig("default", "gs://bucket/model"),)
    assert settings.health_route == environment["AIP_HEALTH_ROUTE"]
    assert settings.predict_route == environment["AIP_PREDICT_ROUTE"]
    named, _ = parse_settings(["--model_name=digits"], platform)
    assert named.models == (ModelConfig("digits", "gs://bucket/model"),)
    own, _ = parse_settings(["m=/m"], platform)  # a model given by flags takes precedence
    assert own.models == (ModelConfig("m", "/m"),)
    with pytest.raises(InvalidArgumentError, match="AIP_HEALTH_ROUTE must begin with '/', got 'x'"):
        read_platform({"AIP_HEALTH_ROUTE": "x"}, NONE)


def test_sagemaker_unpacks_the_model_in_a_folder(tmp_path: Path) -> None:
    settings, _ = parse_settings([], read_platform({}, tmp_path))
    assert settings.models == (ModelConfig("default", str(tmp_path)),)
    assert settings.rest_api_port == 8080
    bound = read_platform({"SAGEMAKER_BIND_TO_PORT": "9999"}, tmp_path)
    assert parse_settings([], bound)[0].rest_api_port == 9999
    with pytest.raises(UsageError, match="no model to serve"):
        parse_settings([], read_platform({}, tmp_path / "none"))


def test_a_pod_drains_unless_a_flag_says_how_long() -> None:
    pod = read_platform({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, NONE)
    assert parse_settings(["m=/m"], pod)[0].drain_s == 15
    assert parse_settings(["m=/m", "--drain_s=0"], pod)[0].drain_s == 0
    assert parse_settings(["m=/m", "--drain-s", "2.5"])[0].drain_s == 2.5


@pytest.mark.parametrize("text", ["-1", "inf", "nan", "soon"])
def test_a_time_to_drain_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=f"--drain_s: must be .*{text}"):
        parse_settings(["m=/m", f"--drain_s={text}"])


def test_a_variable_that_cannot_be_understood_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PORT", "web")
    assert main(["m=/m"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("pinnace serve: PORT must be a port from 1 to 65535, got 'web'")
