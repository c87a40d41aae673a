"""Nothing that Windows lacks is needed: the main jobs in processes without it."""

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import numpy as np
import pytest

from support.fresh_process import run_fresh
from support.waiting import until

TESTS = Path(__file__).parents[1]
MODEL = TESTS / "golden" / "saved_models" / "keras_mlp" / "model"
BEGIN = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
from support import without_posix
"""
RUN = "from pinnace.deploy.cli.main import main; raise SystemExit(main(sys.argv[1:]))"

# Import errors of programs that this environment does not have are ignored.
EVERY_MODULE = """
import importlib, pkgutil
import pinnace
foreign = {"apache_beam", "pyspark", "ray"}
count = 0
for module in pkgutil.walk_packages(pinnace.__path__, "pinnace."):
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as error:
        if error.name not in foreign:
            raise
    count += 1
assert count > 900, count
"""

TRAINING = """
import numpy as np
import pinnace as tf
x = np.random.default_rng(0).random((64, 4), np.float32)
model = tf.keras.Sequential([tf.keras.layers.Dense(8, "relu"), tf.keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
model.fit(x, x.sum(1, keepdims=True), epochs=2, verbose=0)
wanted = model.predict(x, verbose=0)
tf.saved_model.save(model, "saved")
again = tf.saved_model.load("saved")
tf.saved_model.save(model, "saved")  # over what is loaded
loaded = tf.saved_model.load("saved").signatures["serving_default"](tf.constant(x))
np.testing.assert_array_equal(*loaded.values(), *again.signatures["serving_default"](x).values())
np.testing.assert_allclose(*loaded.values(), wanted, rtol=1e-6, atol=1e-6)
model.save("model.keras")
loaded = tf.keras.models.load_model("model.keras")
np.testing.assert_array_equal(loaded.predict(x, verbose=0), wanted)
path = tf.train.Checkpoint(model=model).save("checkpoint")
model.set_weights([0 * w for w in model.get_weights()])
tf.train.Checkpoint(model=model).restore(path).assert_consumed()
np.testing.assert_array_equal(model.predict(x, verbose=0), wanted)
data = tf.data.Dataset.range(10).shuffle(10).batch(3).prefetch(2)
assert sorted(np.concatenate(list(data.as_numpy_iterator()))) == list(range(10))
double = tf.function(lambda x: tf.tanh(x) * 2.0, jit_compile=True)
np.testing.assert_allclose(double(x), 2 * np.tanh(x), rtol=1e-6)
"""


def test_every_module_can_be_imported() -> None:
    run_fresh(BEGIN + EVERY_MODULE)


def test_a_model_is_trained_saved_over_and_loaded() -> None:
    run_fresh(BEGIN + TRAINING)


def test_files_are_scored(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).random((5, 8)).round(3)
    source = tmp_path / "rows.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows.tolist()))
    target = tmp_path / "scores"
    run_fresh(BEGIN + RUN, "score", MODEL, "--input", source, "--output", target)
    assert len((target / "rows.jsonl").read_text().splitlines()) == len(rows)


def test_a_model_at_a_url_is_refused_in_a_line() -> None:
    with pytest.raises(AssertionError) as told:
        run_fresh(BEGIN + RUN, "serve", "--model", "m=memory://bucket/m")
    last = str(told.value).splitlines()[-1]
    assert last.startswith("pinnace serve: ")
    assert "memory://bucket/m" in last
    assert "file locks" in last


def test_a_server_answers_and_ends() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-c", BEGIN + RUN, "serve", "--model", f"m={MODEL}"]
    command += ["--rest_api_port", str(port), "--host", "127.0.0.1"]
    address = f"http://127.0.0.1:{port}/v1/models/m"
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=pipe, text=True) as process:
        try:
            until(lambda: process.poll() is not None or is_answered(address))
            assert process.poll() is None, process.communicate()[1]
            reply = httpx.post(f"{address}:predict", json={"instances": [[0.5] * 8]}, timeout=30)
            assert reply.status_code == 200, reply.text
            assert len(reply.json()["predictions"]) == 1
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=30) == 0
        finally:
            process.kill()


def is_answered(address: str) -> bool:
    try:
        return httpx.get(address, timeout=10).status_code == 200
    except httpx.TransportError:
        return False
