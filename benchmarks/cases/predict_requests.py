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

BODY = json.dumps({"instances": X[:1].tolist()})
PATH = "/v1/models/mlp:predict"
_FASTAPI = """
import sys
import tensorflow as tf
import uvicorn
from fastapi import FastAPI, Request

app = FastAPI()
loaded = tf.saved_model.load(sys.argv[1])
signature = loaded.signatures["serving_default"]
(name,) = signature.structured_input_signature[1]

@app.post("/v1/models/mlp:predict")
async def predict(request: Request):
    rows = (await request.json())["instances"]
    (outputs,) = signature(**{name: tf.constant(rows, tf.float32)}).values()
    return {"predictions": outputs.numpy().tolist()}

uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="warning", access_log=False)
"""


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


def work(tf: object) -> Work:
    """`pinnace serve`, or FastAPI around TensorFlow's signature, and a model saved by either."""
    folder = Path(tempfile.mkdtemp())
    target = folder / "mlp" / "1"
    tf.saved_model.save(build(tf), str(target))
    port = free_port()
    if tf.__name__ == "tensorflow":
        (folder / "server.py").write_text(_FASTAPI)
        command = [str(folder / "server.py"), str(target), str(port)]
    else:
        command = ["-m", "pinnace.deploy.cli.main", "serve", "--model", f"mlp={target.parent}"]
        command += ["--rest_api_port", str(port)]
    return request_work([sys.executable, *command], port, folder)


CASES = {
    "predict_request": Case(
        title="predict request, one JSON row",
        aims={"tensorflow": 0.7},
        sample_s=0.05,
        work=work,
    )
}
