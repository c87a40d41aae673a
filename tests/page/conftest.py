"""A server as users start it, and a browser in a separate environment."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.graph.codec.tensors import encode_tensor
from pinnace.proto.prediction_log_pb2 import PredictionLog
from pinnace.serving.models.warmup import FILE
from pinnace.storage.record import RecordWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]
# The content of the warm-up file of `negative`: bright at the top, dark at the bottom.
EXAMPLE = np.linspace(1, 0, 784, dtype=np.float32).round(3)
PROGRAM = Path(__file__).parent / "programs" / "browse.py"


class Model(tf.Module):
    """Outputs of every kind that the page can show: numbers, text and an image."""

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, 2], tf.float32, name="a"),
            tf.TensorSpec([None], tf.bool, name="turned"),
        ]
    )
    def sums(self, a: tf.Tensor, turned: tf.Tensor) -> dict[str, tf.Tensor]:
        total = tf.reduce_sum(a, axis=1)
        return {"total": tf.where(turned, -total, total)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def upper(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"upper": tf.strings.upper(text)}

    @tf.function(input_signature=[tf.TensorSpec([None, 1], tf.string, name="colour")])
    def column(self, colour: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"shouted": tf.strings.upper(colour)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="image_bytes")])
    def measured(self, image_bytes: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"length": tf.strings.length(image_bytes)}

    @tf.function(input_signature=[tf.TensorSpec([None, 784], tf.float32, name="image")])
    def negative(self, image: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"negative": 1 - image}


@dataclass(frozen=True)
class Server:
    """A running server.

    Attributes:
        url: its URL.
        printed: its output at the start.
        kinds: the base folder of its model `kinds`.
    """

    url: str
    printed: str
    kinds: Path


@pytest.fixture(scope="session")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model for each kind of form."""
    folder = tmp_path_factory.mktemp("kinds")
    model = Model()
    signatures = {
        "serving_default": model.sums,
        "upper": model.upper,
        "negative": model.negative,
        "column": model.column,
        "measured": model.measured,
    }
    tf.saved_model.save(model, str(folder / "1"), signatures=signatures)
    log = PredictionLog()
    log.predict_log.request.model_spec.signature_name = "negative"
    log.predict_log.request.inputs["image"].CopyFrom(encode_tensor(EXAMPLE[np.newaxis]))
    (folder / "1" / FILE).parent.mkdir()
    with RecordWriter(folder / "1" / FILE) as writer:
        writer.write(log.SerializeToString())
    return folder


def start(folder: Path, kinds: Path, *flags: str) -> tuple[subprocess.Popen[bytes], Server]:
    command = [sys.executable, "-m", "pinnace.deploy.cli.main", "serve"]
    models = [f"digits={ROOT / 'models' / 'digits'}", f"kinds={kinds}"]
    flags = ("--host=127.0.0.1", "--rest_api_port=0", "--port=0", *flags)
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([*command, *models, *flags], stdout=log, stderr=log)
    deadline = time.monotonic() + 60
    while True:
        text = (folder / "log").read_text()
        found = re.search(r"Serving on (\S+).*\nTry:\n.*\n.*\n", text)
        if found:
            return process, Server(found[1], text, kinds)
        assert process.poll() is None, text
        assert time.monotonic() < deadline, text
        time.sleep(0.05)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, kinds: Path) -> Iterator[Server]:
    """`pinnace serve` with the demo's digits, and `kinds`."""
    process, server = start(tmp_path_factory.mktemp("server"), kinds)
    yield server
    process.terminate()
    assert process.wait(30) == 0


@pytest.fixture
def guarded(tmp_path: Path, kinds: Path) -> Iterator[Server]:
    """The same with the API key `opensesame`."""
    (tmp_path / "keys").write_text("opensesame\n")
    process, server = start(tmp_path, kinds, f"--api_keys_file={tmp_path / 'keys'}")
    yield server
    process.terminate()
    assert process.wait(30) == 0


@pytest.fixture
def shadowed(tmp_path: Path, kinds: Path) -> Iterator[Server]:
    """The same with a newer version of `kinds` as a shadow."""
    for version in ("1", "2"):
        shutil.copytree(kinds / "1", tmp_path / "kinds" / version)
    process, server = start(tmp_path, tmp_path / "kinds", "--shadow=kinds=2@1")
    yield server
    process.terminate()
    assert process.wait(30) == 0


@pytest.fixture
def labelled(tmp_path: Path, kinds: Path) -> Iterator[Server]:
    """The same with a model that has two labelled versions."""
    for version in ("1", "2"):
        shutil.copytree(kinds / "1", tmp_path / "labelled" / version)
    (tmp_path / "models").write_text(
        f"""model_config_list {{ config {{
          name: "labelled" base_path: "{tmp_path / "labelled"}" model_platform: "tensorflow"
          model_version_policy {{ specific {{ versions: 1 versions: 2 }} }}
          version_labels {{ key: "stable" value: 1 }}
          version_labels {{ key: "canary" value: 2 }}
        }} }}"""
    )
    process, server = start(tmp_path, kinds, f"--model_config_file={tmp_path / 'models'}")
    yield server
    process.terminate()
    assert process.wait(30) == 0


@pytest.fixture(scope="session")
def browse() -> Callable[..., dict[str, Any]]:
    """Runs a visit of `programs/browse.py`; returns what it saw, if there were no hidden errors."""
    python = os.environ.get("PINNACE_PAGE_PYTHON")
    if not python:
        pytest.fail("PINNACE_PAGE_PYTHON is not set: run `make page`")

    def run(visit: str, server: Server, *arguments: str) -> dict[str, Any]:
        done = subprocess.run(
            [python, str(PROGRAM), visit, server.url, *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        seen: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        assert seen.pop("complaints") == []
        assert all(url.startswith(("data:", "blob:", server.url)) for url in seen.pop("requests"))
        return seen

    return run
