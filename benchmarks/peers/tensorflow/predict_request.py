"""FastAPI around TensorFlow's signature."""

import sys
import tempfile
from pathlib import Path

import tensorflow as tf

from cases.predict_request import free_port, request_work
from harness import Work
from perceptron import build

SERVER = """
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


def theirs() -> Work:
    folder = Path(tempfile.mkdtemp())
    tf.saved_model.save(build(tf), str(folder / "mlp"))
    (folder / "server.py").write_text(SERVER)
    port = free_port()
    command = [sys.executable, str(folder / "server.py"), str(folder / "mlp"), str(port)]
    return request_work(command, port, folder)
