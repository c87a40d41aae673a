import json
from importlib import metadata

import pytest

from pinnace.framework.extras import install_command


class Distribution:
    def __init__(self, told: str | None) -> None:
        self._told = told

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return self._told


@pytest.mark.parametrize(
    ("told", "command"),
    [
        (None, "pip install 'pinnace[onnx]'"),
        (json.dumps({"url": "file:///a%20b/pinnace"}), "pip install '/a b/pinnace[onnx]'"),
        (json.dumps({"url": "file:///d/pinnace-1.whl"}), "pip install 'pinnace[onnx]'"),
        (json.dumps({"url": "https://host/pinnace.zip"}), "pip install 'pinnace[onnx]'"),
        ("{", "pip install 'pinnace[onnx]'"),
        ("[]", "pip install 'pinnace[onnx]'"),
    ],
)
def test_the_command_is_that_of_the_installation(
    monkeypatch: pytest.MonkeyPatch, told: str | None, command: str
) -> None:
    monkeypatch.setattr(metadata, "distribution", lambda _: Distribution(told))
    assert install_command("onnx") == command


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    assert install_command("grpc") == "pip install 'pinnace[grpc]'"
