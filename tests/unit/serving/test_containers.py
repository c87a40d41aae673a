"""The server in a container: TensorFlow Serving's name, any user, a read-only root."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import httpx
import pytest

import pinnace as tf
from support.waiting import until
from unit.serving.test_leaving import WAIT_S, free_port, is_ready

ROOT = Path(__file__).parents[3]
NOBODY = 54321  # a user without a name, a group or a home


def save(folder: Path) -> None:
    """A model that doubles its input."""

    class Double(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
        def __call__(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
            return {"y": x + x}

    model = Double()
    tf.saved_model.save(model, str(folder), signatures=model.__call__)


def script() -> list[str]:
    """The command of the installed script."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    module, function = scripts["tensorflow_model_server"].split(":")
    return [sys.executable, "-c", f"import sys; from {module} import {function}; {function}()"]


def test_tensorflow_model_server_takes_the_flags_that_kserve_gives(tmp_path: Path) -> None:
    """Source: KServe 0.20, config/runtimes/kserve-tensorflow-serving.yaml."""
    save(tmp_path / "models" / "1")
    grpc_port, port = free_port(), free_port()
    flags = ["--model_name=digits", f"--port={grpc_port}", f"--rest_api_port={port}"]
    flags += [f"--model_base_path={tmp_path / 'models'}", "--rest_api_timeout_in_ms=60000"]
    server = subprocess.Popen([*script(), *flags], stdout=subprocess.PIPE, text=True)
    with server:
        try:
            url = f"http://127.0.0.1:{port}"
            until(lambda: is_ready(url))
            reply = httpx.post(f"{url}/v1/models/digits:predict", json={"instances": [1.5]})
            assert reply.json() == {"predictions": [3.0]}
            server.send_signal(signal.SIGTERM)
            assert server.wait(timeout=WAIT_S) == 0
        finally:
            server.kill()


def test_tensorflow_model_server_tells_its_version() -> None:
    told = subprocess.run(
        [*script(), "--version"], capture_output=True, text=True, check=True, timeout=60
    )
    assert re.fullmatch(r"pinnace \d+\.\d+\S*\n", told.stdout)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may become another user"
)
def test_any_user_serves_without_a_home(tmp_path: Path) -> None:
    """No passwd entry, no home, and a read-only working directory, as in OpenShift."""
    models, scratch, ours = tmp_path / "models", tmp_path / "scratch", tmp_path / "ours"
    save(models / "1")
    ours.mkdir(mode=0o755)
    scratch.mkdir()
    os.chown(scratch, NOBODY, NOBODY)
    # pytest's folders are private to its user; in parallel there is one more of them.
    shared = Path(tempfile.gettempdir()).resolve()
    ours_alone = [one for one in tmp_path.resolve().parents if shared in one.parents]
    for folder in (models, *models.rglob("*"), tmp_path, *ours_alone):
        folder.chmod(folder.stat().st_mode | (0o055 if folder.is_dir() else 0o044))
    try:
        subprocess.run([sys.executable, "-c", ""], user=NOBODY, group=NOBODY, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip(f"{sys.executable} is in a folder that is not for all users")
    port = free_port()
    environment = {"PATH": os.environ["PATH"], "TMPDIR": str(scratch), "HOME": "/"}
    server = subprocess.Popen(
        [*script(), f"--model_base_path={models}", f"--rest_api_port={port}", "--port=0"],
        env=environment,
        cwd=ours,
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    with server:
        try:
            url = f"http://127.0.0.1:{port}"
            until(lambda: is_ready(url) or server.poll() is not None)
            body = {"instances": [1.5]}
            for _ in range(40):  # enough runs to compile and cache kernels
                reply = httpx.post(f"{url}/v1/models/default:predict", json=body)
                assert reply.json() == {"predictions": [3.0]}
            server.send_signal(signal.SIGTERM)
            _, err = server.communicate(timeout=WAIT_S)
            assert server.returncode == 0
            assert "Traceback" not in err
            assert "Error" not in err
        finally:
            server.kill()
    assert list(ours.iterdir()) == []
