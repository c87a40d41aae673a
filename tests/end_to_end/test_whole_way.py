"""Train, save, load in a fresh process, serve, export: equal results throughout."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import onnxruntime
import pytest

import pinnace as tf
from support.fresh_process import exchange_arrays, run_fresh

X = np.random.default_rng(0).random((12, 6, 6, 1)).astype(np.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base path with one trained version, and `expected.npy` beside it."""
    base = tmp_path_factory.mktemp("models") / "shapes"
    tf.keras.utils.set_random_seed(0)
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            tf.keras.Input((6, 6, 1), name="image"),
            layers.Conv2D(4, 3, padding="same"),
            layers.BatchNormalization(),
            layers.Activation("relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dropout(0.5),
            layers.Dense(3, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    history = model.fit(X, np.arange(12) % 3, epochs=30, batch_size=4, verbose=0)
    assert history.history["loss"][-1] < history.history["loss"][0]
    tf.saved_model.save(model, base / "1")
    np.save(base.parent / "expected.npy", model.predict(X, verbose=0))
    return base


@pytest.fixture(scope="module")
def expected(folder: Path) -> np.ndarray:
    """The predictions of the trained model itself."""
    return np.load(folder.parent / "expected.npy")


def test_a_fresh_process_loads_the_same_numbers(folder: Path, expected: np.ndarray) -> None:
    outputs = exchange_arrays(
        f"""
import pinnace as tf
loaded = tf.saved_model.load({str(folder / "1")!r})
signature = loaded.signatures["serving_default"]
(outputs["y"],) = [t.numpy() for t in signature(image=tf.constant(inputs["x"])).values()]
""",
        {"x": X},
    )
    # The same plan on the same kernels; only batches are formed differently.
    np.testing.assert_allclose(outputs["y"], expected, rtol=1e-6, atol=1e-7)


def test_the_onnx_file_gives_the_same_numbers(
    folder: Path, expected: np.ndarray, tmp_path: Path
) -> None:
    report = tf.deploy.onnx.export(folder / "1", tmp_path / "shapes.onnx")
    assert report.largest_difference < 1e-5
    session = onnxruntime.InferenceSession(tmp_path / "shapes.onnx")
    (found,) = session.run(None, {"image": X})
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    """The URL of a server process, started as a user would start it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "pinnace.deploy.cli.main", "serve"]
    command += ["--model", f"shapes={folder}", "--rest_api_port", str(port), "--host", "127.0.0.1"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    address = f"http://127.0.0.1:{port}"
    for _ in range(300):
        assert server.poll() is None, server.stderr.read().decode()
        try:
            httpx.get(address, timeout=1)
            break
        except httpx.TransportError:
            time.sleep(0.05)
    yield address
    server.send_signal(signal.SIGTERM)
    assert server.wait(timeout=20) == 0
    server.stderr.close()


def test_the_server_gives_the_same_numbers_in_rows_and_columns(
    url: str, expected: np.ndarray
) -> None:
    path = f"{url}/v1/models/shapes:predict"
    rows = httpx.post(path, json={"instances": X.tolist()}).json()["predictions"]
    columns = httpx.post(path, json={"inputs": X.tolist()}).json()["outputs"]
    # Responses contain the shortest text that parses to the same float32.
    np.testing.assert_allclose(rows, expected, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(columns, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("shapes:predict", "{", 400, "JSON Parse error"),
        ("shapes:predict", "{}", 400, "Missing 'inputs' or 'instances' key"),
        ("shapes:predict", '{"instances": [[1, 2]]}', 400, "float32[?, 6, 6, 1]"),
        ("shapes:predict", '{"instances": ["text"]}', 400, "expected type: float32"),
        ("nobody:predict", '{"instances": [1]}', 404, "nobody"),
        ("shapes/versions/7:predict", '{"instances": [1]}', 404, "7"),
    ],
)
def test_a_bad_request_gets_one_clear_answer(
    url: str, path: str, body: str, status: int, words: str
) -> None:
    reply = httpx.post(f"{url}/v1/models/{path}", content=body)
    assert reply.status_code == status
    assert words in reply.json()["error"]


def test_a_port_in_use_is_one_line_and_a_failure(url: str, folder: Path) -> None:
    port = url.rsplit(":", 1)[1]
    done = _pinnace(
        "serve", "--model", f"shapes={folder}", "--rest_api_port", port, "--host", "127.0.0.1"
    )
    assert done.returncode == 1
    assert port in done.stderr
    assert "Traceback" not in done.stderr


def test_show_prints_the_signature_as_a_table(folder: Path) -> None:
    done = _pinnace("show", str(folder / "1"))
    assert done.returncode == 0
    for word in ("serving_default", "image", "float32", "[?, 6, 6, 1]", "output_0"):
        assert word in done.stdout
    whole = json.loads(_pinnace("show", str(folder / "1"), "--json").stdout)
    assert whole["signatures"][0]["inputs"] == [
        {"name": "image", "dtype": "float32", "shape": "[?, 6, 6, 1]"}
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["show", "nowhere"], "there is no model at nowhere"),
        (["export", "nowhere", "x.onnx"], "nowhere"),
        (["serve", "--model", "m=nowhere"], "nowhere"),
        (["serve", "--no_such_flag"], "no_such_flag"),
        (["dance"], "dance"),
    ],
)
def test_a_failing_command_is_told_in_a_line(arguments: list[str], words: str) -> None:
    done = _pinnace(*arguments)
    assert done.returncode in {1, 2}
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_truncated_model_is_refused_by_file(folder: Path, tmp_path: Path) -> None:
    import shutil

    broken = tmp_path / "broken"
    shutil.copytree(folder / "1", broken)
    whole = (broken / "saved_model.pb").read_bytes()
    (broken / "saved_model.pb").write_bytes(whole[: len(whole) // 2])
    done = _pinnace("show", str(broken))
    assert done.returncode == 1
    assert "saved_model.pb" in done.stderr


def test_importing_and_answering_need_no_heavy_library(folder: Path) -> None:
    out = run_fresh(
        f"""
import sys
import numpy as np
import pinnace as tf
signature = tf.saved_model.load({str(folder / "1")!r}).signatures["serving_default"]
signature(image=np.zeros((1, 6, 6, 1), np.float32))
heavy = ("numba", "onnx", "fastapi", "rich", "typer", "pinnace.keras")
print([name for name in heavy if name in sys.modules])
"""
    )
    assert out.strip() == "[]"


def _pinnace(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pinnace.deploy.cli.main", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
