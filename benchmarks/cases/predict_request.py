"""One predict request over HTTP: one JSON row of 784 numbers, one connection, a process of its own.

The peer is FastAPI around TensorFlow's signature, which is what people write who have no C++
server.
"""

import http.client
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from harness import Case, Work
from perceptron import X, build, expected

CASE = Case(title="predict request, one JSON row", aims={"tensorflow": 0.7}, sample_s=0.05)
BODY = json.dumps({"instances": X[:1].tolist()})
PATH = "/v1/models/mlp:predict"


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def request_work(command: Sequence[str], port: int, folder: Path) -> Work:
    """Requests to a server that `command` starts."""
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    connection = http.client.HTTPConnection("127.0.0.1", port)
    for _ in range(600):
        try:
            connection.connect()
            break
        except OSError:
            time.sleep(0.05)

    def ask() -> bytes:
        connection.request("POST", PATH, BODY)
        return connection.getresponse().read()

    def check() -> None:
        for _ in range(100):
            reply = json.loads(ask())
            if "predictions" in reply:
                break
            time.sleep(0.1)
        np.testing.assert_allclose(reply["predictions"], expected()[:1], rtol=1e-4, atol=1e-6)

    def close() -> None:
        connection.close()
        server.terminate()
        server.wait(timeout=20)
        shutil.rmtree(folder, ignore_errors=True)

    return Work(run=ask, check=check, close=close)


def ours() -> Work:
    import pinnace as tf

    folder = Path(tempfile.mkdtemp())
    tf.saved_model.save(build(tf), str(folder / "mlp" / "1"))
    port = free_port()
    command = [sys.executable, "-m", "pinnace.deploy.cli.main", "serve"]
    return request_work(
        [*command, "--model", f"mlp={folder / 'mlp'}", "--rest_api_port", str(port)], port, folder
    )
