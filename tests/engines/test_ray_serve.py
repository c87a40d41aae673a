"""The program of docs/howto/ray_serve.md returns the model's results."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pinnace as tf
from support.ray_cluster import BOUND_S, MODEL, TOKEN

pytestmark = pytest.mark.engines
pytest.importorskip("ray.serve")

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "ray_serve.md"
# It prints the server's response; Ray's logs go to stderr.
ASK = """
import json, socket, sys
import httpx, ray
from ray import serve
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
ray.init("local", num_cpus=2, include_dashboard=False, object_store_memory=100_000_000,
         log_to_driver=False, logging_level="ERROR")
import ray_app
serve.start(http_options={"host": "127.0.0.1", "port": port})
serve.run(ray_app.app)
address = f"http://127.0.0.1:{port}"
body = json.load(sys.stdin)
reply = httpx.post(f"{address}/v1/models/digits:predict", json=body, timeout=60)
unknown = httpx.post(f"{address}/v1/models/other:predict", json=body, timeout=60)
print("answer", json.dumps([reply.status_code, reply.json(), unknown.status_code]))
serve.shutdown()
ray.shutdown()
"""


def test_the_program_of_the_page_answers_as_the_model_does(tmp_path: Path) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "ray_app.py").write_text(program)
    shutil.copytree(MODEL, tmp_path / "models" / "digits" / "1")
    x = np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32)
    paths = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        input=json.dumps({"instances": x.tolist()}),
        cwd=tmp_path,
        env={**os.environ, **TOKEN, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    (line,) = [one for one in done.stdout.splitlines() if one.startswith("answer ")]
    code, reply, unknown = json.loads(line.removeprefix("answer "))
    assert (code, unknown) == (200, 404)
    (wanted,) = tf.saved_model.load(str(MODEL)).signatures["serving_default"](x).values()
    # Machine code sums in another order.
    np.testing.assert_allclose(reply["predictions"], wanted, rtol=1e-5, atol=1e-6)
