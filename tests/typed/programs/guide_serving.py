"""A server in a separate process, called by the client."""

import subprocess
import sys

import pinnace as tf
from pinnace.serving.client import Client


class Half(tf.Module):
    """x / 2 + 2."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        return x / 2 + 2


half = Half()
tf.saved_model.save(half, "models/half/1", signatures=half.__call__)
command = [sys.executable, "-m", "pinnace.deploy.cli.main", "serve", "--model", "half=models/half"]
flags = ["--rest_api_port=0", "--port=0"]
with subprocess.Popen([*command, *flags], stdout=subprocess.PIPE, text=True) as server:
    assert server.stdout is not None
    try:
        url = next(line for line in server.stdout if line.startswith("Serving on")).split()[2]
        with Client(url) as client:
            answer = client.predict("half", instances=[1.0, 5.0])
            assert not isinstance(answer, dict)
            assert answer.tolist() == [2.5, 4.5]
            assert client.status("half")[0]["state"] == "AVAILABLE"
    finally:
        server.terminate()
