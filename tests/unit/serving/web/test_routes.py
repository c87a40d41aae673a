import re
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

import pinnace as tf
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.models.loading import load_model
from pinnace.serving.web.files import STATIC
from pinnace.serving.web.routes import OPEN_PATHS
from unit.serving.memory_server import Server, running

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
FILES = resources.files("pinnace.serving.web").joinpath("files")


def test_browsers_get_a_page_and_programs_a_sign_of_life(server: Server) -> None:
    page = server.ask("GET", "/", headers=BROWSER)
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    for headers in ({}, {"Accept": "application/json"}, {"Accept": "*/*"}):
        assert server.ask("GET", "/", headers=headers).json() == {"status": "alive"}


@pytest.mark.parametrize("path", sorted(OPEN_PATHS))
def test_files_are_sent_with_a_strict_policy(server: Server, path: str) -> None:
    reply = server.ask("GET", path, headers=BROWSER)
    assert reply.status_code == 200
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert reply.headers["x-content-type-options"] == "nosniff"
    again = server.ask("GET", path, headers={**BROWSER, "If-None-Match": reply.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_files_name_only_files_of_this_server() -> None:
    for entry in FILES.iterdir():
        text = entry.read_text()
        hosts = set(re.findall(r"\bhttps?://[^\s\"'`]+", text)) - {"http://www.w3.org/2000/svg"}
        assert not hosts, entry.name
        for name in re.findall(r"[\"']/page/([\w.]+\.\w+)[\"']", text):
            assert name in STATIC, f"{entry.name} asks for {name}"


def test_every_file_is_served() -> None:
    assert {entry.name for entry in FILES.iterdir()} == {*STATIC, "page.html", "docs.html"}


@pytest.mark.parametrize("name", ["page.html", "..%2Froutes.py", "routes.py", "page.js%00", "x"])
def test_no_other_file_is(server: Server, name: str) -> None:
    assert server.ask("GET", f"/page/{name}").status_code == 404


def test_graphs_are_pages_that_reach_nothing(tmp_path: Path) -> None:
    class Model(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="x")])
        def double(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
            return {"y": tf.tanh(x) * 2}

    model = Model()
    tf.saved_model.save(model, tmp_path / "m" / "3", signatures={"double": model.double})
    settings = Settings(models=(ModelConfig("m", str(tmp_path / "m")),), file_system_poll_s=0)
    with running(settings, load_model) as server:
        for path in ("/v1/models/m/graph", "/v1/Models/m/versions/3/graph"):
            reply = server.ask("GET", f"{path}?signature=double")
            assert reply.status_code == 200, reply.text
            assert "sandbox" in reply.headers["content-security-policy"]
            assert reply.headers["x-model-version"] == "3"
            assert "Tanh" in reply.text
        wrong = server.ask("GET", "/v1/models/m/graph")
        assert (wrong.status_code, wrong.json()["error"]) == (
            404,
            "Model 'm' has no signature 'serving_default'",
        )
        assert server.ask("GET", "/v1/models/x/graph").status_code == 404


def test_a_model_without_graph_says_so(server: Server) -> None:
    reply = server.ask("GET", "/v1/models/m/graph")
    assert (reply.status_code, "no graph" in reply.text) == (501, True)


def test_keys_guard_what_is_said_of_models_but_not_the_files(tmp_path: Path) -> None:
    from unit.serving.numpy_models import read_version, write_version

    write_version(tmp_path / "m", 1)
    (tmp_path / "keys").write_text("secret\n")
    settings = Settings(
        models=(ModelConfig("m", str(tmp_path / "m")),),
        file_system_poll_s=0,
        api_keys_file=str(tmp_path / "keys"),
    )
    with running(settings, read_version) as server:
        for path in sorted(OPEN_PATHS):
            assert server.ask("GET", path, headers=BROWSER).status_code == 200, path
        for path in (
            "/page/models",
            "/page/numbers",
            "/page/history",
            "/openapi.json",
            "/v1/models/m/graph",
        ):
            assert server.ask("GET", path).status_code == 401, path
            assert server.ask("GET", path, headers={"X-API-Key": "secret"}).status_code != 401
        document = server.ask("GET", "/openapi.json", headers={"X-API-Key": "secret"}).json()
        assert document["security"] == [{"key": []}, {"bearer": []}]


def test_starting_imports_nothing_that_only_the_page_needs() -> None:
    program = (
        "import sys, pinnace.serving.process\n"
        "print([n for n in sys.modules if 'picture' in n or n.endswith('web.overview')])"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"
