"""The advice about a missing extra fits the way in which the package was installed."""

import json
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from architecture.sources import ROOT, modules
from pinnace.framework.extras import install_command


class Distribution:
    """The data of `importlib.metadata` about an installed package."""

    def __init__(self, origin: str | None = None, installer: str = "pip\n") -> None:
        self._files = {"direct_url.json": origin, "INSTALLER": installer}
        self.requires = [
            "numpy>=2.0",
            "onnx>=1.17; extra == 'onnx'",
            'onnxruntime>=1.20; extra == "onnx"',
            "grpcio>=1.66; extra == 'grpc'",
        ]

    def read_text(self, name: str) -> str | None:
        return self._files[name]


def command(monkeypatch: pytest.MonkeyPatch, installed: Distribution) -> str:
    monkeypatch.setattr(metadata, "distribution", lambda _: installed)
    return install_command("onnx")


INDEX = "pip install 'pinnace[onnx]'"
GIT = {"url": "https://host/pinnace.git", "vcs_info": {"vcs": "git", "commit_id": "00"}}


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        (None, INDEX),
        (json.dumps({"url": "file:///a%20b/pinnace"}), "pip install '/a b/pinnace[onnx]'"),
        (
            json.dumps({"url": "file:///a/pinnace", "dir_info": {"editable": True}}),
            "pip install -e '/a/pinnace[onnx]'",
        ),
        (json.dumps({"url": "file:///gone/pinnace-1.whl"}), INDEX),
        (
            json.dumps({"url": "https://host/pinnace.zip", "archive_info": {}}),
            "pip install 'pinnace[onnx] @ https://host/pinnace.zip'",
        ),
        (json.dumps(GIT), "pip install 'pinnace[onnx] @ git+https://host/pinnace.git'"),
        (
            json.dumps({**GIT, "vcs_info": {"vcs": "git", "requested_revision": "v1"}}),
            "pip install 'pinnace[onnx] @ git+https://host/pinnace.git@v1'",
        ),
        ("{", INDEX),
        ("[]", INDEX),
        ('{"url": 3}', INDEX),
    ],
)
def test_the_command_names_what_was_installed(
    monkeypatch: pytest.MonkeyPatch, origin: str | None, expected: str
) -> None:
    assert command(monkeypatch, Distribution(origin)) == expected


def test_a_wheel_that_is_still_there_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wheel = tmp_path / "pinnace-1-py3-none-any.whl"
    wheel.touch()
    origin = json.dumps({"url": wheel.as_uri(), "archive_info": {}})
    assert command(monkeypatch, Distribution(origin)) == f"pip install '{wheel}[onnx]'"


def test_uv_pipx_and_conda_have_commands_of_their_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    by_uv, libraries = Distribution(installer="uv"), "'onnx>=1.17' 'onnxruntime>=1.20'"
    assert command(monkeypatch, by_uv) == "uv pip install 'pinnace[onnx]'"
    assert command(monkeypatch, Distribution(installer="conda")) == f"pip install {libraries}"
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    (tmp_path / "uv-receipt.toml").touch()
    assert command(monkeypatch, by_uv) == "uv tool install 'pinnace[onnx]'"
    (tmp_path / "pipx_metadata.json").touch()
    assert command(monkeypatch, Distribution()) == f"pipx inject pinnace {libraries}"


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    assert install_command("grpc") == "pip install 'pinnace[grpc]'"


def test_messages_name_only_what_the_project_depends_on() -> None:
    """Extras are named through `install_command`; named packages are dependencies."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    lines = [*project["dependencies"], *(line for extra in extras for line in extra)]
    known = {"flatbuffers"}  # onnxruntime's
    known.add(project["name"])
    known.add("ziglang")  # one of the possible C compilers
    known |= {re.split(r"[\[<>=;! ]", line)[0].lower() for line in lines}
    named = {
        (name, word)
        for name, path in modules().items()
        if name != "pinnace.framework.extras"
        for found in re.findall(r"pip install ([^\\\"\n`]*)", path.read_text())
        for word in re.findall(r"(?<!\S)[a-z][\w.-]*", found.partition(",")[0])
        if "{" not in found
    }
    assert {(name, word) for name, word in named if word not in known} == set()
