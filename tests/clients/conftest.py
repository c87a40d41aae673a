"""A server as users start it, and third-party clients in separate environments."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROGRAMS = Path(__file__).with_name("programs")
W = np.float32([[1, -1, 0.5], [2, 0.25, -3]])


@dataclass(frozen=True)
class Server:
    """The address of the server."""

    http: str
    grpc: str


class Model(tf.Module):
    """The model that clients call: numbers, text, two inputs, and Examples."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(W)
        self.total = tf.Variable(0.0)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    def sum(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        """The sum of all values sent in a sequence."""
        return {"total": self.total.assign_add(tf.reduce_sum(x)) + tf.zeros_like(x)}

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="x")])
    def product(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": tf.matmul(x, self.w)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def upper(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"upper": tf.strings.upper(text), "length": tf.strings.length(text)}

    @tf.function(
        input_signature=[
            tf.TensorSpec([None], tf.int64, name="a"),
            tf.TensorSpec([None], tf.float16, name="b"),
        ]
    )
    def both(self, a: tf.Tensor, b: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"double": a * 2, "half": b / 2}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="inputs")])
    def classify(self, inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        x = tf.io.parse_example(inputs, {"x": tf.io.FixedLenFeature([2], tf.float32)})["x"]
        names = tf.constant([[b"a", b"b", b"c"]])
        return {
            "classes": tf.tile(names, tf.stack([tf.shape(x)[0], 1])),
            "scores": tf.matmul(x, self.w),
        }

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="inputs")])
    def regress(self, inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        x = tf.io.parse_example(inputs, {"x": tf.io.FixedLenFeature([2], tf.float32)})["x"]
        return {"outputs": tf.reduce_sum(x, axis=1)}


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """`pinnace serve` with one model `m`, version 3."""
    folder = tmp_path_factory.mktemp("served")
    model = Model()
    signatures = {
        "serving_default": model.product,
        "upper": model.upper,
        "both": model.both,
        "sum": model.sum,
        "classify": model.classify,
        "regress": model.regress,
    }
    tf.saved_model.save(model, str(folder / "m" / "3"), signatures=signatures)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        grpc_port = free.getsockname()[1]
    command = [sys.executable, "-m", "pinnace.deploy.cli.main", "serve"]
    arguments = [
        f"m={folder / 'm'}",
        "--host=127.0.0.1",
        "--rest_api_port=0",
        "--kserve_status",
        "--shared_memory",
        f"--port={grpc_port}",
    ]
    log = (folder / "log").open("w+")
    process = subprocess.Popen([*command, *arguments], stdout=log, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + 60
        while True:
            text = (folder / "log").read_text()
            found = re.search(r"Serving on http://(\S+)", text)
            if found and "gRPC is served on" in text:
                break
            assert process.poll() is None, text
            assert time.monotonic() < deadline, text
            time.sleep(0.05)
        yield Server(found[1], f"127.0.0.1:{grpc_port}")
    finally:
        process.terminate()
        process.wait(30)
        log.close()
        assert process.returncode == 0, (folder / "log").read_text()


@pytest.fixture(scope="session")
def ask() -> Callable[..., dict[str, Any]]:
    """Runs a program of `programs/` in a client's environment; returns the JSON that it prints."""

    def run(variable: str, program: str, *arguments: str, path: str = "") -> dict[str, Any]:
        python = os.environ.get(variable)
        if not python:
            pytest.fail(f"{variable} is not set: run `make clients`")
        done = subprocess.run(
            [python, str(PROGRAMS / program), *arguments],
            env={**os.environ, "PYTHONPATH": path, "TF_CPP_MIN_LOG_LEVEL": "3"},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return answer

    return run
